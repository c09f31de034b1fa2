"""Bounds that no overlay can beat: a ladder from cheap to strong (docs/certificates.md).

Counting and one pass of prices hold for any size. The ascent improves the prices round by round,
and the linear program (`program.py`) finds the best ones for small instances. Every step is sound
by itself, so the best of all steps counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from meshwright.model.instance import Instance
from meshwright.model.overlay import Bounds, count_joins
from meshwright.overlay.bounds import counting, one_pass
from meshwright.overlay.bounds.counting import links_needed
from meshwright.overlay.bounds.prices import (
    MOST_ENTRIES,
    MOST_NODES,
    Effort,
    PriceBound,
    PriceTrees,
    bound_degree,
    bound_links,
    count_entries,
    default_rounds,
    make_table,
)
from meshwright.overlay.greedy.rule import Restrictions
from meshwright.runtime.arrays import Bools, Ints, Longs

NO_LIMIT = 1_000_000  # rounds, where the clock decides
MOST_PROGRAM_ENTRIES = 100_000  # pairs by topics; beyond, one program takes minutes
SHARE_OF_LINKS, SHARE_OF_DEGREE = 0.3, 0.3  # of the seconds, before the program has the rest


@dataclass(frozen=True, slots=True)
class Certify:
    """How far up the ladder to go."""

    link_rounds: int  # of the ascent on links
    degree_rounds: int  # of the ascent on the maximum degree
    program_rounds: int = 0  # of cuts that are added to the linear program
    seconds: float | None = None  # in all
    one_pass: bool = True  # whether prices count at all

    @classmethod
    def by_default(cls, instance: Instance) -> Certify:
        """Return an effort that depends on the instance alone: bounds are equal on any machine."""
        rounds = default_rounds(count_entries(instance))
        return cls(rounds, rounds)

    @classmethod
    def within(cls, seconds: float) -> Certify:
        """Return an effort that the clock ends."""
        return cls(NO_LIMIT, NO_LIMIT, NO_LIMIT, seconds)

    @classmethod
    def again(cls, claimed: Mapping[str, Any]) -> Certify:
        """Return the effort that repeats the bounds of a manifest.

        Manifests from before prices name no rounds; their bounds are by counting.
        """
        rounds = [claimed.get(f"{name}_rounds") for name in ("link", "degree", "program")]
        if not all(isinstance(count, int) and 0 <= count <= NO_LIMIT for count in rounds):
            return cls(0, 0, one_pass=False)
        return cls(*rounds)  # type: ignore[arg-type]


def find_bounds(
    instance: Instance,
    edges: Ints,
    restrictions: Restrictions | None = None,
    certify: Certify | None = None,
    survive: int = 0,
) -> Bounds:
    """Return the bounds for the overlay's own budget: its edges, its maximum degree.

    Those of overlays that survive the loss of `survive` nodes, if any; leaves count once there.
    Prices know nothing of the most links of nodes, of pairs and of leaves: a bound without them
    holds all the more.

    Cost: counting and one pass walk over the pairs of all topics four or five times. A round of an
    ascent is one more walk, over a table of 4 bytes for each pair of each topic.
    """
    certify = certify or Certify.by_default(instance)
    carries = None if restrictions is None else restrictions.carries
    found = counting.find_bounds(instance, edges, restrictions)
    found = by_prices(instance, edges, found, certify, carries)
    if not survive or carries is not None:
        return found
    from meshwright.overlay.bounds.cover import by_cover

    return by_cover(instance, found, survive, len(edges))


def by_prices(
    instance: Instance,
    edges: Ints,
    found: Bounds,
    certify: Certify,
    carries: Bools | None = None,
    histogram_of: Callable[[Instance], Longs] = one_pass.histogram_here,
) -> Bounds:
    """Return the bounds improved by prices, as far as `certify` says.

    `histogram_of` finds the trees of the one pass.
    """
    started = time.monotonic()
    needed = _needed(instance, carries)
    if needed is not None:
        instance = _only(instance, needed)
    full = count_joins(instance)
    if full == 0 or not certify.one_pass:
        return found
    histogram = histogram_of(instance)
    joins = one_pass.joins_by_histogram(histogram, len(edges))
    first = PriceBound(one_pass.links_by_histogram(histogram), joins, 0)
    found = _with_links(found, first, full, "one pass")
    return _ascend(instance, edges, found, certify, full, started)


def _ascend(
    instance: Instance, edges: Ints, found: Bounds, certify: Certify, full: int, started: float
) -> Bounds:
    """Return the bounds improved by both ascents and by the linear program."""
    joined = _joined(instance, edges)
    is_complete = joined == full
    n_links, degree = len(edges), int(np.bincount(edges.ravel(), minlength=1).max(initial=0))
    fits = count_entries(instance) <= MOST_ENTRIES

    def effort(rounds: int, share: float) -> Effort:
        late = None if certify.seconds is None else started + share * certify.seconds
        return Effort(rounds, late)

    if certify.link_rounds and fits and not (is_complete and found.edges >= n_links):
        trees, target = PriceTrees(make_table(instance)), n_links if is_complete else None
        ascent = effort(certify.link_rounds, SHARE_OF_LINKS)
        best = _repeatable(bound_links(trees, n_links, ascent, target=target), target, certify)
        if best is not None:
            found = _with_links(found, best, full, "ascent")
    is_proved = is_complete and found.max_degree >= degree
    if certify.degree_rounds and fits and not is_proved and instance.n_nodes <= MOST_NODES:
        trees, target = PriceTrees(make_table(instance)), degree if is_complete else None
        ascent = effort(certify.degree_rounds, SHARE_OF_LINKS + SHARE_OF_DEGREE)
        best = _repeatable(bound_degree(trees, degree, ascent, target=target), target, certify)
        if best is not None:
            found = _with_degree(found, best, full)
    small = count_entries(instance) <= MOST_PROGRAM_ENTRIES
    if certify.program_rounds and small and is_complete and found.edges < n_links:
        from meshwright.overlay.bounds.program import bound_by_program

        ascent = effort(certify.program_rounds, 1.0)
        best = bound_by_program(instance, ascent, target=n_links)
        found = replace(found, program_rounds=best.rounds)
        if best.least > found.edges:
            found = replace(found, edges=best.least, edges_by="program")
    return found


def _repeatable(best: PriceBound, target: int | None, certify: Certify) -> PriceBound | None:
    """Return what an ascent found, as at least one round: the manifest's 0 means no ascent at all.

    An ascent that ended by itself before its first round does so again when `check` repeats it.
    None if the clock may have ended it: `check` could not repeat that.
    """
    if not best.rounds and certify.seconds is not None and (target is None or best.least < target):
        return None
    return replace(best, rounds=max(best.rounds, 1))


def _with_degree(found: Bounds, best: PriceBound, full: int) -> Bounds:
    """Return the bounds with what prices say about the maximum degree."""
    support = min(found.support_with_degree, min(best.most_joins, full) / full)
    found = replace(found, support_with_degree=support, degree_rounds=best.rounds)
    if best.least > found.max_degree:
        found = replace(found, max_degree=best.least, max_degree_by="ascent")
    return found


def _with_links(found: Bounds, best: PriceBound, full: int, step: str) -> Bounds:
    """Return the bounds with what prices say about links."""
    support = min(found.support_with_edges, min(best.most_joins, full) / full)
    found = replace(found, support_with_edges=support, link_rounds=best.rounds)
    if best.least > found.edges:
        found = replace(found, edges=best.least, edges_by=step)
    return found


def _needed(instance: Instance, carries: Bools | None) -> Bools | None:
    """Return which topics have to be connected: those with a carrier. None: all of them."""
    if carries is None:
        return None
    needed: Bools = np.bincount(instance.topics[carries], minlength=instance.n_topics) > 0
    return None if needed.all() else needed


def _only(instance: Instance, needed: Bools) -> Instance:
    """Return the interests in some of the topics, with the ids of all."""
    kept = needed[instance.topics]
    indptr = np.concatenate(([0], np.cumsum(kept)))[instance.indptr]
    return Instance.from_arrays(indptr, instance.topics[kept], instance.n_topics)


def _joined(instance: Instance, edges: Ints) -> int:
    from meshwright.model.overlay import gains_of

    return int(gains_of(instance, edges).sum(dtype=np.int64))
