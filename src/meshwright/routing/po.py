"""Po: no pivots, for the least overhead.

Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018), Protocols 4 and 5.

The next hops of a node are the nearest subscriber and the fingers that subscribe, within the range.
Only the way to a nearest subscriber leads over nodes that do not want the topic. But where no
finger subscribes, the range is handed from one subscriber to the next, and paths grow with their
number.
"""

from __future__ import annotations

from meshwright.routing.convey_kernel import NO_PIVOT, convey_all
from meshwright.routing.tables import Ints, RingTables
from meshwright.routing.tally_kernel import Tally


def po(tables: RingTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Route publications without pivots; writes the tally.

    Publishers are given as ring positions.
    """
    convey_all(NO_PIVOT, tables.reach, *tables.subscribers, topics, publishers, tally)
