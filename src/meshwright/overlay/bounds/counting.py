"""Bounds that no overlay can beat, cheap to compute and sound.

mu is submodular, so after any edges E no m further edges join more than the m largest gains
given E (paper 1, section III); and a node of a complete overlay needs enough neighbours to share
all its topics. Details and proofs are in docs/certificates.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from meshwright.model.instance import Instance
from meshwright.model.kernels.components import Components, join_all, new_components, new_counters
from meshwright.model.kernels.leaves import components_with_leaves
from meshwright.model.overlay import Bounds
from meshwright.overlay.bounds.kernels import counting as kernel
from meshwright.overlay.greedy.rule import Restrictions
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.threads import in_parts


@dataclass(frozen=True, slots=True)
class Profile:
    """The gains of all pairs at one time, and the neighbours that nodes need."""

    histogram: Longs  # pairs by gain
    best_sum: int  # over the nodes, the sum of their `max_degree` largest gains
    needed_sum: int  # over the nodes, the neighbours each needs at least; 0 if not computed
    needed_max: int  # the most that a node needs at least

    def plus(self, other: Profile) -> Profile:
        """Return the profile of the pairs of both."""
        longer, shorter = sorted((self.histogram, other.histogram), key=len, reverse=True)
        histogram = longer.copy()
        histogram[: len(shorter)] += shorter
        return Profile(
            histogram,
            self.best_sum + other.best_sum,
            self.needed_sum + other.needed_sum,
            max(self.needed_max, other.needed_max),
        )


NOTHING = Profile(np.zeros(1, dtype=np.int64), 0, 0, 0)


def find_bounds(
    instance: Instance, edges: Ints, restrictions: Restrictions | None = None
) -> Bounds:
    """Return the bounds for the overlay's own budget: its edges, its maximum degree.

    Of what a design must obey, leaves count in all bounds, pairs in those on the edges and on the
    maximum degree, and the most links of nodes in none: a bound without them holds all the more.

    Cost: two or three walks over the incidences, on all processors.
    """
    restricted = restrictions is not None and restrictions.any
    components = _components(instance, restrictions)
    mu_full = int(np.maximum(components.open_count - 1, 0).sum(dtype=np.int64))
    max_degree = int(np.bincount(edges.ravel(), minlength=1).max(initial=0))
    before = _profile_here(components, max_degree, needs=not restricted)
    if restrictions is not None and restricted:
        needed = links_needed(instance, restrictions)
        needed = needed[needed < kernel.NO_PARTNER]
        largest = int(needed.max(initial=0))
        before = replace(before, needed_sum=int(needed.sum()), needed_max=largest)
    mu = int(join_all(components, edges).sum(dtype=np.int64))
    partial = 0 < mu < mu_full
    after = _profile_here(components, max_degree, needs=False) if partial else None
    return bounds_of(before, after, mu, mu_full, len(edges))


def links_needed(instance: Instance, restrictions: Restrictions) -> Longs:
    """Return how many links each node needs at least; NO_PARTNER where no number is enough."""
    components = _components(instance, restrictions)
    n_nodes = instance.n_nodes
    exclusions = restrictions.exclusions(np.arange(n_nodes, dtype=np.int32))
    needed = np.zeros(n_nodes, dtype=np.int64)

    def work(first: int, last: int) -> None:
        counts = np.zeros(n_nodes, dtype=np.int32)
        kernel.links_needed(components, exclusions, counts, needed, first, last)

    in_parts(work, n_nodes)
    return needed


def _components(instance: Instance, restrictions: Restrictions | None) -> Components:
    """Return the components before the first edge."""
    interests = instance.indptr, instance.topics, instance.n_topics
    if restrictions is None or restrictions.carries is None:
        return new_components(*interests)
    return components_with_leaves(*interests, restrictions.carries)[0]


def bounds_of(
    before: Profile, after: Profile | None, mu: int, mu_full: int, n_edges: int
) -> Bounds:
    """Return the bounds from the gains before the first edge and, if given, after the last.

    `mu` is the number of joins that the edges make, `mu_full` that of a complete overlay.
    """
    prefixes = [(0, before)] if after is None else [(0, before), (mu, after)]
    by_cover = _fewest_edges(before.histogram, mu_full)
    with_edges = min(so_far + _largest(p.histogram, n_edges) for so_far, p in prefixes)
    with_degree = min(so_far + p.best_sum // 2 for so_far, p in prefixes)
    share = 1 / mu_full if mu_full else 0.0
    return Bounds(
        edges=max(by_cover, -(-before.needed_sum // 2)),
        max_degree=before.needed_max,
        support_with_edges=min(1.0, with_edges * share) if mu_full else 1.0,
        support_with_degree=min(1.0, with_degree * share) if mu_full else 1.0,
    )


def profile(
    components: Components, max_degree: int, first: int, last: int, *, needs: bool
) -> Profile:
    """Return the profile of the pairs of the nodes from `first` to `last`.

    With `needs`, before the first edge, also what nodes need.
    """
    sizes = np.diff(components.indptr)
    needed = np.zeros(len(sizes), dtype=np.int64)
    counts = new_counters(len(sizes), int(sizes.max(initial=0)))
    scan = kernel.ProfileScan(max_degree, needs, needed, counts)
    histogram, best_sum = kernel.gain_profile(components, scan, first, last)
    return Profile(histogram, int(best_sum), int(needed.sum()), int(needed.max(initial=0)))


def _profile_here(components: Components, max_degree: int, *, needs: bool) -> Profile:
    """Return the profile of all pairs, on all processors."""
    found: list[Profile] = []

    def work(first: int, last: int) -> None:
        found.append(profile(components, max_degree, first, last, needs=needs))

    in_parts(work, len(components.indptr) - 1)
    return reduce(Profile.plus, found, NOTHING)


def _largest(histogram: Longs, count: int) -> int:
    """Return the sum of the `count` largest gains."""
    total = 0
    for gain in range(len(histogram) - 1, 0, -1):
        take = min(count, int(histogram[gain]))
        total += take * gain
        count -= take
    return total


def _fewest_edges(histogram: Longs, target: int) -> int:
    """Return the fewest gains that sum to at least `target`."""
    edges = 0
    for gain in range(len(histogram) - 1, 0, -1):
        if target <= 0:
            break
        take = min(int(histogram[gain]), -(-target // gain))
        edges += take
        target -= take * gain
    return edges
