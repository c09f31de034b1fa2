"""Assignments checked and measured point by point, from the definitions.

A set of boxes is looked at through all its coordinates and the middles between them: any question
about unions of closed boxes is settled at these points.
"""

from dataclasses import dataclass, field
from itertools import combinations, pairwise, product
from math import dist, floor

Point = tuple[float, ...]
Box = tuple[Point, Point]


@dataclass
class Plain:
    """A problem in plain Python; the broker whose parent is -1 is the publisher."""

    parent: list[int]
    place: list[Point]
    capacity: list[float]
    subscribers: list[tuple[Point, Box, float]]  # place, box, max_delay
    alpha: int
    beta: float
    beta_max: float
    last_hop: bool = False
    # Cells of the event space and what is in them, per unit volume; none: 1 everywhere.
    density: list[tuple[Box, float]] = field(default_factory=list)

    @property
    def leaves(self) -> list[int]:
        return [b for b in range(len(self.parent)) if b not in self.parent and self.parent[b] >= 0]

    def path(self, broker: int) -> list[int]:
        """The broker and those above it, without the publisher."""
        path = []
        while self.parent[broker] >= 0:
            path.append(broker)
            broker = self.parent[broker]
        return path

    def limit(self, leaf: int, factor: float) -> int:
        return floor(factor * self.capacity[leaf] * len(self.subscribers) * (1 + 1e-12))


def latency(problem: Plain, s: int, leaf: int) -> float:
    total = dist(problem.place[leaf], problem.subscribers[s][0])
    if not problem.last_hop:
        for broker in problem.path(leaf):
            total += dist(problem.place[broker], problem.place[problem.parent[broker]])
    return total


def delay(problem: Plain, s: int, leaf: int) -> float:
    least = min(latency(problem, s, other) for other in problem.leaves)
    own = latency(problem, s, leaf)
    if least == 0:
        return 0.0 if own == 0 else float("inf")
    return own / least - 1


def in_time(problem: Plain, s: int) -> list[int]:
    least = min(latency(problem, s, leaf) for leaf in problem.leaves)
    most = (1 + problem.subscribers[s][2]) * least * (1 + 1e-9)
    return [leaf for leaf in problem.leaves if latency(problem, s, leaf) <= most]


def holds(box: Box, point: Point) -> bool:
    return all(low <= x <= high for low, x, high in zip(box[0], point, box[1], strict=True))


def axis_points(boxes: list[Box], k: int) -> list[float]:
    """The coordinates of boxes in a dimension and the middles between them."""
    ends = sorted({box[side][k] for box in boxes for side in (0, 1)})
    return sorted({*ends, *((a + b) / 2 for a, b in pairwise(ends))})


def points(boxes: list[Box]) -> list[Point]:
    dimensions = range(len(boxes[0][0])) if boxes else range(0)
    return list(product(*(axis_points(boxes, k) for k in dimensions)))


def inside(small: list[Box], large: list[Box]) -> bool:
    """Whether the union of the small boxes is a subset of that of the large ones."""
    if not small:
        return True
    return all(
        any(holds(box, point) for box in large)
        for point in points(small + large)
        if any(holds(box, point) for box in small)
    )


def cells(boxes: list[Box]) -> list[Box]:
    """The cells between the coordinates of boxes."""
    dimensions = range(len(boxes[0][0])) if boxes else range(0)
    axes = [
        list(pairwise(sorted({box[side][k] for box in boxes for side in (0, 1)})))
        for k in dimensions
    ]
    return [
        (tuple(low for low, _ in sides), tuple(high for _, high in sides))
        for sides in product(*axes)
    ]


def middle(cell: Box) -> Point:
    return tuple((a + b) / 2 for a, b in zip(*cell, strict=True))


def volume(box: Box, density: list[tuple[Box, float]]) -> float:
    if density:
        total = 0.0
        for cell, value in density:
            low = tuple(max(a, b) for a, b in zip(box[0], cell[0], strict=True))
            high = tuple(min(a, b) for a, b in zip(box[1], cell[1], strict=True))
            if all(a < b for a, b in zip(low, high, strict=True)):
                total += value * volume((low, high), [])
        return total
    size = 1.0
    for low, high in zip(*box, strict=True):
        size *= high - low
    return size


def union_volume(boxes: list[Box], density: list[tuple[Box, float]] = []) -> float:  # noqa: B006
    """Count the cells of the grid that are in some box."""
    return sum(
        volume(cell, density)
        for cell in cells(boxes)
        if any(holds(box, middle(cell)) for box in boxes)
    )


def bandwidth(problem: Plain, filters: dict[int, list[Box]]) -> float:
    return sum(union_volume(boxes, problem.density) for boxes in filters.values())


def violations(problem: Plain, broker: list[int], filters: dict[int, list[Box]]) -> dict[str, int]:
    """How often each constraint is violated; only those that are."""
    found = dict.fromkeys(("assigned", "latency", "covered", "alpha", "nesting", "load"), 0)
    for s, (_, box, _) in enumerate(problem.subscribers):
        if broker[s] not in problem.leaves:
            found["assigned"] += 1
            continue
        found["latency"] += broker[s] not in in_time(problem, s)
        one = any(holds(own, box[0]) and holds(own, box[1]) for own in filters.get(broker[s], []))
        found["covered"] += not one
    for b, boxes in filters.items():
        found["alpha"] += len(boxes) > problem.alpha
        above = problem.parent[b]
        if problem.parent[above] >= 0:
            found["nesting"] += sum(not inside([box], filters.get(above, [])) for box in boxes)
    for leaf in problem.leaves:
        found["load"] += broker.count(leaf) > problem.limit(leaf, problem.beta_max)
    return {name: count for name, count in found.items() if count}


def bound(problem: Plain) -> float:
    """What no feasible answer can beat: the fewest brokers that can serve each point.

    Whoever is interested in a point needs a leaf, every leaf with one of them needs the point in
    its filter, and so does every broker above it.
    """
    sets = [
        chosen for n in range(len(problem.leaves) + 1) for chosen in combinations(problem.leaves, n)
    ]
    room = [
        (
            sum(problem.limit(leaf, problem.beta_max) for leaf in chosen),
            len({broker for leaf in chosen for broker in problem.path(leaf)}),
        )
        for chosen in sets
    ]
    boxes = [box for _, box, _ in problem.subscribers]
    total = 0.0
    for cell in cells(boxes):
        there = sum(holds(box, middle(cell)) for box in boxes)
        fits = [n for most, n in room if most >= there]
        total += volume(cell, problem.density) * min(fits, default=len(problem.parent) - 1)
    return total
