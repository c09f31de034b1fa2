"""Pal: a pivot always, so that the rest of the range is served from its middle.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018), Protocols 4 and 5.

As `po`, but where no next hop lies in the second half of the range, one is added there: the
nearest finger, or else the node in the middle of it, wanted or not. On Chord fingers no path is
longer than k (k + 1) / 2 hops, k = log2 n rounded up. On others the nearest finger may be at the
far end of the range, which is then hardly shorter than before, and paths may grow with n: the
paper's O(log n) does not hold (docs/routing.md).
"""

from __future__ import annotations

from meshwright.routing.convey_kernel import PIVOT_ALWAYS, convey_all
from meshwright.routing.tables import Ints, RingTables
from meshwright.routing.tally_kernel import Tally


def pal(tables: RingTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Route publications with a pivot always; writes the tally.

    Publishers are given as ring positions.
    """
    convey_all(PIVOT_ALWAYS, tables.reach, *tables.subscribers, topics, publishers, tally)
