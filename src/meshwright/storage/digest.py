"""The digest of a workload: one SHA-256 that depends on its content alone.

Content is hashed in blocks of consecutive ids, so that Spark tasks can hash their share and the
driver only puts the blocks' digests in order:

- a block of names: the lengths of their UTF-8 forms in id order (8 bytes each), then the bytes;
- a block of subscriptions: for each pair in order, ``node << 32 | topic`` (8 bytes);
- the whole: the three counts, then for nodes, topics and subscriptions the SHA-256 over
  (block, digest) of each block that is not empty;
- with publications: this digest, then of all publications in order the pairs, the rates and the
  bytes (8 bytes each, rates and bytes as doubles, unknown ones as one NaN). A workload without
  publications has the digest that it had before there were any.

All integers are little-endian. Any partitioning whose parts hold whole blocks gives the same
digest, and so does `meshwright.Instance`, which hashes its arrays in one go.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from meshwright.runtime.arrays import Floats, Ints, Longs

BLOCK_BITS = 8  # 256 ids: small enough to spread 10,000 nodes over a cluster, 32 bytes each
BLOCK = 1 << BLOCK_BITS
_FORMAT = b"meshwright workload 1\n"
_WITH_PUBLICATIONS = b"meshwright workload 2\n"


def pack(nodes: Ints, topics: Ints) -> Longs:
    """Return the pairs as one sortable integer each: ``node << 32 | topic``."""
    return (nodes.astype(np.int64) << 32) | topics.astype(np.int64)


def unpack(pairs: Longs) -> tuple[Ints, Ints]:
    """Return the nodes and topics of packed pairs."""
    return (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)


class PairHasher:
    """Hash a stream of packed, sorted pairs block by block; a block must not be split."""

    def __init__(self) -> None:
        self._block = -1
        self._hash = hashlib.sha256()

    def update(self, pairs: Longs) -> Iterator[tuple[int, bytes]]:
        """Take the next pairs in order and yield the blocks they complete."""
        if len(pairs) == 0:
            return
        blocks = pairs >> (32 + BLOCK_BITS)
        starts = np.concatenate(([0], np.flatnonzero(np.diff(blocks)) + 1, [len(pairs)]))
        for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            block = int(blocks[start])
            if block != self._block:
                yield from self.finish()
                self._block, self._hash = block, hashlib.sha256()
            self._hash.update(pairs[start:end].astype("<i8", copy=False).tobytes())

    def finish(self) -> Iterator[tuple[int, bytes]]:
        """Yield the last block, if there was one."""
        if self._block >= 0:
            yield self._block, self._hash.digest()
            self._block = -1


def name_blocks(ids: Ints, names: pa.Array) -> Iterator[tuple[int, bytes]]:
    """Yield the digest of each block of sorted ids and their names; a block must not be split."""
    if len(ids) == 0:
        return
    blocks = ids >> BLOCK_BITS
    starts = np.concatenate(([0], np.flatnonzero(np.diff(blocks)) + 1, [len(ids)])).tolist()
    large = names.cast(pa.large_binary())
    offsets = np.frombuffer(large.buffers()[1], dtype="<i8")[large.offset :][: len(ids) + 1]
    lengths = np.diff(offsets)
    data = memoryview(large.buffers()[2] or b"")
    for start, end in itertools.pairwise(starts):
        block = hashlib.sha256(lengths[start:end].tobytes())
        block.update(data[offsets[start] : offsets[end]])
        yield int(blocks[start]), block.digest()


def combine(blocks: Iterable[tuple[int, bytes]]) -> str:
    """Return the digest of a table from the digests of its blocks, given in any order."""
    whole = hashlib.sha256()
    for block, digest in sorted(blocks):
        whole.update(block.to_bytes(8, "little") + digest)
    return whole.hexdigest()


def combine_reported(results: Iterable[Mapping[str, Any]], key: str) -> str:
    """Return the digest of a table from task results that list (block, digest in hex) at `key`."""
    return combine(
        (block, bytes.fromhex(digest)) for result in results for block, digest in result[key]
    )


def names_digest(names: pa.Array) -> str:
    """Return the digest of names given in id order."""
    return combine(name_blocks(np.arange(len(names), dtype=np.int32), names))


def pairs_digest(pairs: Longs) -> str:
    """Return the digest of all packed pairs, sorted."""
    hasher = PairHasher()
    return combine([*hasher.update(pairs), *hasher.finish()])


def workload_digest(
    n_nodes: int, n_topics: int, n_subscriptions: int, nodes: str, topics: str, subscriptions: str
) -> str:
    """Return the digest of a workload from its counts and the digests of its three tables."""
    whole = hashlib.sha256(_FORMAT)
    for count in (n_nodes, n_topics, n_subscriptions):
        whole.update(count.to_bytes(8, "little"))
    for digest in (nodes, topics, subscriptions):
        whole.update(bytes.fromhex(digest))
    return whole.hexdigest()


def with_publications(digest: str, pairs: Longs, rates: Floats, sizes: Floats) -> str:
    """Return the digest of a workload with publications from the one without; pairs are sorted."""
    if len(pairs) == 0:
        return digest
    whole = hashlib.sha256(_WITH_PUBLICATIONS + bytes.fromhex(digest))
    whole.update(len(pairs).to_bytes(8, "little"))
    whole.update(pairs.astype("<i8", copy=False).tobytes())
    for values in (rates, sizes):
        known = np.where(np.isnan(values), np.nan, values)  # one form of NaN
        whole.update(known.astype("<f8").tobytes())
    return whole.hexdigest()
