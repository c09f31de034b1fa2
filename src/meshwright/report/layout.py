"""Places of nodes in a picture: a force layout, or the ring of a small world.

Fruchterman and Reingold's scheme with ForceAtlas2's degree-aware repulsion (Jacomy et al. 2014),
started from Brandes and Pich's Pivot MDS (2006), which finds the overall shape. Nothing is random:
equal links give equal pictures. Coordinates are whole numbers, 0 to `SIDE`.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from meshwright.model.overlay import linked_parts
from meshwright.report.kernels.drawing import Springs, separate, settle
from meshwright.runtime.arrays import Bools, Floats, Ints, Longs

Points = tuple[Ints, Ints]

SIDE = 10_000
PIVOTS = 24
STEPS = 260
AREA = 3.0  # of a node, where parts are separate; more in a large part, which is more crowded
GAP = 2.5  # between separate parts
ASPECT = 1.6  # of screens
GOLDEN = np.pi * (3 - np.sqrt(5))  # turning by it never repeats a direction


def force_layout(n: int, edges: Ints) -> Points:
    """Return the places of n nodes, linked ones near each other; separate parts in rows."""
    part = linked_parts(n, edges)
    n_parts = int(part.max(initial=-1)) + 1
    if n_parts < 2:
        return _fit(*_settled(n, edges))[0]
    x, y = np.zeros(n), np.zeros(n)
    members = [np.flatnonzero(part == p) for p in range(n_parts)]
    for p, nodes in enumerate(members):
        if len(nodes) > 1:
            own = np.searchsorted(nodes, edges[part[edges[:, 0]] == p]).astype(np.int32)
            own_x, own_y = _settled(len(nodes), own)
            # A part's area follows from its nodes: long chains spread, and small parts must show.
            extents = np.array([np.ptp(own_x), np.ptp(own_y)])
            wide, tall = np.maximum(extents, max(extents.max(), 1e-9) / 3)  # lines are not flat
            by = np.sqrt(AREA * len(nodes) ** 1.2 / (wide * tall))
            x[nodes], y[nodes] = own_x * by, own_y * by
    _in_rows(x, y, sorted(members, key=lambda nodes: (-len(nodes), int(nodes[0]))))
    return _fit(x, y)[0]


def _settled(n: int, edges: Ints) -> tuple[Floats, Floats]:
    """Return the places of connected nodes."""
    x, y = _sketch(n, edges)
    mass = 1.0 + np.minimum(np.bincount(edges.ravel(), minlength=n), 40) * 0.5
    one, other = edges.T.copy()
    settle(x, y, mass, Springs(one, other, np.ones(len(edges))), STEPS, 1.2)
    return _turned(x, y)


def _in_rows(x: Floats, y: Floats, parts: list[Longs]) -> None:
    """Move separate parts into rows, the largest first. Written: x, y."""
    wide = np.array([np.ptp(x[nodes]) + GAP for nodes in parts])
    tall = np.array([np.ptp(y[nodes]) + GAP for nodes in parts])
    width = max(float(wide.max()), ASPECT * float(np.sqrt((wide * tall).sum() / ASPECT)))
    rows: list[list[int]] = [[]]
    for p in range(len(parts)):
        if rows[-1] and wide[[*rows[-1], p]].sum() > width * 1.0001:
            rows.append([])
        rows[-1].append(p)
    top = 0.0
    for row in rows:
        left = -float(wide[row].sum()) / 2
        height = float(tall[row].max())
        for p in row:
            nodes = parts[p]
            x[nodes] += left + wide[p] / 2 - (x[nodes].min() + x[nodes].max()) / 2
            y[nodes] += top + height / 2 - (y[nodes].min() + y[nodes].max()) / 2
            left += wide[p]
        top += height


def disc_layout(radius: Floats, edges: Ints, weight: Floats) -> tuple[Points, Ints]:
    """Return the places of discs that do not overlap, and their radii in the same unit."""
    x, y = _sketch(len(radius), edges)
    scale = float(np.sqrt(np.mean(radius**2))) if len(radius) else 1.0
    mass = 1.0 + 2.0 * (radius / scale) ** 2
    pull = 0.6 * weight / weight.max() + 0.02 if len(weight) else weight
    one, other = edges.T.copy()
    settle(x, y, mass, Springs(one, other, pull), STEPS, 1.0)
    linked = np.bincount(edges.ravel(), minlength=len(radius)) > 0
    x, y = _turned(*_gathered(x, y, linked))
    # The discs take about a fifth of the area that the points span, to leave space for links.
    span = max(float(np.ptp(x)), float(np.ptp(y)), 1e-9) if len(x) else 1.0
    size = radius * np.sqrt(span**2 * 0.18 / max(float(np.pi * (radius**2).sum()), 1e-9))
    separate(x, y, size * 1.25, 400)
    points, side = _fit(x, y, size)
    return points, np.maximum(1, size / side * SIDE).astype(np.int32)


def ring_layout(order: Ints) -> Points:
    """Return places on a circle; `order` lists the nodes around it."""
    n = len(order)
    angle = np.empty(n)
    angle[order] = 2 * np.pi * np.arange(n) / max(n, 1) - np.pi / 2
    return _fit(np.cos(angle), np.sin(angle))[0]


def _sketch(n: int, edges: Ints) -> tuple[Floats, Floats]:
    """Return a first layout: the two main components of the distances to some pivots."""
    turn = np.arange(n) * GOLDEN
    spiral = np.sqrt(np.arange(n) + 0.5)
    x, y = spiral * np.cos(turn), spiral * np.sin(turn)
    if len(edges) == 0 or n < 4:
        return x, y
    graph = coo_array((np.ones(len(edges)), edges.T), shape=(n, n)).tocsr()
    degree = np.bincount(edges.ravel(), minlength=n)
    pivots = [int(np.argmax(degree))]
    rows = []
    for _ in range(min(PIVOTS, n)):
        row = shortest_path(graph, directed=False, unweighted=True, indices=pivots[-1])
        reached = np.isfinite(row)
        row[~reached] = row[reached].max() + 2
        rows.append(row)
        # The next pivot is the node farthest from all before it.
        pivots.append(int(np.argmax(np.min(rows, axis=0))))
    squares = np.array(rows).T ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    first = centred @ axes[0]
    second = centred @ axes[1] if len(axes) > 1 else np.zeros(n)
    reach = np.sqrt(n)
    for points in (first, second):
        if points[np.argmax(np.abs(points))] < 0:  # the sign of an axis is free: fix it
            points *= -1
        points *= reach / max(float(np.abs(points).max()), 1e-9)
    # Nodes at equal distances fall on one point: a small spiral separates them.
    return first + 0.1 * x, second + 0.1 * y


def _gathered(x: Floats, y: Floats, linked: Bools) -> tuple[Floats, Floats]:
    """Return the points with unlinked ones moved nearer, as no link holds them."""
    if linked.all() or not linked.any():
        return x, y
    x, y = x - x[linked].mean(), y - y[linked].mean()
    far = np.hypot(x, y)
    by = np.where(linked, 1.0, np.minimum(1.0, 1.1 * far[linked].max() / np.maximum(far, 1e-9)))
    return x * by, y * by


def _turned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the points turned so that their widest extent is horizontal, as on screens."""
    if len(x) < 2:
        return x, y
    points = np.column_stack((x - x.mean(), y - y.mean()))
    _, axes = np.linalg.eigh(points.T @ points)
    wide = axes[:, 1] * (1 if axes[0, 1] >= 0 else -1)
    turned = points @ np.column_stack((wide, (-wide[1], wide[0])))
    return turned[:, 0].copy(), turned[:, 1].copy()


def _fit(x: Floats, y: Floats, margin: Floats | float = 0.0) -> tuple[Points, float]:
    """Return the points moved into the square of `SIDE`, and the side of their own square."""
    if len(x) == 0:
        return (np.zeros(0, np.int32), np.zeros(0, np.int32)), 1.0
    low = [(a - margin).min() for a in (x, y)]
    high = [(a + margin).max() for a in (x, y)]
    side = max(high[0] - low[0], high[1] - low[1], 1e-9)
    fitted = [
        ((a - (least + most) / 2) * (SIDE / side) + SIDE / 2).round().astype(np.int32)
        for a, least, most in zip((x, y), low, high, strict=True)
    ]
    return (fitted[0], fitted[1]), float(side)
