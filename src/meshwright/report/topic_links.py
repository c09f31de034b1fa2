"""How each topic fares in an overlay: links inside, components, diameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meshwright.evaluation.topic_kernel import EXACT_UP_TO, adjacency
from meshwright.kernels.threads import in_parts
from meshwright.report import topic_links_kernel as kernel
from meshwright.routing.tables import subscribers_of
from meshwright.values import Overlay

Longs = npt.NDArray[np.int64]
MOST_STEPS = 30_000_000_000  # of searches from every node, of which few are made: seconds


@dataclass(frozen=True, slots=True, eq=False)
class TopicRows:
    """One entry per topic. The diameter is the largest over the components; low = high if exact."""

    subscribers: Longs
    links: Longs
    components: Longs
    largest: Longs
    diameter_low: Longs
    diameter_high: Longs


def topic_rows(overlay: Overlay, most_steps: int = MOST_STEPS) -> TopicRows:
    """Return how each topic fares, from the edges alone.

    Diameters are exact up to `EXACT_UP_TO` subscribers, or fewer where a search from each of them
    would take more than `most_steps` in all; the others are bounded.
    """
    instance = overlay.instance
    topic_ptr, members = subscribers_of(instance)
    pointers, neighbours = adjacency(
        instance.n_nodes, overlay.edges[:, 0].copy(), overlay.edges[:, 1].copy()
    )
    graph = topic_ptr, members, pointers, neighbours
    links = np.zeros(instance.n_topics, np.int64)
    in_parts(lambda a, b: kernel.count_links(*graph, a, b, links), instance.n_topics)
    sizes = np.diff(topic_ptr)
    exact = exact_up_to(sizes, links, most_steps)
    rows = np.zeros((instance.n_topics, 4), np.int64)
    in_parts(lambda a, b: kernel.evaluate(*graph, links, exact, a, b, rows), instance.n_topics)
    return TopicRows(sizes, links, rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3])


def exact_up_to(sizes: Longs, links: Longs, most_steps: int) -> int:
    """Return the largest size of topics whose diameters can all be worked out.

    Examples
    --------
    >>> exact_up_to(np.array([2, 10, 100]), np.array([1, 9, 99]), 1000)
    99

    """
    order = np.argsort(sizes, kind="stable")
    steps = np.cumsum((sizes * (sizes + 2 * links)).astype(np.float64)[order])
    over = np.flatnonzero(steps > most_steps)
    if len(over) == 0:
        return EXACT_UP_TO
    return min(EXACT_UP_TO, int(sizes[order[over[0]]]) - 1)
