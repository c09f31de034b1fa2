"""Interests as bits: 64 topics to a word, for nodes that want many of all topics.

Where nodes want hundreds of a thousand topics, it is quicker to compare two nodes word by word than
to walk over the topics they share. The words of the same 64 topics lie side by side for all nodes,
so that one node is compared with all the others along memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic, overload

from meshwright.kernels.compile import kernel

WORD = 64  # bits
WORTH = 4  # to go to one position of a topic costs as much as so many words

Words = npt.NDArray[np.uint64]  # by word and node


def new_words(n_nodes: int, n_topics: int, most: int) -> Words:
    """Return words without a bit; none when they would be more than `most`."""
    n_words = -(-n_topics // WORD)
    return np.zeros((n_words if n_words * n_nodes <= most else 0, n_nodes), dtype=np.uint64)


@kernel
def set_bits(words, indptr, topics):
    """Set the bit of each topic that a node wants; nothing when there are no words."""
    if len(words) > 0:
        for u in range(len(indptr) - 1):
            for slot in range(indptr[u], indptr[u + 1]):
                words[topics[slot] // WORD, u] |= bit_of(topics[slot])


@kernel
def bit_of(topic):
    """Return the bit that stands for a topic in its word."""
    return np.uint64(1) << np.uint64(topic % WORD)


@kernel
def add_common(counts, mask, words):
    """Add to each count the bits that its word has in common with a mask."""
    for i in range(len(words)):
        counts[i] += bit_count(mask & words[i])


def bit_count(word: Any) -> int:
    """Return how many bits of a word are set; compiled, by the processor's own instruction."""
    return int(word).bit_count()


@overload(bit_count)
def _compiled(word):  # noqa: ARG001
    return lambda word: _instruction(word)


@intrinsic
def _instruction(_typing: Any, _word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.uint64(types.uint64), generate
