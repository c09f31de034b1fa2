"""Draw the topics of nodes: two exact laws, each node from a random stream of its own.

``successive``: one topic after the other, without replacement, with probability proportional to
its weight among those left. Drawing with replacement and passing over repeats is the same law and
fast while repeats are rare; once they are not, the rest is drawn by exponential keys (Efraimidis,
Spirakis, 2006), the same law again, since each draw depends only on what is chosen already.

``conditional`` (paper 2): every topic by itself with its probability, given that their number is
the size asked for. Instead of redrawing until it fits, topics are decided one by one given how
many are still needed; `log_sums` holds what that takes: row `i` the logarithms of the elementary
symmetric sums of the odds of the topics from `i` on.
"""

import math
from typing import NamedTuple

import numpy as np

from meshwright.runtime.arrays import Floats, Ints
from meshwright.runtime.compile import kernel, maker
from meshwright.runtime.kernels.random import stream, uniform

DRAWS_PER_TOPIC = 4  # draws with replacement per topic wanted, before the keys take over


class Sizes(NamedTuple):
    """How many topics a node draws, from low to high, by the random stream of the node."""

    seed: int
    low: int
    high: int
    uniform: bool = True  # all sizes are equally likely; otherwise `cumulative` has their shares
    cumulative: Floats = np.ones(1)  # float64[high - low + 1], shares up to and including each size


def steep_sizes(seed: int, low: int, high: int) -> Sizes:
    """Return sizes whose probability falls as 1 / size^2; `low` is at least 1."""
    weights = 1.0 / np.arange(low, high + 1, dtype=np.float64) ** 2
    return Sizes(seed, low, high, uniform=False, cumulative=np.cumsum(weights / weights.sum()))


class Popularity(NamedTuple):
    """The weights of the topics, and tables to draw one by its weight."""

    weight: Floats  # float64[n_topics]
    cumulative: Floats  # float64[n_topics], shares up to and including each topic
    guide: Ints  # int32[n_topics], first topic whose share reaches step / n


class Chances(NamedTuple):
    """The odds of the topics, each chosen by itself, and their symmetric sums."""

    odds: Floats  # float64[n_topics]
    log_sums: Floats  # float64[n_topics + 1, most + 1], see `log_sums`


def new_popularity(weight: Floats) -> Popularity:
    """Return the tables to draw topics of these weights."""
    cumulative = np.cumsum(weight / weight.sum())
    return Popularity(weight, cumulative, guide_table(cumulative))


@maker
def guide_table(cumulative):
    """Return, for each of n equal steps of [0, 1), the first topic whose share reaches it."""
    n = len(cumulative)
    guide = np.empty(n, np.int32)
    topic = 0
    for step in range(n):
        while topic < n - 1 and cumulative[topic] <= step / n:
            topic += 1
        guide[step] = topic
    return guide


@kernel
def draw_size(key, sizes):
    """Return the number of topics of a node, by the first number of its stream."""
    span = sizes.high - sizes.low
    if not sizes.uniform:
        # Rounding may leave the last share a little below 1.
        return sizes.low + min(np.searchsorted(sizes.cumulative, uniform(key, 0), "right"), span)
    return sizes.low + min(int(uniform(key, 0) * (span + 1)), span)


@maker
def draw_successive(sizes, popularity, first, count):
    """Return (sizes, topics) of the nodes first..first+count-1, topics sorted within a node."""
    weight, cumulative, guide = popularity
    n = len(weight)
    n_drawn = np.empty(count, np.int32)
    topics = np.empty(count * sizes.high, np.int32)
    chosen_by = np.full(n, -1, np.int64)  # the node that chose the topic last
    keys = np.empty(n, np.float64)
    filled = 0
    for node in range(count):
        key = stream(sizes.seed, first + node)
        size = draw_size(key, sizes)
        n_drawn[node] = size
        draw, have = 1, 0
        while have < size and draw <= DRAWS_PER_TOPIC * size:
            u = uniform(key, draw)
            draw += 1
            topic = guide[int(u * n)]
            while cumulative[topic] <= u and topic < n - 1:
                topic += 1
            if chosen_by[topic] != node:
                chosen_by[topic] = node
                topics[filled + have] = topic
                have += 1
        if have < size:
            for topic in range(n):
                keys[topic] = np.inf
                if chosen_by[topic] != node:
                    # 1 - u lies in (0, 1]: the logarithm is finite.
                    keys[topic] = -math.log(1.0 - uniform(key, draw + topic)) / weight[topic]
            order = np.argsort(keys)
            for i in range(size - have):
                topics[filled + have + i] = order[i]
        topics[filled : filled + size].sort()
        filled += size
    return n_drawn, topics[:filled]


@maker
def log_sums(odds, most):
    """Return the (n + 1) x (most + 1) logarithms of elementary symmetric sums, from the end."""
    n = len(odds)
    sums = np.full((n + 1, most + 1), -np.inf)
    sums[n, 0] = 0.0
    for topic in range(n - 1, -1, -1):
        log_odds = math.log(odds[topic])
        sums[topic, 0] = 0.0
        for size in range(1, most + 1):
            without, within = sums[topic + 1, size], sums[topic + 1, size - 1] + log_odds
            larger = max(without, within)
            if larger > -np.inf:
                larger += math.log(math.exp(without - larger) + math.exp(within - larger))
            sums[topic, size] = larger
    return sums


@maker
def draw_conditional(sizes, chances, first, count):
    """Return (sizes, topics) of the nodes first..first+count-1, topics sorted within a node."""
    odds, sums = chances
    n = len(odds)
    n_drawn = np.empty(count, np.int32)
    topics = np.empty(count * sizes.high, np.int32)
    filled = 0
    for node in range(count):
        key = stream(sizes.seed, first + node)
        size = draw_size(key, sizes)
        n_drawn[node] = size
        needed, topic = size, 0
        while needed > 0:
            share = math.log(odds[topic]) + sums[topic + 1, needed - 1] - sums[topic, needed]
            # With as many topics left as needed, rounding must not leave one out.
            if n - topic <= needed or uniform(key, 1 + topic) < math.exp(share):
                topics[filled] = topic
                filled += 1
                needed -= 1
            topic += 1
    return n_drawn, topics[:filled]
