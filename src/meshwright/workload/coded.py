"""Rows as codes of their names: the short way from records to subscriptions, in two jobs.

Tasks encode their rows a segment at a time: a file of the distinct names of a segment and, for each
row, their places among them. The driver merges the names of all segments and numbers them; tasks
then replace places by ids. So the sources are read once, and no row is joined or grouped by text.
It is the way for good names that fit this process; for all others `names.py` knows a longer one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.model.names import CONTROLS, LONGEST_NAME
from meshwright.runtime.arrays import Ints
from meshwright.runtime.tasks import Batches, mapped, numbers_in, ship
from meshwright.storage import Staging
from meshwright.storage.digest import pack
from meshwright.workload import tables
from meshwright.workload.names import Names, in_order, nfc, refuse_too_many

SEGMENT_ROWS = 4_000_000
SEGMENT_BYTES = 1 << 28
MERGE_BYTES = 1 << 27  # of names that are merged at a time
MOST_BYTES = 1 << 28  # of distinct names: some five million
_MARKED = ("published", "rate", "bytes")


@dataclass(frozen=True, slots=True)
class CodedRows:
    """Rows on files, the names of their nodes and topics, and the files with the ids of names."""

    spark: SparkSession
    segments: Sequence[tuple[Path, Path]]  # the rows, and the ids of the names in them
    nodes: Names
    topics: Names
    marked: bool  # some rows are publications

    def write_subscriptions(
        self, stage: Staging, partitions: int, *, undirected: bool, drop_self_loops: bool
    ) -> tables.Written:
        """Write the subscriptions, each pair once and in order."""
        bounds = tables.first_keys(self.nodes.count, partitions)

        def runs(batches: Batches) -> Batches:
            for number in numbers_in(batches):
                rows, nodes, topics = _ids_of(*segments[number])
                if marked:
                    wanting = ~rows.column("published").to_numpy(zero_copy_only=False)
                    nodes, topics = nodes[wanting], topics[wanting]
                keys = pack(nodes, topics)
                if undirected:
                    keys = np.concatenate((keys, pack(topics, nodes)))
                keys.sort()
                cuts = [*np.searchsorted(keys, bounds).tolist(), len(keys)]
                parts = [keys[cuts[i] : cuts[i + 1]].tobytes() for i in range(len(bounds))]
                yield pa.RecordBatch.from_pydict(
                    {"part": np.arange(len(parts), dtype=np.int32), "keys": parts}
                )

        segments, marked = self.segments, self.marked
        frame = self._segments().mapInArrow(runs, tables.RUNS)
        return tables.write_runs(frame, len(bounds), stage, drop_self_loops=drop_self_loops)

    def publications(self) -> DataFrame:
        """Return the rows of the publications."""

        def published(batches: Batches) -> Batches:
            for number in numbers_in(batches):
                rows, nodes, topics = _ids_of(*segments[number])
                columns = [nodes, topics, rows.column("rate"), rows.column("bytes")]
                batch = pa.RecordBatch.from_arrays(
                    [pa.array(column) for column in columns], list(tables.PUBLICATIONS)
                )
                yield batch.filter(rows.column("published"))

        segments = self.segments
        return self._segments().mapInArrow(published, tables.PUBLISHED)

    def _segments(self) -> DataFrame:
        n = len(self.segments)
        return self.spark.range(0, n, 1, max(1, n))


def code_rows(
    rows: DataFrame, directory: Path, *, marked: bool, users: bool, nodes: Sequence[str] = ()
) -> CodedRows | None:
    """Return rows of (node, topic) with ids for their names, or None if there is a longer way only.

    The rows have the columns of publications, if `marked`. `users` are nodes and topics; `nodes`
    are further names of nodes.
    """

    def encode(batches: Batches) -> Batches:
        directory.mkdir(parents=True, exist_ok=True)
        cut = _cut(batches, most_rows)
        paths = [_write_segment(table, directory, i) for i, table in enumerate(cut)]
        yield pa.RecordBatch.from_pydict({"path": pa.array(paths, pa.string())})

    most_rows = SEGMENT_ROWS
    columns = [F.col(name).cast("binary") for name in ("node", "topic")]
    plain = rows.select(*columns, *(_MARKED if marked else ()))
    paths = [row[0] for row in plain.mapInArrow(encode, "path string").collect()]
    if not all(paths):
        return None
    read = [_read_segment(Path(path)) for path in paths]
    found = {name: [t.column(name).dictionary for t in read] for name in ("node", "topic")}
    further = [pa.array([name.encode() for name in nodes], pa.binary())] if nodes else []
    if users:
        both = _numbered([*found["node"], *found["topic"]], "node")
        if both is None:
            return None
        node_names = topic_names = both[0]
        node_ids, topic_ids = both[1][: len(paths)], both[1][len(paths) :]
    else:
        node = _numbered([*found["node"], *further], "node")
        topic = _numbered(found["topic"], "topic") if node else None
        if node is None or topic is None:
            return None
        (node_names, node_ids), (topic_names, topic_ids) = node, topic
    segments = []
    for i, path in enumerate(map(Path, paths)):
        ids = path.with_suffix(".ids")
        ship(ids, (node_ids[i], topic_ids[i]))
        segments.append((path, ids))
    return CodedRows(rows.sparkSession, segments, node_names, topic_names, marked)


def _cut(batches: Batches, most_rows: int) -> Iterator[pa.Table]:
    """Yield the rows of a task, so many at a time that they are sure to fit."""
    some: list[pa.RecordBatch] = []
    for batch in batches:
        some.append(batch)
        n_rows, n_bytes = sum(map(len, some)), sum(part.nbytes for part in some)
        if n_rows >= most_rows or n_bytes >= SEGMENT_BYTES:
            yield pa.Table.from_batches(some)
            some = []
    if any(map(len, some)):
        yield pa.Table.from_batches(some)


def _write_segment(table: pa.Table, directory: Path, number: int) -> str | None:
    """Write rows with the places of their names; return the path, or None if a name is missing."""
    for at in (0, 1):
        if table.column(at).null_count:
            return None
        coded = table.column(at).dictionary_encode()
        table = table.set_column(at, table.column_names[at], coded)
    context = TaskContext.get()
    part, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
    path = directory / f"{part}-{attempt}-{number}.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return str(path)


def _read_segment(path: Path) -> pa.RecordBatch:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).get_batch(0)


def _ids_of(rows: Path, ids: Path) -> tuple[pa.RecordBatch, Ints, Ints]:
    """Return a segment, and the ids of the node and of the topic of each row."""
    segment, (node_ids, topic_ids) = _read_segment(rows), mapped(ids)
    nodes = node_ids[segment.column("node").indices.to_numpy()]
    return segment, nodes, topic_ids[segment.column("topic").indices.to_numpy()]


def _numbered(found: Sequence[pa.Array], what: str) -> tuple[Names, list[Ints]] | None:
    """Return the names in order, and the ids of each array; None if one is bad or they are many."""
    distinct, places = pa.array([], pa.binary()), list[Any]()
    for group in _groups(found):
        encoded = pa.concat_arrays([distinct, *group]).dictionary_encode()
        ends = np.cumsum([len(distinct), *map(len, group)])
        places += np.split(encoded.indices.to_numpy(), ends)[1:-1]
        distinct = encoded.dictionary
        if distinct.nbytes > MOST_BYTES:
            return None
    try:
        text = distinct.cast(pa.string())
    except pa.ArrowInvalid:  # not UTF-8
        return None
    wrong = pc.or_(
        pc.match_substring_regex(text, f"^$|{CONTROLS}"),
        pc.greater(pc.binary_length(text), LONGEST_NAME),
    )
    text = nfc(text)
    if pc.any(wrong).as_py() or (pc.max(pc.binary_length(text)).as_py() or 0) > LONGEST_NAME:
        return None
    names, ids = in_order(text)
    refuse_too_many(names.count, what)
    return names, [ids[some] for some in places]


def _groups(arrays: Iterable[pa.Array]) -> Iterator[list[pa.Array]]:
    """Yield arrays, some at a time that take little memory."""
    group: list[pa.Array] = []
    for array in arrays:
        group.append(array)
        if sum(one.nbytes for one in group) >= MERGE_BYTES:
            yield group
            group = []
    if group:
        yield group
