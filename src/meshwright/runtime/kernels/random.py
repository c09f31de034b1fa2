"""A counter-based random generator: number `i` of stream `key` depends on nothing else.

SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014):
the output is a fixed mixing of key + i * golden gamma, so any task can start anywhere. Streams
are told apart by a key mixed from (seed, id), and results do not depend on partitioning.
"""

import numpy as np

from meshwright.runtime.compile import kernel, maker

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / (1 << 53)


@kernel
def mix(z):
    """Return a 64-bit number that depends on every bit of `z`."""
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@kernel
def stream(seed, number):
    """Return the key of the stream of `number` under `seed`."""
    return mix(mix(np.uint64(seed) + GAMMA) + np.uint64(number) * GAMMA)


@kernel
def streams(seed, numbers, out):
    """Write to `out` the key of the stream of each number under `seed`."""
    for j in range(len(numbers)):
        out[j] = stream(seed, numbers[j])


@kernel
def uniform(key, i):
    """Return number `i` of a stream, uniform in [0, 1)."""
    return (mix(key + np.uint64(i) * GAMMA) >> np.uint64(11)) * _TO_UNIT


@maker
def uniforms(seed, first, count, n):
    """Return float64[count, n]: the first n numbers of the streams first..first+count-1."""
    out = np.empty((count, n), np.float64)
    for row in range(count):
        key = stream(seed, first + row)
        for i in range(n):
            out[row, i] = uniform(key, i)
    return out
