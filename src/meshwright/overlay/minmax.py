"""MinMax: the best edge among those that raise the maximum degree least.

Onus, Richa, "Minimum Maximum-Degree Publish-Subscribe Overlay Network Design", ToN 2011, Alg. 1;
Alg. 7 in Chen, Vitenberg, Jacobsen (DISC 2012). The maximum degree is within a logarithmic factor
of optimal. GPM (Chen, Tock, Jacobsen, ICDCS 2016, Alg. 3) is the same stopped before a degree
passes a limit: its support is at least 1 - e^(-1/6) of the best under that limit.

Ours differs from paper 2 in one point: edges of gain 0 are never added, so they raise no degree
(paper 3's reading; paper 2 adds them and discards them at the end).
"""

from __future__ import annotations

from meshwright.overlay.engine import Edges, Engine, Rule, Tell, greedy_edges
from meshwright.values import Instance


def minmax(
    instance: Instance,
    *,
    max_degree: int | None = None,
    max_edges: int | None = None,
    tell: Tell | None = None,
    engine: Engine = greedy_edges,
) -> Edges:
    """Return the edges of `minmax`, or of `gpm` with `max_degree`.

    The maximum degree after adding (u, v) is max(D, 1 + larger degree) and only rises, so the run
    falls into phases: under a limit of 1, 2, 3, ... the best edge that keeps it.

    Examples
    --------
    >>> instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")])
    >>> minmax(instance)[0].tolist()
    [[0, 1], [2, 3], [0, 2]]

    """
    return engine(instance, Rule(phases=True, max_degree=max_degree, max_edges=max_edges), tell)
