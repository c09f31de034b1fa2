"""Interests as bits: 64 topics to a word, for nodes that want many of all topics.

Where nodes want hundreds of a thousand topics, comparing two nodes word by word is faster than
walking over the topics they share. The words of the same 64 topics are adjacent for all nodes, so
one node is compared with all others in one pass along memory.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic, overload

from meshwright.runtime.compile import kernel

WORD = 64  # bits
WORTH = 4  # words that are compared in the time of visiting one position of a topic

Words = npt.NDArray[np.uint64]  # uint64[n_words, n_nodes], bit t % 64 of word t // 64 is topic t


def new_words(n_nodes: int, n_topics: int, most: int) -> Words:
    """Return words with no bit set; no words at all if there would be more than `most`."""
    n_words = -(-n_topics // WORD)
    return np.zeros((n_words if n_words * n_nodes <= most else 0, n_nodes), dtype=np.uint64)


@kernel
def set_bits(words, indptr, topics):
    """Set the bit of each topic that a node wants, if there are words."""
    if len(words) > 0:
        for u in range(len(indptr) - 1):
            for slot in range(indptr[u], indptr[u + 1]):
                words[topics[slot] // WORD, u] |= bit_of(topics[slot])


@kernel
def bit_of(topic):
    """Return the bit of a topic in its word."""
    return np.uint64(1) << np.uint64(topic % WORD)


@kernel
def add_common(counts, mask, words):
    """Add to each count the number of bits that its word has in common with a mask."""
    for i in range(len(words)):
        counts[i] += bit_count(mask & words[i])


def bit_count(word: Any) -> int:
    """Return how many bits of a word are set; one instruction when compiled."""
    return int(word).bit_count()


@overload(bit_count)
def _compiled(word):  # noqa: ARG001
    return lambda word: _instruction(word)


@intrinsic
def _instruction(_typing: Any, _word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.uint64(types.uint64), generate
