"""The draws of publications: number 0 of a publication's stream is for the topic, 1 for the node.

The stream is that of (seed, number of the publication), so any range of publications can be drawn
by itself.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.kernels.random import stream, uniform


@njit(cache=True)
def draw_publications(seed, first, last, live, cumulative, topic_ptr, subscribers):
    """Return (topics, publishers) of the publications first..last-1.

    `live` are the topics that may be drawn, `cumulative` their shares added up, or empty when all
    are equally likely; the publisher is uniform among the topic's subscribers.
    """
    topics = np.empty(last - first, np.int32)
    publishers = np.empty(last - first, np.int32)
    for i in range(last - first):
        key = stream(seed, first + i)
        u = uniform(key, 0)
        if len(cumulative) == 0:
            chosen = int(u * len(live))
        else:
            # Rounding may leave the last share below 1.
            chosen = min(np.searchsorted(cumulative, u, side="right"), len(live) - 1)
        topic = live[chosen]
        start, k = topic_ptr[topic], topic_ptr[topic + 1] - topic_ptr[topic]
        topics[i] = topic
        publishers[i] = subscribers[start + int(uniform(key, 1) * k)]
    return topics, publishers
