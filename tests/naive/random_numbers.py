"""SplitMix64 by its definition, in Python's own integers."""

MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def stream(seed: int, number: int) -> int:
    return mix((mix((seed + GAMMA) & MASK) + number * GAMMA) & MASK)


def uniform(key: int, i: int) -> float:
    return (mix((key + i * GAMMA) & MASK) >> 11) / 2**53
