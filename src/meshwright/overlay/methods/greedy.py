"""The greedy methods: one engine, which adds the best edge until no topic is left to join.

- `gm`, Greedy Merge: Chockler, Melamed, Tock, Vitenberg, "Constructing Scalable Overlays for
  Pub-Sub with Many Topics", PODC 2007; GM in section III of Onus, Richa (ToN 2011), MinAvg in Chen,
  Vitenberg, Jacobsen (DISC 2012). The number of edges is within a logarithmic factor of optimal.
- `minmax`: Onus, Richa, "Minimum Maximum-Degree Publish-Subscribe Overlay Network Design", ToN
  2011, Alg. 1; Alg. 7 in DISC 2012. The maximum degree is within a logarithmic factor of optimal.
- `low`: Chen, Vitenberg, Jacobsen, "A Generalized Algorithm for Publish/Subscribe Overlay Design
  and Its Fast Implementation", DISC 2012, Alg. 8: a low maximum and a low average degree at once.
- `gpa` and `gpm`: Chen, Tock, Jacobsen, ICDCS 2016, Alg. 1 and 3: `gm` within a budget of edges,
  and `minmax` within a limit of the degree. Their support is at least 1 - 1/e and 1 - e^(-1/6) of
  the best within that budget.

Ours differ in three points. Ties are settled, by degree first unless asked otherwise, so equal
inputs give equal overlays. `gpa` stops at exactly the budget. Edges of gain 0 are not added, so
they raise no degree (paper 3's reading; papers 1 and 2 add them, and paper 2 discards them at the
end). They are counted where a budget is a share of the edges of `minmax` (paper 1, Eq. 36).
"""

from fractions import Fraction

from meshwright.model.instance import Instance
from meshwright.overlay.greedy.key_order import greedy_edges
from meshwright.overlay.greedy.rule import Edges, Engine, Rule
from meshwright.runtime.progress import OnProgress


def greedy_merge(
    instance: Instance,
    *,
    ties: str = "degree",
    max_edges: int | None = None,
    on_progress: OnProgress = None,
    engine: Engine = greedy_edges,
) -> Edges:
    """Return the edges of `gm`, or of `gpa` with `max_edges`.

    Examples
    --------
    >>> instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "x")])
    >>> greedy_merge(instance)[0].tolist()
    [[0, 1], [0, 2]]
    """
    return engine(instance, Rule(by_degree=ties == "degree", max_edges=max_edges), on_progress)


def minmax(
    instance: Instance,
    *,
    max_degree: int | None = None,
    max_edges: int | None = None,
    on_progress: OnProgress = None,
    engine: Engine = greedy_edges,
    idle_edges: bool = False,
) -> Edges:
    """Return the edges of `minmax`, or of `gpm` with `max_degree`: the cap is 1, then 2, and so on.

    With `idle_edges`, edges of gain 0 fill up each phase, as in the papers' pseudo-code.

    Examples
    --------
    >>> instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")])
    >>> minmax(instance)[0].tolist()
    [[0, 1], [2, 3], [0, 2]]
    """
    rule = Rule(rising_cap=True, max_degree=max_degree, max_edges=max_edges, idle_edges=idle_edges)
    return engine(instance, rule, on_progress)


def low(
    instance: Instance,
    *,
    k: float = 2,
    on_progress: OnProgress = None,
    engine: Engine = greedy_edges,
) -> Edges:
    """Return the edges of `low`: those of `minmax`, unless that of `gm` gains k times as much."""
    threshold = Fraction(k).limit_denominator(10**6)
    return engine(instance, Rule(threshold=threshold), on_progress)
