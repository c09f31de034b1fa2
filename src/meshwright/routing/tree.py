"""Tree: flood each topic's spanning tree inside its sub-overlay.

This is what brokers with bridges do, and any overlay can be routed so. A topic has one tree, the
same for every publisher: breadth-first from its smallest subscriber, neighbours in order of ids.
Only subscribers take part, so the overhead is 0; those whom the topic's links do not join to the
publisher are missed.
"""

from __future__ import annotations

from meshwright.routing.tables import Ints, TreeTables
from meshwright.routing.tally_kernel import Tally
from meshwright.routing.tree_kernel import flood_all


def tree(tables: TreeTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Route publications, given as nodes, over their topics' trees; writes the tally."""
    flood_all(*tables, topics, publishers, tally)
