"""Pie: a pivot if a finger leads there, between `po` and `pal`.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018), Protocols 4 and 5.

As `po`, but where no next hop lies in the second half of the range, the nearest finger there is
added, if there is one, wanted or not.
"""

from __future__ import annotations

from meshwright.routing.convey_kernel import PIVOT_IF_FINGER, convey_all
from meshwright.routing.tables import Ints, RingTables
from meshwright.routing.tally_kernel import Tally


def pie(tables: RingTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Route publications with a pivot where a finger leads to one; writes the tally.

    Publishers are given as ring positions.
    """
    convey_all(PIVOT_IF_FINGER, tables.reach, *tables.subscribers, topics, publishers, tally)
