"""Small problems of assignment in memory, for the tests of every method.

`small_problems()` draws them, `line_problem` and `random_problem` make them.
Coordinates are small whole numbers or eighths, so that volumes are exact and ties are common.
"""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from meshwright.content.problem import BrokerTree, Density, Problem

PLACES = 8  # places per dimension of the network space
CELLS = 8  # steps per dimension of the event space
SHAPES = ("boxes", "boxes", "boxes", "points", "lines", "equal", "nested")
TREES = ("one level", "one level", "one level", "two levels", "free")


def small_problems(
    max_subscribers: int = 8,
    max_leaves: int = 4,
    *,
    min_subscribers: int = 1,
    max_dimensions: int = 3,
    trees: Sequence[str] = TREES,
    with_density: bool = False,
) -> st.SearchStrategy[Problem]:
    """Problems of a few subscribers, every kind of degenerate one among them.

    Boxes may be points or lines, all equal, or nested; all subscribers may be at one place, and
    brokers too; there may be one broker; alpha may be 1; capacities may be unequal, and even 0 for
    some leaf; delays may be 0, and differ between subscribers. Trees are of one level, of two, or
    of any shape. Every subscriber has a leaf in time, but load may be infeasible.
    """

    @st.composite
    def build(draw):
        tree = draw(broker_trees(max_leaves, kinds=trees))
        n = draw(st.integers(min_subscribers, max_subscribers))
        network = tree.location.shape[1]
        location = draw(_places(n, network))
        if draw(st.sampled_from([False, False, False, True])):
            location[:] = location[0]
        low, high = draw(boxes(n, draw(st.integers(1, max_dimensions))))
        delay = draw(st.sampled_from([0.0, 0.1, 0.3, 1.0, 9.0, None]))
        if delay is None:
            some = st.sampled_from([0.0, 0.2, 0.5, 2.0])
            delay = draw(st.lists(some, min_size=n, max_size=n))
        beta = draw(st.sampled_from([1.0, 1.3, 1.5, 2.0]))
        density = draw(densities(low.shape[1])) if with_density else None
        return Problem(
            tree=tree,
            location=location,
            low=low,
            high=high,
            max_delay=np.array(delay),
            alpha=draw(st.integers(1, 3)),
            beta=beta,
            beta_max=beta * draw(st.sampled_from([1.0, 1.2, 2.0])),
            last_hop=draw(st.sampled_from([False, False, False, True])),
            density=density,
        )

    return build()


def broker_trees(
    max_leaves: int = 4, *, kinds: Sequence[str] = TREES
) -> st.SearchStrategy[BrokerTree]:
    """Trees of one level, of two, and of any shape; the publisher is not always broker 0."""

    @st.composite
    def build(draw):
        kind = draw(st.sampled_from(list(kinds)))
        n_leaves = draw(st.integers(1, max_leaves))
        if kind == "one level":
            parent = [-1, *[0] * n_leaves]
        elif kind == "two levels":
            n_inner = draw(st.integers(1, n_leaves))
            # Each inner broker has a leaf; the rest of the leaves hang anywhere below.
            hangs = [
                i if i < n_inner else draw(st.integers(0, n_inner - 1)) for i in range(n_leaves)
            ]
            parent = [-1, *[0] * n_inner, *[1 + i for i in hangs]]
        else:
            parent = [-1, *[draw(st.integers(0, i)) for i in range(max_leaves)]]
        order = list(range(len(parent)))
        if draw(st.booleans()):
            order = draw(st.permutations(order))
        at = {old: new for new, old in enumerate(order)}
        parent = [-1 if parent[old] < 0 else at[parent[old]] for old in order]
        location = draw(_places(len(parent), draw(st.integers(1, 2))))
        leaves = [i for i in range(len(parent)) if i not in parent and parent[i] >= 0]
        capacity = np.zeros(0)
        if draw(st.sampled_from([False, False, True])):
            shares = draw(
                st.lists(st.integers(0, 4), min_size=len(leaves), max_size=len(leaves)).filter(sum)
            )
            capacity = np.zeros(len(parent))
            capacity[leaves] = np.array(shares) / sum(shares)
        return BrokerTree(np.array(parent), location, capacity)

    return build()


def boxes(n: int, n_dimensions: int) -> st.SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    """Return strategies of n boxes (low, high) with corners on a small grid."""

    @st.composite
    def build(draw):
        shape = draw(st.sampled_from(SHAPES))
        corner = st.lists(st.integers(0, CELLS), min_size=n_dimensions, max_size=n_dimensions)
        n_drawn = 1 if shape == "equal" else n
        one = np.array([draw(corner) for _ in range(n_drawn)], np.float64)
        other = np.array([draw(corner) for _ in range(n_drawn)], np.float64)
        low, high = np.minimum(one, other), np.maximum(one, other)
        if shape == "equal":
            low, high = np.repeat(low, n, axis=0), np.repeat(high, n, axis=0)
        elif shape == "points":
            high = low.copy()
        elif shape == "lines":
            axis = draw(st.integers(0, n_dimensions - 1))
            high[:, axis] = low[:, axis]
        elif shape == "nested":
            low = np.minimum.accumulate(low, axis=0)
            high = np.maximum.accumulate(high, axis=0)
        return low, high

    return build()


def densities(n_dimensions: int) -> st.SearchStrategy[Density]:
    """Densities over two or three cells per dimension; cells may be empty."""

    @st.composite
    def build(draw):
        inner = [
            draw(st.lists(st.integers(1, CELLS - 1), min_size=1, max_size=2, unique=True))
            for _ in range(n_dimensions)
        ]
        edges = [np.array([0.0, *sorted(cuts), CELLS], np.float64) for cuts in inner]
        shape = tuple(len(axis) - 1 for axis in edges)
        size = int(np.prod(shape))
        values = draw(
            st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.0]), min_size=size, max_size=size)
        )
        return Density(edges, np.array(values).reshape(shape))

    return build()


def line_problem(
    leaves: Sequence[float],
    subscribers: Sequence[tuple[float, float, float]],
    *,
    publisher: float = 0.0,
    max_delay: float = 0.5,
    **limits: object,
) -> Problem:
    """Return a problem on a line, of one level; subscribers are (place, low, high)."""
    at = np.array([[publisher], *[[place] for place in leaves]], np.float64)
    tree = BrokerTree(np.array([-1, *[0] * len(leaves)]), at)
    rows = np.array(subscribers, np.float64)
    return Problem(tree, rows[:, :1], rows[:, 1:2], rows[:, 2:3], np.array(max_delay), **limits)  # type: ignore[arg-type]


def random_problem(
    n_subscribers: int = 200,
    n_leaves: int = 6,
    *,
    n_dimensions: int = 2,
    levels: int = 1,
    max_delay: float = 0.5,
    seed: int = 1,
    **limits: object,
) -> Problem:
    """Return a problem of clustered boxes; of two levels, inner brokers have about 3 leaves."""
    rng = np.random.default_rng(seed)
    n_inner = 0 if levels == 1 else -(-n_leaves // 3)
    parent = [-1, *[0] * n_inner, *([0] * n_leaves if not n_inner else [])]
    if n_inner:
        parent += [1 + i % n_inner for i in range(n_leaves)]
    tree = BrokerTree(np.array(parent), rng.uniform(0, 10, (len(parent), 2)))
    centres = rng.uniform(0, 100, (5, n_dimensions))
    low = centres[rng.integers(0, 5, n_subscribers)] + rng.normal(
        0, 4, (n_subscribers, n_dimensions)
    )
    return Problem(
        tree,
        rng.uniform(0, 10, (n_subscribers, 2)),
        low,
        low + rng.exponential(5, low.shape),
        np.array(max_delay),
        **limits,  # type: ignore[arg-type]
    )


def _places(n: int, n_dimensions: int) -> st.SearchStrategy[np.ndarray]:
    row = st.lists(st.integers(0, PLACES), min_size=n_dimensions, max_size=n_dimensions)
    return st.lists(row, min_size=n, max_size=n).map(lambda rows: np.array(rows, np.float64))
