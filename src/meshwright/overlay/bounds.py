"""Bounds that no overlay can beat, cheap to compute and sound.

mu is submodular, so after any edges E no m further edges join more than the m largest gains
given E (paper 1, section III); and a node of a complete overlay needs enough neighbours to share
all its topics. Details and proofs are in docs/certificates.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from meshwright.kernels.components import Components, join_all, new_components
from meshwright.kernels.threads import in_parts
from meshwright.overlay import bounds_kernel as kernel
from meshwright.values import Bounds, Instance


@dataclass(frozen=True, slots=True)
class _Prefix:
    """The gains given the first edges of a run: mu so far, and what could still be joined."""

    mu: int
    histogram: npt.NDArray[np.int64]  # pairs by gain
    best_sum: int  # over the nodes, the sum of their `max_degree` largest gains


def find_bounds(instance: Instance, edges: npt.NDArray[np.int32]) -> Bounds:
    """Return the bounds for the overlay's own budget: its edges, its maximum degree.

    Cost: two or three walks over the incidences, on all processors.
    """
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    mu_full = instance.n_subscriptions - int(np.count_nonzero(components.open_count))
    degrees = np.bincount(edges.ravel(), minlength=1)
    max_degree = int(degrees.max(initial=0))
    needed = np.zeros(instance.n_nodes, dtype=np.int64)
    prefixes = [_prefix(components, 0, max_degree, needed)]
    mu = int(join_all(components, edges).sum(dtype=np.int64))
    if 0 < mu < mu_full:
        prefixes.append(_prefix(components, mu, max_degree))
    by_cover = _fewest_edges(prefixes[0].histogram, mu_full)
    with_edges = min(p.mu + _largest(p.histogram, len(edges)) for p in prefixes)
    with_degree = min(p.mu + p.best_sum // 2 for p in prefixes)
    share = 1 / mu_full if mu_full else 0.0
    return Bounds(
        edges=max(by_cover, -(-int(needed.sum()) // 2)),
        max_degree=int(needed.max(initial=0)),
        support_with_edges=min(1.0, with_edges * share) if mu_full else 1.0,
        support_with_degree=min(1.0, with_degree * share) if mu_full else 1.0,
    )


def _prefix(
    components: Components, mu: int, max_degree: int, needed: npt.NDArray[np.int64] | None = None
) -> _Prefix:
    """Return the gains of all pairs now; fill `needed`, which asks for components of one node."""
    n_nodes = len(components.indptr) - 1
    largest = int(np.diff(components.indptr).max(initial=0))
    histogram, best_sums = np.zeros(largest + 1, dtype=np.int64), []
    lock = Lock()

    def profile(first: int, last: int) -> None:
        fill = np.zeros(0, dtype=np.int64) if needed is None else needed
        part, best_sum = kernel.gain_profile(components, max_degree, fill, first, last)
        with lock:
            histogram[: len(part)] += part
            best_sums.append(int(best_sum))

    in_parts(profile, n_nodes)
    return _Prefix(mu, histogram, sum(best_sums))


def _largest(histogram: npt.NDArray[np.int64], count: int) -> int:
    """Return the sum of the `count` largest gains."""
    total = 0
    for gain in range(len(histogram) - 1, 0, -1):
        take = min(count, int(histogram[gain]))
        total += take * gain
        count -= take
    return total


def _fewest_edges(histogram: npt.NDArray[np.int64], target: int) -> int:
    """Return the fewest gains that sum to at least `target`."""
    edges = 0
    for gain in range(len(histogram) - 1, 0, -1):
        if target <= 0:
            break
        take = min(int(histogram[gain]), -(-target // gain))
        edges += take
        target -= take * gain
    return edges
