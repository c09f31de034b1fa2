"""Scribe: each topic meets at a rendezvous, and is handed down the routes that lead there.

Castro, Druschel, Kermarrec, Rowstron, "SCRIBE", JSAC 2002; Chen, Tock, Girdzijauskas (DEBS 2018),
section 5.1.

The publisher forwards to the topic's rendezvous. Its tree is the union of the greedy routes from
the subscribers to the rendezvous, walked the other way. A subscriber's delivery is the message
that the tree brings, or for the rendezvous itself the one from the publisher.
"""

from __future__ import annotations

from meshwright.routing.meet_kernel import meet_all
from meshwright.routing.tables import Ints, RendezvousTables
from meshwright.routing.tally_kernel import Tally


def scribe(tables: RendezvousTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Route publications by Scribe; writes the tally.

    Publishers are given as ring positions.
    """
    ring, rendezvous = tables
    meet_all(False, ring.reach, *ring.subscribers, rendezvous, topics, publishers, tally)
