"""Sources -> workload: read, check, number, make distinct, write.

The steps: records (`records.py`), names with ids (`names.py`), subscriptions (`tables.py`). Rows
that cannot be used go to the table `rejected` with source, record and reason; if they are more than
a given share, the run stops and nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.errors import InputError
from meshwright.runtime.paths import path_of, read_parquet, uri
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.storage import Manifest, Staging, refuse_overwrite, staging
from meshwright.workload.files import Source, find_sources, reading
from meshwright.workload.names import NameIds, name_key, number_names
from meshwright.workload.records import RECORDS, Reading, read_records
from meshwright.workload.tables import (
    PARTITION_ROWS,
    Written,
    distinct_pairs,
    packed,
    publish_workload,
    write_subscriptions,
)

N_STEPS = 5
MAX_REJECTED = 0.01
SHOWN_REJECTED = 10


def ingest(
    spark: SparkSession,
    sources: Sequence[str],
    out: str | Path,
    *,
    format: str | None = None,
    node: str | None = None,
    topic: str | None = None,
    header: bool = True,
    directed: bool | None = None,
    max_rejected: float = MAX_REJECTED,
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Read subscriptions from files and write them as a workload.

    Parameters
    ----------
    sources
        Files, globs, or directories of Parquet parts.
    format
        One of ``csv tsv jsonl parquet edges mosquitto-log``; guessed from the file name if None.
    node, topic
        The columns; for a Mosquitto log `node` is the broker's name.
    directed
        For edges: True, ``a b`` means a wants b; False, friends want each other.
    max_rejected
        The largest share of rows that may be wrong.

    Raises
    ------
    InputError
        Names everything wrong with the sources, or the first ten rejected rows.

    """
    if not 0 <= max_rejected <= 1:
        raise InputError(f"max_rejected is {max_rejected}; give a share between 0 and 1.")
    target = Path(out)
    refuse_overwrite(target.absolute(), force=force)
    files, kind = find_sources(sources, format)
    _check_options(kind, directed, node, topic)
    parameters = {
        "format": kind,
        "node": node,
        "topic": topic,
        "directed": directed,
        "max_rejected": max_rejected,
    }
    facts = {"source": [source.shown for source in files], "parameters": parameters}
    with staging(target, "workload", force=force) as stage, reading(files):
        run = _Run(spark, stage, files, kind, progress or no_progress(), max_rejected)
        run.read(Reading(node, topic, header))
        nodes, topics = run.number()
        written = run.join(nodes, topics, undirected=directed is False)
        run.reject(written)
        node_names = nodes.names(spark)
        return publish_workload(
            spark,
            stage,
            written,
            node_names,
            node_names if topics is nodes else topics.names(spark),
            partitions=run.partitions,
            facts={"n_rejected": run.n_rejected, "n_self_loops": run.n_self_loops, **facts},
        )


@dataclass
class _Run:
    """One ingest under way: the state that its steps share."""

    spark: SparkSession
    stage: Staging
    files: Sequence[Source]
    kind: str
    progress: Progress
    max_rejected: float
    n_malformed: int = 0
    n_rejected: int = 0
    n_self_loops: int = 0

    def __post_init__(self) -> None:
        self.partitions = parallelism(self.spark)

    def read(self, how: Reading) -> None:
        """Parse the sources once. Parquet is read in place: it needs no parsing."""
        with self.progress.step("reading"):
            self.records = read_records(self.spark, self.files, self.kind, how)
            if self.kind == "parquet":
                self.n_records = self.records.count()
                return
            place = self.stage.scratch("records")
            self.records.write.parquet(uri(place))
            self.records = read_parquet(self.spark, place, schema=RECORDS)
            counts = self.records.agg(F.count(F.lit(1)), F.count("reason")).collect()
            self.n_records, self.n_malformed = counts[0]
        self._stop_when_too_many(self.n_malformed, self._malformed())

    def number(self) -> tuple[NameIds, NameIds]:
        """Give ids to nodes and topics; in edge lists every user is both."""
        with self.progress.step("numbering the nodes"):
            nodes = self._number("node")
        with self.progress.step("numbering the topics"):
            topics = nodes if self.kind == "edges" else self._number("topic")
            self.first_numbering = nodes, topics
            if nodes.n_problems or topics.n_problems:
                # A row with a bad name is rejected as a whole: its other name must not stay.
                nodes = self._number("node", again=True)
                topics = nodes if self.kind == "edges" else self._number("topic", again=True)
        return nodes, topics

    def join(self, nodes: NameIds, topics: NameIds, *, undirected: bool) -> Written:
        """Turn names into ids and write the distinct subscriptions."""
        pairs = (
            _keyed(self._usable(), nodes, topics)
            .join(nodes.ids(self.spark).toDF("node_key", "node_id"), "node_key")
            .join(topics.ids(self.spark).toDF("topic_key", "topic_id"), "topic_key")
            .select("node_id", "topic_id")
        )
        copies = 1
        if undirected:
            pairs = pairs.union(pairs.select("topic_id", "node_id"))
            copies = 2
        with self.progress.step("making the subscriptions distinct"):
            keys = pairs.select(packed("node_id", "topic_id").alias("key"))
            partitions = max(self.partitions, self.n_records * copies // PARTITION_ROWS)
            results = self.stage.scratch("task-results")
            rows = distinct_pairs(
                keys, nodes.count, partitions, results, drop_self_loops=self.kind == "edges"
            )
            written = write_subscriptions(rows, results, self.stage)
        self.n_rejected = self.n_records - written.n_read // copies
        self.n_self_loops = written.n_self_loops // copies
        return written

    def reject(self, written: Written) -> None:
        """Write the rejected rows; raise InputError if they are too many."""
        with self.progress.step("listing what is rejected"):
            rejected = self._malformed()
            if self.n_rejected > self.n_malformed:
                rejected = rejected.unionByName(self._badly_named())
            self._stop_when_too_many(self.n_rejected, rejected)
            if written.n_subscriptions == 0:
                raise InputError(self._nothing_found())
            rejected.coalesce(1).write.parquet(uri(self.stage.table("rejected")))

    def _number(self, what: str, *, again: bool = False) -> NameIds:
        rows = self._usable() if again else self._parsed()
        raw = rows.select(F.col(what).alias("name"))
        if self.kind == "edges":
            raw = raw.union(rows.select(F.col("topic").alias("name")))
        directory = self.stage.scratch(f"{what}-names{'-again' if again else ''}")
        return number_names(self.spark, raw, directory, what=what, partitions=self.partitions)

    def _parsed(self) -> DataFrame:
        return self.records if self.kind == "parquet" else self.records.where("reason is null")

    def _usable(self) -> DataFrame:
        """Return the rows of which both names can be used."""
        if not any(names.n_problems for names in self.first_numbering):
            return self._parsed()
        return self._judged().where("node_problem is null and topic_problem is null")

    def _malformed(self) -> DataFrame:
        wrong = self.records.where("reason is not null")
        return wrong.select(path_of(F.col("source")).alias("source"), "record", "reason")

    def _judged(self) -> DataFrame:
        """Return the rows with the problem of each name, or null."""
        rows = _keyed(self._parsed(), *self.first_numbering)
        for what, names in zip(("node", "topic"), self.first_numbering, strict=True):
            problems = names.problems(self.spark).toDF(f"{what}_key", f"{what}_problem")
            rows = rows.join(problems, f"{what}_key", "left")
        return rows.drop("node_key", "topic_key")

    def _badly_named(self) -> DataFrame:
        """Return the rows whose names cannot be used, with the reason."""
        reason = F.concat_ws(
            "; ",
            F.concat(F.lit("node "), F.col("node_problem")),
            F.concat(F.lit("topic "), F.col("topic_problem")),
        )
        names = F.struct(
            F.make_valid_utf8("node").alias("node"), F.make_valid_utf8("topic").alias("topic")
        )
        record = F.to_json(names, {"ignoreNullFields": "false"})
        wrong = self._judged().where("node_problem is not null or topic_problem is not null")
        source = path_of(F.col("source"))
        return wrong.select(source.alias("source"), record.alias("record"), reason.alias("reason"))

    def _stop_when_too_many(self, n_rejected: int, rejected: DataFrame) -> None:
        if n_rejected <= self.max_rejected * self.n_records:
            return
        first = rejected.limit(SHOWN_REJECTED).collect()
        shown = [f"  {row['source']}: {row['reason']}: {_brief(row['record'])}" for row in first]
        raise InputError(
            f"{n_rejected:,} of {self.n_records:,} rows are wrong, more than --max-rejected "
            f"{self.max_rejected:g} allows; nothing was written. "
            + ("The first ten:\n" if n_rejected > len(first) else "They are:\n")
            + "\n".join(shown)
            + "\nFix them, or raise --max-rejected to skip them."
        )

    def _nothing_found(self) -> str:
        where = ", ".join(f"'{source.shown}'" for source in self.files[:3])
        if self.kind == "mosquitto-log":
            return (
                f"{where} holds no subscribe line. Set `log_type subscribe` in mosquitto.conf, "
                "let the clients reconnect, and ingest the log again."
            )
        return f"{where} holds no subscription. Check the file, or the --format ({self.kind})."


def _keyed(rows: DataFrame, nodes: NameIds, topics: NameIds) -> DataFrame:
    """Return rows with the keys of their names."""
    node, topic = name_key("node", nodes.salt), name_key("topic", topics.salt)
    return rows.select("*", node.alias("node_key"), topic.alias("topic_key"))


def _check_options(kind: str, directed: bool | None, node: str | None, topic: str | None) -> None:
    if kind == "edges" and directed is None:
        raise InputError(
            "an edge list needs --directed (`a b`: a subscribes to b) or --undirected "
            "(a and b subscribe to each other)."
        )
    if kind != "edges" and directed is not None:
        raise InputError(f"--directed and --undirected belong to edge lists, not to {kind}.")
    if kind == "edges" and (node or topic):
        raise InputError("an edge list has no columns to name; leave out --node and --topic.")
    if kind == "mosquitto-log" and topic:
        raise InputError("a Mosquitto log has no topic column; leave out --topic.")


def _brief(record: str | None) -> str:
    text = record or ""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
