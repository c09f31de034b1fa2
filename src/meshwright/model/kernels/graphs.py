"""Lists per key (CSR): values grouped by key, and the neighbours in a graph."""

import numpy as np

from meshwright.runtime.compile import maker


@maker
def group_by_key(keys, values, n_keys):
    """Return (pointers int64[n_keys + 1], values int32): the values of each key, in given order."""
    pointers = np.zeros(n_keys + 1, np.int64)
    for key in keys:
        pointers[key + 1] += 1
    for key in range(n_keys):
        pointers[key + 1] += pointers[key]
    end = pointers[:-1].copy()
    grouped = np.empty(len(values), np.int32)
    for i in range(len(keys)):
        grouped[end[keys[i]]] = values[i]
        end[keys[i]] += 1
    return pointers, grouped


@maker
def adjacency(n, u, v):
    """Return (pointers int64[n + 1], neighbours int32) of the links (u, v), in their order."""
    ends, others = np.empty(2 * len(u), np.int32), np.empty(2 * len(u), np.int32)
    ends[0::2], ends[1::2] = u, v
    others[0::2], others[1::2] = v, u
    return group_by_key(ends, others, n)
