"""A permutation by a Feistel network, in Python's own integers."""

from tests.naive.random_numbers import MASK, mix


def permutation(count: int, key: int, rounds: int) -> list[int]:
    """Return where each number goes: through the network again until it is below `count`."""
    half = 1
    while 4**half < count:
        half += 1
    low = 2**half - 1

    def once(number: int) -> int:
        left, right = number >> half, number & low
        for turn in range(rounds):
            left, right = right, left ^ (mix((key + turn + (right << half)) & MASK) & low)
        return (left << half) | right

    found = []
    for number in range(count):
        number = once(number)
        while number >= count:
            number = once(number)
        found.append(number)
    return found
