"""Greedy Merge: add the edge that joins the most topic components, until none is left to join.

Chockler, Melamed, Tock, Vitenberg, "Constructing Scalable Overlays for Pub-Sub with Many Topics",
PODC 2007; GM in section III of Onus, Richa (ToN 2011), MinAvg in Chen, Vitenberg, Jacobsen (DISC
2012). The number of edges is within a logarithmic factor of optimal. GPA (Chen, Tock, Jacobsen,
ICDCS 2016, Alg. 1) is the same stopped at a budget of edges: its support is at least 1 - 1/e of
the best that so many edges can have.

Ours differs in two points: ties are settled, by degree first unless asked otherwise, so equal
inputs give equal overlays; and GPA stops at exactly the budget.
"""

from __future__ import annotations

from meshwright.overlay.engine import Edges, Engine, Rule, Tell, greedy_edges
from meshwright.values import Instance


def greedy_merge(
    instance: Instance,
    *,
    ties: str = "degree",
    max_edges: int | None = None,
    tell: Tell | None = None,
    engine: Engine = greedy_edges,
) -> Edges:
    """Return the edges of `gm`, or of `gpa` with `max_edges`.

    See Also: minmax, for a low maximum degree.

    Examples
    --------
    >>> instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "x")])
    >>> greedy_merge(instance)[0].tolist()
    [[0, 1], [0, 2]]

    """
    return engine(instance, Rule(by_degree=ties == "degree", max_edges=max_edges), tell)
