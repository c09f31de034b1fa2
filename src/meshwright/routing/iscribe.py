"""iScribe: Scribe with the routes taken from the rendezvous to the subscribers.

Castro, Druschel, Kermarrec, Rowstron, "SCRIBE", JSAC 2002; Chen, Tock, Girdzijauskas (DEBS 2018),
section 5.1.

Subscribers that stand side by side share most of such a route. design.md takes them in ring order
from the rendezvous and lets a node keep the first parent it got. It never gets another: where two
routes part, the longer one jumps beyond the subscriber at which the shorter one ends. So the order
does not matter, and none is kept.
"""

from __future__ import annotations

from meshwright.routing.meet_kernel import meet_all
from meshwright.routing.tables import Ints, RendezvousTables
from meshwright.routing.tally_kernel import Tally


def iscribe(tables: RendezvousTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Route publications by iScribe; writes the tally.

    Publishers are given as ring positions.
    """
    ring, rendezvous = tables
    meet_all(True, ring.reach, *ring.subscribers, rendezvous, topics, publishers, tally)
