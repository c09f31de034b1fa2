"""Bounds for overlays that survive losses: each node needs several neighbours in each topic.

If a member of a topic has at most k neighbours there, losing these parts it from the others. So it
needs k + 1, or all others if there are fewer. With prices z >= 0 of these needs, no overlay that
survives has fewer links than the sum of z * need, less what pairs are paid above 1: a pair is paid
the prices of its two nodes in all topics that they share. The best prices are the dual values of a
linear program, which is solved where it is small; elsewhere an ascent finds good ones. As ever,
nothing is believed of the solver: any prices give a bound, which is added up in whole numbers.
Proofs are in docs/certificates.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from meshwright.model.instance import Instance
from meshwright.model.kernels.components import new_components
from meshwright.model.overlay import Bounds
from meshwright.overlay.bounds.kernels import cover as kernel
from meshwright.overlay.bounds.kernels.cover import UNIT, Needs
from meshwright.overlay.bounds.prices import count_entries, default_rounds
from meshwright.overlay.dependence import senders
from meshwright.runtime.arrays import Floats, Longs

MOST_PROGRAM_ENTRIES = 60_000  # pairs by topic; the program takes seconds there
SHORTER, STALLED = 0.7, 10  # a step after so many rounds without progress


def by_cover(instance: Instance, found: Bounds, survive: int, n_links: int) -> Bounds:
    """Return the bounds of overlays that survive, from those of overlays that are complete."""
    needs = make_needs(instance, survive)
    fewest, most = kernel.count_partners(needs)
    degree, links = int(fewest.max(initial=0)), -(-int(fewest.sum()) // 2)
    price = _equal_prices(most)
    best = max(links, bound_by(needs, price)[0])
    if count_entries(instance) <= MOST_PROGRAM_ENTRIES:
        best = max(best, bound_by(needs, program_prices(needs))[0])
    else:
        best = max(best, ascend(needs, price, n_links, default_rounds(count_entries(instance))))
    if best > found.edges:
        found = replace(found, edges=best, edges_by="cover")
    if degree > found.max_degree:
        found = replace(found, max_degree=degree, max_degree_by="cover")
    return found


def make_needs(instance: Instance, survive: int) -> Needs:
    """Return how many neighbours each node needs in each topic to survive so many losses.

    A node that does not want a topic may have all its neighbours among those who do: when they
    are lost nobody listens. Likewise a node that does not publish it.
    """
    parts = new_components(instance.indptr, instance.topics, instance.n_topics)
    sizes = np.bincount(instance.topics, minlength=instance.n_topics)
    need = np.minimum(survive + 1, sizes - 1)[instance.topics]
    sends, wants = senders(instance), instance.wants
    for flags in (sends, np.ones_like(sends) if wants is None else wants):
        others = np.bincount(instance.topics[flags], minlength=instance.n_topics)[instance.topics]
        need = np.where(flags, need, np.minimum(need, others))
    return Needs(
        instance.indptr,
        instance.topics,
        parts.topic_ptr,
        parts.nodes.astype(np.int32),
        parts.slot_at,
        need.astype(np.int64),
    )


def bound_by(needs: Needs, price: Longs) -> tuple[int, Longs]:
    """Return the fewest links by prices in units of `UNIT`, and the neighbours that these buy."""
    used = np.empty(len(needs.topics), np.int64)
    total = int((price * needs.need).sum()) - int(kernel.excess_of(needs, price, used))
    return -(-total // UNIT), used


def ascend(needs: Needs, price: Longs, target: int, rounds: int) -> int:
    """Return the best bound of some rounds, each raising the prices of needs that are not met."""
    best, step, stalled = 0, 1.0, 0
    value: Floats = price / UNIT
    for _ in range(rounds):
        whole = np.floor(value * UNIT).astype(np.int64)
        least, used = bound_by(needs, whole)
        stalled = 0 if least > best else stalled + 1
        best = max(best, least)
        slope = (needs.need - used).astype(np.float64)
        slope[(value <= 0) & (slope < 0)] = 0.0
        length = float((slope**2).sum())
        if best >= target or length == 0:
            break
        if stalled >= STALLED:
            step, stalled = step * SHORTER, 0
        value = np.maximum(value + step * (target - least) / length * slope, 0.0)
    return best


def _equal_prices(most: Longs) -> Longs:
    """Return prices under which no pair is paid more than a link: half of 1 / the most topics."""
    return np.where(most > 0, UNIT // (2 * np.maximum(most, 1)), 0)


def program_prices(needs: Needs) -> Longs:
    """Return the dual values of the program: the fewest links, by parts, that meet all needs."""
    import highspy

    rows = _distinct_rows(needs)
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1), ("random_seed", 1)):
        solver.setOptionValue(name, value)
    node_of = np.repeat(np.arange(len(needs.indptr) - 1), np.diff(needs.indptr))
    column: dict[tuple[int, int], int] = {}
    listed: list[tuple[int, Any]] = []
    for slot in rows:
        u, t = int(node_of[slot]), int(needs.topics[slot])
        others = needs.nodes[needs.topic_ptr[t] : needs.topic_ptr[t + 1]].tolist()
        pairs = [(min(u, v), max(u, v)) for v in others if v != u]
        listed.append((slot, [column.setdefault(pair, len(column)) for pair in pairs]))
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(column), 0
    model.col_cost_ = np.ones(len(column))
    model.col_lower_, model.col_upper_ = np.zeros(len(column)), np.ones(len(column))
    solver.passModel(model)
    for slot, columns in listed:
        solver.addRow(
            float(needs.need[slot]),
            highspy.kHighsInf,
            len(columns),
            np.array(columns, np.int32),
            np.ones(len(columns)),
        )
    solver.run()
    price: Longs = np.zeros(len(needs.topics), np.int64)
    if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal and rows:
        duals = np.maximum(np.array(solver.getSolution().row_dual), 0.0)
        price[rows] = np.floor(duals * UNIT).astype(np.int64)
    return price


def _distinct_rows(needs: Needs) -> list[int]:
    """Return the slots with a need, one for each node and set of members."""
    found: dict[tuple[int, bytes], int] = {}
    members = [
        needs.nodes[needs.topic_ptr[t] : needs.topic_ptr[t + 1]].tobytes()
        for t in range(len(needs.topic_ptr) - 1)
    ]
    for u in range(len(needs.indptr) - 1):
        for slot in range(needs.indptr[u], needs.indptr[u + 1]):
            if needs.need[slot] > 0:
                key = u, members[needs.topics[slot]]
                if key not in found or needs.need[slot] > needs.need[found[key]]:
                    found[key] = slot
    return sorted(found.values())
