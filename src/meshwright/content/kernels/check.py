"""The checks of every subscriber. They share no code with the methods that they check."""

from typing import Any, NamedTuple

import numpy as np

from meshwright.runtime.compile import kernel


class Served(NamedTuple):
    """Subscribers and the leaf of each."""

    location: Any  # float64[n, network dimensions]
    low: Any  # float64[n, event dimensions], corners of the subscriptions
    high: Any
    limit: Any  # float64[n], the longest latency allowed, over the smallest possible
    broker: Any  # int32[n]
    leaf: Any  # int32[n], the place of the broker among the leaves, -1 if it is not a leaf


class BrokerBoxes(NamedTuple):
    """The boxes of all brokers' filters."""

    first: Any  # int64[n_brokers + 1], the boxes of broker b are rows first[b] to first[b + 1]
    low: Any  # float64[n_boxes, event dimensions]
    high: Any


@kernel
def find_faults(served, leaf_location, leaf_down, boxes, span, out):
    """Check the subscribers of `span`, (first, last); write to `out`, the arrays (delay, outside).

    `delay[j]` is the delay of subscriber j if that is too long, else -1; `outside[j]` says whether
    no box of its leaf holds its subscription.
    """
    (first, last), (delay, outside) = span, out
    for j in range(first, last):
        delay[j] = -1.0
        outside[j] = False
        leaf = served.leaf[j]
        if leaf < 0:
            continue
        own, least = np.inf, np.inf
        for i in range(len(leaf_down)):
            square = 0.0
            for k in range(served.location.shape[1]):
                square += (leaf_location[i, k] - served.location[j, k]) ** 2
            latency = np.sqrt(square) + leaf_down[i]
            least = min(least, latency)
            if i == leaf:
                own = latency
        if own > served.limit[j] * least:
            delay[j] = own / least - 1.0 if least > 0.0 else np.inf
        outside[j] = True
        broker = served.broker[j]
        for b in range(boxes.first[broker], boxes.first[broker + 1]):
            for k in range(served.low.shape[1]):
                if served.low[j, k] < boxes.low[b, k] or served.high[j, k] > boxes.high[b, k]:
                    break
            else:
                outside[j] = False
                break
