"""The greedy engine for small worlds: its rows, with exclusions for pairs that may never be linked.

The rule is that of `gm`: higher gain, lower larger degree, smaller ids. A ring allows two links
per node and must not close a path; fingers start from the links of the ring and need a free slot.
Rows are used for dense interests too: a table of all pairs takes more memory than a small world.
"""

from __future__ import annotations

import numpy as np

from meshwright.model.instance import Instance, Ints
from meshwright.model.kernels.components import join_all
from meshwright.model.small_world import count_phases
from meshwright.overlay.greedy.kernels.exclusions import (
    Exclusions,
    exclude_filled_slots,
    exclude_path_ends,
)
from meshwright.overlay.greedy.kernels.row_queue import set_row_cap
from meshwright.overlay.greedy.kernels.rows import new_rows, new_scratch, scan_rows
from meshwright.overlay.greedy.kernels.run import NO_LIMIT
from meshwright.overlay.greedy.kernels.tuning import EDGES_PER_CALL, ROW_CACHE
from meshwright.overlay.greedy.rule import GreedyRun, rank_nodes, with_scratch
from meshwright.runtime.progress import ProgressCallback
from meshwright.runtime.threads import ScratchPool, in_parts
from meshwright.smallworld.kernels.greedy import run_small_world


def circle_edges(
    instance: Instance, on_progress: ProgressCallback | None = None, *, cache: int = ROW_CACHE
) -> Ints:
    """Return the edges of positive gain that GSwicoS takes, in the order added."""
    greedy = GreedyRun(instance, rank_nodes(instance), max_edges=max(instance.n_nodes - 1, 0))
    return _add_edges(greedy, exclude_path_ends(instance.n_nodes), 2, on_progress, cache)


def finger_edges(
    instance: Instance,
    ring: Ints,
    on_progress: ProgressCallback | None = None,
    *,
    cache: int = ROW_CACHE,
) -> Ints:
    """Return the edges of positive gain that GSwicoL adds to a ring, in the order added."""
    n, ids = len(ring), rank_nodes(instance)
    greedy = GreedyRun(instance, ids, max_edges=n * max(count_phases(n) - 1, 0))
    links = np.column_stack((ring, np.roll(ring, -1)))
    links = np.argsort(ids).astype(np.int32)[links if n > 2 else links[: n - 1]]
    greedy.joined = int(join_all(greedy.run.components, links).sum(dtype=np.int64))
    greedy.run.degree[:] = np.bincount(links.ravel(), minlength=n)
    return _add_edges(greedy, exclude_filled_slots(ids, ring), NO_LIMIT, on_progress, cache)


def _add_edges(
    greedy: GreedyRun,
    exclusions: Exclusions,
    cap: int,
    on_progress: ProgressCallback | None,
    cache: int,
) -> Ints:
    """Return the best edges that are not excluded, under a degree cap."""
    run, n_nodes, indptr = greedy.run, len(greedy.ids), greedy.run.components.indptr
    rows = new_rows(indptr, greedy.ids, cache=cache, exclusions=exclusions)
    max_room = max(int(np.diff(indptr).max(initial=0)), cache)
    scratches = ScratchPool(lambda: new_scratch(n_nodes, greedy.n_topics, max_room))
    in_parts(
        with_scratch(
            scratches, lambda scratch, first, last: scan_rows(run, rows, scratch, first, last)
        ),
        n_nodes,
    )
    set_row_cap(run, rows, cap)

    def report() -> None:
        if on_progress is not None:
            on_progress(greedy.share_joined())

    with scratches.borrow() as scratch:
        greedy.add_edges(lambda: run_small_world(run, rows, scratch), EDGES_PER_CALL, report)
    return greedy.edges()[0]
