"""The tables of a workload: subscriptions from packed (node, topic) pairs, names, the manifest.

Ids are dense, so a pair's partition follows from its node without sampling: partitions are equal
ranges of whole digest blocks. A task sorts its packed pairs in one NumPy array (5 s faster than
Spark's own sort at 20 million rows), drops repeats, hashes the blocks, and reports its counts and
digests as a task result.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from meshwright.model.publications import Publications
from meshwright.runtime.arrays import Longs
from meshwright.runtime.paths import uri
from meshwright.runtime.tasks import Batches, read_task_results, write_task_result
from meshwright.storage import Manifest, Staging, read_parts, workload_digest, write_table
from meshwright.storage.digest import BLOCK, BLOCK_BITS, PairHasher, combine_reported, unpack
from meshwright.workload.names import Names, digest_of_names, write_names

PARTITION_ROWS = 4_000_000  # about 100 MB in the task that sorts them
BATCH_ROWS = 262_144
BLOCKS_AT_ONCE = 32  # 8,192 ids: a few MB of arrays

KEYS = "key long"  # node << 32 | topic
RUNS = "part int, keys binary"  # the sorted packed pairs of a part, 8 bytes each
SUBSCRIPTIONS = "node int, topic int"
PUBLICATIONS = ("node", "topic", "rate", "bytes")
PUBLISHED = "node int, topic int, rate double, bytes double"
_ARROW_PUBLISHED = pa.schema(
    [("node", pa.int32()), ("topic", pa.int32()), ("rate", pa.float64()), ("bytes", pa.float64())]
)
NOTHING_REJECTED = pa.table(
    dict.fromkeys(("source", "record", "reason"), pa.array([], pa.string()))
)


class Written(NamedTuple):
    """The counts and the digest of a subscriptions table."""

    n_subscriptions: int
    n_self_loops: int  # dropped
    n_duplicates: int  # dropped
    digest: str


def packed(node: str, topic: str) -> Column:
    """Return the packed form of two id columns."""
    return F.shiftleft(F.col(node).cast("long"), 32).bitwiseOR(F.col(topic).cast("long"))


def id_ranges(batches: Batches, n: int) -> Iterator[tuple[int, int]]:
    """Yield the ids, from first up to end, of a task's digest blocks, some blocks at a time."""
    for batch in batches:
        blocks = batch.column(0).to_numpy()  # consecutive, as spark.range makes them
        for start in range(0, len(blocks), BLOCKS_AT_ONCE):
            some = blocks[start : start + BLOCKS_AT_ONCE]
            yield int(some[0]) * BLOCK, min(n, (int(some[-1]) + 1) * BLOCK)


def write_distinct(
    keys: DataFrame, n_nodes: int, partitions: int, stage: Staging, *, drop_self_loops: bool = False
) -> Written:
    """Write KEYS as the subscriptions, each pair once and in order."""
    part, partitions = _ranges(F.shiftright("key", 32 + BLOCK_BITS), n_nodes, partitions)

    def distinct(batches: Batches, results: Path) -> Batches:
        arrays = [batch.column(0).to_numpy() for batch in batches]
        yield from _distinct_rows(arrays, results, drop_self_loops=drop_self_loops)

    return write_subscriptions(keys.repartitionById(partitions, part), distinct, stage)


def write_runs(
    runs: DataFrame, partitions: int, stage: Staging, *, drop_self_loops: bool
) -> Written:
    """Write RUNS, whose parts are those of `first_keys`: Spark moves a run as it is, as one row."""

    def distinct(batches: Batches, results: Path) -> Batches:
        found = [run.as_buffer() for batch in batches for run in batch.column("keys")]
        arrays = [np.frombuffer(run, dtype=np.int64) for run in found]
        yield from _distinct_rows(arrays, results, drop_self_loops=drop_self_loops)

    return write_subscriptions(runs.repartitionById(partitions, "part"), distinct, stage)


def first_keys(n_nodes: int, partitions: int) -> Longs:
    """Return the least packed pair of each part: ranges of whole digest blocks."""
    n_blocks = max(1, -(-n_nodes // BLOCK))
    partitions = max(1, min(partitions, n_blocks))
    blocks = np.arange(partitions, dtype=np.int64) * n_blocks // partitions
    return blocks << (32 + BLOCK_BITS)


def _distinct_rows(arrays: list[Longs], results: Path, *, drop_self_loops: bool) -> Batches:
    """Yield the rows of packed pairs, each once and in order; the arrays are given up."""
    keys = np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64)
    arrays.clear()
    n_read = len(keys)
    if drop_self_loops:
        keys = keys[(keys >> 32) != (keys & 0xFFFFFFFF)]
    n_left = len(keys)
    keys.sort()
    keep = np.ones(n_left, dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=keep[1:])
    keys = keys[keep]
    some = (keys[start : start + BATCH_ROWS] for start in range(0, len(keys), BATCH_ROWS))
    yield from pair_rows(some, results, n_read - n_left, n_left - len(keys))


def _ranges(block: Column, n_nodes: int, partitions: int) -> tuple[Column, int]:
    """Return the partition of a digest block, and how many there are: ranges of whole blocks."""
    n_blocks = max(1, -(-n_nodes // BLOCK))
    partitions = max(1, min(partitions, n_blocks))
    return F.floor(block * partitions / n_blocks).cast("int"), partitions


def write_publications(
    rows: DataFrame, n_nodes: int, partitions: int, stage: Staging
) -> tuple[int, int]:
    """Write PUBLICATIONS, the rows of each pair as one; return the numbers read and written."""
    results = stage.scratch("publication-results")
    part, partitions = _ranges(F.shiftright("node", BLOCK_BITS), n_nodes, partitions)

    def merge(batches: Batches) -> Batches:
        read = pa.Table.from_batches(batches, _ARROW_PUBLISHED)
        merged = Publications.merged(*(column.to_numpy() for column in read.columns))
        write_task_result(results, {"counts": [len(read), len(merged)]})
        yield from merged.as_table().to_batches(BATCH_ROWS)

    merged = rows.repartitionById(partitions, part).mapInArrow(merge, PUBLISHED)
    merged.write.parquet(uri(stage.table("publications")))
    counts = [result["counts"] for result in read_task_results(results)]
    return sum(n for n, _ in counts), sum(n for _, n in counts)


def pair_rows(
    pairs: Iterable[Longs], results: Path, n_self_loops: int = 0, n_duplicates: int = 0
) -> Batches:
    """Yield sorted, distinct packed pairs as SUBSCRIPTIONS; report their digests and the counts."""
    hasher, blocks, n_written = PairHasher(), list[tuple[int, bytes]](), 0
    for keys in pairs:
        n_written += len(keys)
        blocks += hasher.update(keys)
        node, topic = unpack(keys)
        yield pa.RecordBatch.from_pydict({"node": node, "topic": topic})
    counts = [n_written, n_self_loops, n_duplicates]
    write_task_result(results, {"counts": counts, "blocks": [*blocks, *hasher.finish()]})


def write_subscriptions(
    source: DataFrame, task: Callable[[Batches, Path], Batches], stage: Staging
) -> Written:
    """Write the `pair_rows` that a task makes of the source; it reports to the path it is given."""
    results = stage.scratch("task-results")
    rows = source.mapInArrow(lambda batches: task(batches, results), SUBSCRIPTIONS)
    rows.write.parquet(uri(stage.table("subscriptions")))
    reported = read_task_results(results)
    counts = np.array([result["counts"] for result in reported], np.int64).reshape(-1, 3)
    n_subscriptions, n_self_loops, n_duplicates = counts.sum(axis=0).tolist()
    digest = combine_reported(reported, "blocks")
    return Written(n_subscriptions, n_self_loops, n_duplicates, digest)


def publish_workload(
    stage: Staging,
    written: Written,
    nodes: Names,
    topics: Names,
    partitions: int,
    facts: Mapping[str, Any],
) -> Manifest:
    """Write the names, an empty `rejected` unless there is one, and publish the workload.

    `facts` adds to the manifest and replaces the counts of `written`.
    """
    for column, names in (("node", nodes), ("topic", topics)):
        write_names(names, stage.table(f"{column}s"), column)
    if not stage.table("rejected").exists():
        write_table(stage.table("rejected"), NOTHING_REJECTED)
    publications = Publications.none()
    if stage.table("publications").exists():
        publications = Publications.of_table(read_parts(stage.table("publications")))
    node_names = digest_of_names(nodes, partitions)
    topic_names = node_names if topics is nodes else digest_of_names(topics, partitions)
    counts = (nodes.count, topics.count, written.n_subscriptions)
    digest = workload_digest(*counts, node_names, topic_names, written.digest)
    return stage.publish(
        {
            "n_nodes": nodes.count,
            "n_topics": topics.count,
            "n_subscriptions": written.n_subscriptions,
            "n_publications": len(publications),
            "n_rejected": 0,
            "n_duplicates": written.n_duplicates,
            "n_self_loops": written.n_self_loops,
            **facts,
            "digest": publications.digest_with(digest),
            # Equal digests of names mean that nodes and topics are the same users.
            "node_names_digest": node_names,
            "topic_names_digest": topic_names,
        }
    )
