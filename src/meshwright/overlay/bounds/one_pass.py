"""The bound by prices with equal shares, for any size: no table, and exact sums."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from meshwright.model.instance import Instance
from meshwright.model.kernels.components import Components, new_components, new_counters
from meshwright.overlay.bounds.kernels import row_trees as kernel
from meshwright.runtime.arrays import Longs, Words
from meshwright.runtime.threads import in_parts

WORD_COST = 2  # positions that are walked over in the time of one word of 64 topics
UNIT = 1 << 40  # a whole price: sums of shares, rounded down, stay exact in Python's numbers


def histogram_here(instance: Instance) -> Longs:
    """Return the edges of all trees by the number of common topics, found in this process."""
    return tree_histogram(new_components(instance.indptr, instance.topics, instance.n_topics))


def tree_histogram(
    components: Components, pick: Callable[[Components, kernel.Picks], None] | None = None
) -> Longs:
    """Return the edges of all trees by the number of common topics of their pair.

    `components` are those before the first edge; they are joined when this returns. `pick` picks
    the partners of one round, by default `pick_here`.

    Cost: a walk over the pairs of all topics, twice, and further ones over a part of the rows.
    """
    c, pick = components, pick or pick_here
    histogram = np.zeros(int(np.diff(c.indptr).max(initial=0)) + 1, np.int64)
    picks = kernel.Picks(
        np.zeros(len(c.topics), np.int32),
        np.full(len(c.topics), kernel.NO_PICK, np.int32),
        np.full(len(c.open_count), kernel.NO_PICK, np.int32),
    )
    while (c.open_count > 1).any():
        pick(c, picks)
        if kernel.join_picks(c, picks, histogram) == 0:
            break
    return histogram


def pick_here(c: Components, picks: kernel.Picks) -> None:
    """Pick the partners of one round on all processors of this machine."""
    sizes = np.diff(c.indptr)
    words = topic_words(c)

    def work(first: int, last: int) -> None:
        counts = new_counters(len(sizes), int(sizes.max(initial=0)))
        if words is None:
            kernel.pick_partners(c, picks, counts, first, last)
        else:
            kernel.pick_partners_by_words(c, picks, counts, words, first, last)

    in_parts(work, len(sizes))


def topic_words(c: Components) -> Words | None:
    """Return a bit for each topic of each node, or None where walks over the topics are quicker."""
    n_nodes, n_words = len(c.indptr) - 1, -(-len(c.open_count) // 64)
    positions = int((np.diff(c.topic_ptr).astype(np.float64) ** 2).sum())
    if WORD_COST * n_nodes * n_nodes * n_words > positions:
        return None
    words = np.zeros((n_nodes, n_words), np.uint64)
    kernel.write_words(c, words)
    return words


def links_by_histogram(histogram: Longs) -> int:
    """Return the fewest links of complete overlays: the weight of the trees, rounded up."""
    weight = sum(int(n) * (UNIT // k) for k, n in enumerate(histogram.tolist()) if k)
    return -(-weight // UNIT)


def joins_by_histogram(histogram: Longs, n_links: int) -> int:
    """Return how many tree edges, the lightest first, weigh at most `n_links` together."""
    joins, left = 0, n_links * UNIT
    for common in range(len(histogram) - 1, 0, -1):
        take = min(int(histogram[common]), left // (UNIT // common))
        joins += take
        left -= take * (UNIT // common)
        if take < histogram[common]:
            break
    return joins
