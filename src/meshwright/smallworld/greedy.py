"""The greedy engine for small worlds: its rows, and bars for pairs that are out for good.

The rule is that of `gm`: higher gain, lower larger degree, smaller ids. A circle allows two links
per node and no path to be closed; fingers begin with the links of the ring and want a free slot.
Rows are used for dense interests too: a table of all pairs is more than a small world may take.
"""

from __future__ import annotations

import numpy as np

from meshwright.errors import InputError
from meshwright.kernels.components import join_all, new_components
from meshwright.kernels.threads import Spares, in_parts
from meshwright.overlay.bar_kernel import Bars, new_bars
from meshwright.overlay.engine import EDGES_AT_ONCE, NO_LIMIT, Tell, by_size, in_order
from meshwright.overlay.row_kernel import CACHE, new_rows, new_scratch, scan_rows
from meshwright.overlay.row_queue_kernel import set_row_cap as begin
from meshwright.smallworld.greedy_kernel import run_world
from meshwright.smallworld.world import Ints, count_phases
from meshwright.values import Instance


def circle_edges(instance: Instance, tell: Tell | None = None, *, cache: int = CACHE) -> Ints:
    """Return the edges of positive gain that GSwicoS takes, in the order added."""
    ids = by_size(instance)
    most = max(instance.n_nodes - 1, 0)
    bars = new_bars(ids, circle=True)
    return _greedy(instance, ids, bars, _no_links(), 2, most, tell, cache)


def finger_edges(
    instance: Instance, ring: Ints, tell: Tell | None = None, *, cache: int = CACHE
) -> Ints:
    """Return the edges of positive gain that GSwicoL adds to a ring, in the order added."""
    ids, n = by_size(instance), len(ring)
    links = np.column_stack((ring, np.roll(ring, -1)))
    links = links if n > 2 else links[: n - 1]  # two nodes have one link
    most = n * max(count_phases(n) - 1, 0)
    return _greedy(instance, ids, new_bars(ids, ring=ring), links, NO_LIMIT, most, tell, cache)


def _greedy(
    instance: Instance,
    ids: Ints,
    bars: Bars,
    links: Ints,
    cap: int,
    most: int,
    tell: Tell | None,
    cache: int,
) -> Ints:
    """Return at most so many best edges, given some links, under a limit of the degrees."""
    if instance.n_subscriptions > np.iinfo(np.int32).max:
        raise InputError(
            f"{instance.n_subscriptions:,} subscriptions are more than the driver's engine can "
            "index. Sample the workload."
        )
    n, rank = len(ids), np.argsort(ids).astype(np.int32)
    indptr, topics = in_order(instance, ids)
    components = new_components(indptr, topics, instance.n_topics)
    join_all(components, rank[links])
    degree = np.bincount(rank[links].ravel(), minlength=n).astype(np.int32)
    rows = new_rows(indptr, ids, rank, by_degree=True, cache=cache, bars=bars)
    room = max(int(np.diff(indptr).max(initial=0)), cache)
    scratches = Spares(lambda: new_scratch(n, instance.n_topics, room))

    def scan(first: int, last: int) -> None:
        with scratches.one() as scratch:
            scan_rows(components, rows, degree, scratch, first, last)

    in_parts(scan, n)
    begin(rows, degree, cap)
    scratch = new_scratch(n, instance.n_topics, room)
    edges, n_edges = np.empty((most, 2), dtype=np.int32), 0
    missing = int(np.maximum(np.bincount(topics) - 1, 0).sum())
    while n_edges < most:
        stop = min(most, n_edges + EDGES_AT_ONCE)
        n_edges = run_world(components, rows, degree, scratch, edges, n_edges, stop)
        if tell is not None:
            apart = int(np.maximum(components.open_count - 1, 0).sum(dtype=np.int64))
            tell(1 - apart / missing if missing else 1.0)
        if n_edges < stop:
            break
    return edges[:n_edges].copy()


def _no_links() -> Ints:
    return np.empty((0, 2), dtype=np.int32)
