"""Drawn designs: an overlay that connects every filter, or a small world, quick and not clever."""

import random
from collections.abc import Callable

from meshwright.mesh.core.events import Design
from meshwright.mesh.core.values import Topology
from meshwright.patterns.filters import covers


def draw_design(seed: int, routing: str) -> Callable[[Design], Topology | None]:
    """Return a designer whose designs differ from time to time, as the seed decides."""
    draw = random.Random(f"design {seed}")

    def design(request: Design) -> Topology | None:
        nodes = list(request.nodes)
        if len(nodes) < 2:
            return None
        draw.shuffle(nodes)
        if routing != "tree":
            return small_world(nodes, routing, draw)
        edges: set[tuple[int, int]] = set()
        filters = dict(request.interests)
        patterns = sorted({pattern for node in nodes for pattern in filters[node]})
        for pattern in ["", *patterns]:
            wanting = [
                node
                for node in nodes
                if not pattern or any(covers(wide, pattern) for wide in filters[node])
            ]
            _connect(wanting, edges, set(request.forbidden), draw)
        return Topology("tree", tuple(sorted(edges)))

    return design


def _connect(
    nodes: list[int],
    edges: set[tuple[int, int]],
    forbidden: set[tuple[int, int]],
    draw: random.Random,
) -> None:
    """Link each node to an earlier one."""
    for i in range(1, len(nodes)):
        before = nodes[:i]
        draw.shuffle(before)
        pairs = [(min(u, nodes[i]), max(u, nodes[i])) for u in before]
        if not any(pair in edges for pair in pairs):
            allowed = [pair for pair in pairs if pair not in forbidden]
            edges.update(allowed[:1])


def small_world(nodes: list[int], routing: str, draw: random.Random) -> Topology:
    """Return a ring with a drawn finger in each phase."""
    n = len(nodes)
    fingers, edges = [], set()
    for position in range(n):
        row = []
        phase = 1
        while phase < n:
            step = 1 if phase == 1 else draw.randrange(phase, min(2 * phase, n))
            row.append((position + step) % n)
            phase *= 2
        fingers.append(tuple(row))
        edges |= {(min(nodes[position], nodes[w]), max(nodes[position], nodes[w])) for w in row}
    return Topology(routing, tuple(sorted(edges)), tuple(nodes), tuple(fingers))
