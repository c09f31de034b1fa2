"""Low: between Greedy Merge and MinMax, a low maximum and a low average degree at once.

Chen, Vitenberg, Jacobsen, "A Generalized Algorithm for Publish/Subscribe Overlay Design and Its
Fast Implementation", DISC 2012, Alg. 8. At each step e1 is the edge of `gm` and e2 that of
`minmax`; e1 is taken when its gain is at least k times that of e2.
"""

from __future__ import annotations

from fractions import Fraction

from meshwright.overlay.engine import Edges, Rule, Tell, greedy_edges
from meshwright.values import Instance


def low(instance: Instance, *, k: float = 2, tell: Tell | None = None) -> Edges:
    """Return the edges of `low`; k = 1 is `gm`, and a large k is `minmax`."""
    threshold = Fraction(k).limit_denominator(10**6)
    return greedy_edges(instance, Rule(threshold=threshold), tell)
