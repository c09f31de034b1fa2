"""The trees of the one-pass bound on Spark: tasks pick partners, the driver joins components.

A round of Boruvka's algorithm is a walk over the rows of all nodes whose components still look for
a partner. Tasks make these walks, each over a part of the nodes; files carry the labels to them and
their picks back, as in the scans. The last rounds look at few nodes and stay in the driver.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from meshwright.model.instance import Instance
from meshwright.model.kernels.components import Components, new_components, new_counters
from meshwright.overlay.bounds.kernels import row_trees as kernel
from meshwright.overlay.bounds.kernels.row_trees import Picks
from meshwright.overlay.bounds.one_pass import pick_here, tree_histogram
from meshwright.overlay.greedy import checkpoints
from meshwright.overlay.greedy.rule import rank_nodes, reorder_nodes
from meshwright.overlay.greedy.spark_scans import PARTS, ScanRounds
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.tasks import Batches, mapped, numbers_in, ship
from meshwright.runtime.threads import cut


class TreeRequest(NamedTuple):
    """What a round of tasks needs to know besides the interests."""

    label: Ints  # int32[n_slots], by position
    slot_label: Ints  # int32[n_slots], by slot
    open_count: Ints  # int32[n_topics]
    largest: Ints  # int32[n_topics], the label of the largest component
    cuts: Longs  # int64[n_parts + 1], the nodes of part k are cuts[k] .. cuts[k + 1]


def histogram_on_spark(rounds: ScanRounds, instance: Instance) -> Longs:
    """Return what `tree_histogram` returns, with the rows of a design's nodes walked by tasks."""
    ids = rank_nodes(instance)  # the order of the interests that the tasks have
    return tree_histogram(
        new_components(*reorder_nodes(instance, ids), instance.n_topics), pick_by_tasks(rounds)
    )


def pick_by_tasks(rounds: ScanRounds) -> Callable[[Components, Picks], None]:
    """Return what picks the partners of one round: tasks, or this process if few nodes look."""
    number = 0

    def pick(c: Components, picks: Picks) -> None:
        nonlocal number
        costs = kernel.pick_costs(c, picks)
        if int(costs.sum()) <= rounds.local_positions:
            pick_here(c, picks)
            return
        number += 1
        place = rounds.directory / f"trees-{number:02d}"
        place.mkdir(exist_ok=True)
        cuts = cut(costs, rounds.task_positions)
        labels = (c.label, c.slot_label, c.open_count, picks.largest)
        ship(place / checkpoints.REQUEST, TreeRequest(*labels, cuts))
        n_parts = len(cuts) - 1
        parts = rounds.spark.range(0, n_parts, 1, n_parts)
        parts.mapInArrow(partial(_pick_parts, rounds.directory, place), PARTS).collect()
        for part in range(n_parts):
            found = _result(place, part)
            first, last = c.indptr[cuts[part]], c.indptr[cuts[part + 1]]
            picks.common[first:last], picks.position[first:last] = mapped(found)
            found.unlink()
        (place / checkpoints.REQUEST).unlink()

    return pick


def _pick_parts(directory: Path, place: Path, batches: Batches) -> Batches:
    """Pick partners for parts of the nodes, and write them beside the request."""
    c = checkpoints.follower(directory).components_at(0)
    for part in numbers_in(batches):
        asked: TreeRequest = mapped(place / checkpoints.REQUEST)
        known = c._replace(
            label=asked.label, slot_label=asked.slot_label, open_count=asked.open_count
        )
        # Only the pages of these nodes are ever touched.
        picks = Picks(np.empty_like(asked.label), np.empty_like(asked.label), asked.largest)
        sizes = np.diff(c.indptr)
        counts = new_counters(len(sizes), int(sizes.max(initial=0)))
        first, last = int(asked.cuts[part]), int(asked.cuts[part + 1])
        kernel.pick_partners(known, picks, counts, first, last)
        slots = slice(c.indptr[first], c.indptr[last])
        ship(_result(place, part), (picks.common[slots], picks.position[slots]))
    yield from ()


def _result(place: Path, part: int) -> Path:
    """Return the path of the picks of a part."""
    return place / f"picks-{part:05d}"
