"""Join the topics that changed: the best links by the rule of the method, from those there are.

The rule is that of `gm`: the most gain, then the lower of the larger degrees, then the smaller ids.
For an overlay by `minmax` a cap comes first: no node gets more links than the busiest has, until
nothing can be joined under that cap; then one more, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from meshwright.model.kernels.components import (
    Components,
    drop_all_connected,
    join_all,
    new_components,
)
from meshwright.model.kernels.leaves import components_of_topics, components_with_leaves
from meshwright.model.overlay import Overlay
from meshwright.overlay.greedy.kernels.run import N_EDGES, NO_LIMIT, STOP, Run
from meshwright.overlay.greedy.rule import Restrictions
from meshwright.overlay.kernels.joining import (
    NO_PAIR,
    OuterRows,
    find_all_best,
    join_open,
    mark_outer,
)
from meshwright.overlay.replanning.matching import Part
from meshwright.runtime.arrays import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """The links that join topics, and whether they join all."""

    edges: Ints  # int32[n, 2], in the order added
    is_whole: bool  # whether they join all topics of the part


def join_topics(
    before: Overlay, part: Part, made: Ints, restrictions: Restrictions, most: int | None = None
) -> Joined:
    """Return the links that join the topics of a part, at most `most` of them.

    `made` are the links that are there, `restrictions` those of the whole instance.
    """
    instance, carries = part.instance, part.carries
    interests, split = (instance.indptr, instance.topics, instance.n_topics), None
    if carries is None:
        components = new_components(*interests)
    else:
        components, split = components_with_leaves(*interests, carries)
    join_all(components, made)
    missing = int(np.maximum(components.open_count - 1, 0).sum(dtype=np.int64))
    most = missing if most is None else min(missing, most)
    by_degree = before.parameters.get("ties", "degree") == "degree"
    run = _new_run(components, made, most, restrictions, by_degree=by_degree)
    if most:
        drop_all_connected(components, 0, instance.n_nodes)
        for cap in _caps(before, run):
            _join_under(run, restrictions, cap)
            if run.counts[N_EDGES] == most or not (components.open_count > 1).any():
                break
    edges = np.sort(run.edges[: run.counts[N_EDGES]], axis=1)
    found = components.open_count if split is None else components_of_topics(components, split)
    return Joined(edges, is_whole=not (found[: instance.n_topics] > 1).any())


def _new_run(
    components: Components, made: Ints, most: int, restrictions: Restrictions, *, by_degree: bool
) -> Run:
    ids = np.arange(len(components.row_end), dtype=np.int32)
    return Run(
        components,
        ids,
        rank=ids,
        degree=np.bincount(made.ravel(), minlength=len(ids)).astype(np.int32),
        edges=np.empty((most, 2), np.int32),
        gains=np.empty(most, np.int32),
        counts=np.array([0, most], np.int64),
        by_degree=by_degree,
        costs=restrictions.pair_costs(ids),
    )


def _caps(before: Overlay, run: Run) -> Iterator[int]:
    """Yield the degree caps to try in turn: none, unless the overlay is by minmax."""
    if before.method != "minmax":
        yield NO_LIMIT
        return
    busiest = max(int(run.degree.max(initial=0)), 1)
    yield from range(busiest, max(len(run.degree), busiest + 1))


def _join_under(run: Run, restrictions: Restrictions, cap: int) -> None:
    """Add the best links under a cap. Writes the run."""
    n = len(run.degree)
    if cap < NO_LIMIT:
        most = np.full(n, cap, np.int32)
        if restrictions.max_links is not None:
            most = np.minimum(most, restrictions.max_links).astype(np.int32)
        restrictions = replace(restrictions, max_links=most)
    is_outer = np.zeros(n, np.bool_)
    mark_outer(run.components, is_outer)
    nodes = np.flatnonzero(is_outer).astype(np.int32)
    rows = OuterRows(
        nodes,
        key=np.full(len(nodes), NO_PAIR, np.int64),
        code=np.zeros(len(nodes), np.int64),
        gain=np.zeros(n, np.int32),
        touched=np.zeros(n, np.int32),
    )
    exclusions = restrictions.exclusions(run.ids, run.degree)
    run.counts[STOP] = len(run.edges)
    find_all_best(run, exclusions, rows)
    join_open(run, exclusions, rows)
