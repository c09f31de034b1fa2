"""Sources -> workload: read, check, number, make distinct, write.

The stages in order: records (`records.py`), names with ids (`name_ids.py`), subscriptions
(`pairs.py`). What is wrong goes to the table `rejected` with source, record and reason; only
when that is more than a given share does the run stop, and then nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.datasets import Manifest, Staging, refuse_overwrite, staging
from meshwright.errors import InputError
from meshwright.spark.paths import path_of, read_parquet, uri
from meshwright.spark.progress import Progress, no_progress
from meshwright.spark.schemas import RECORDS
from meshwright.spark.session import parallelism
from meshwright.workload.files import Source, find_sources, reading
from meshwright.workload.name_ids import NameIds, name_key, number_names
from meshwright.workload.pairs import (
    PARTITION_ROWS,
    distinct_pairs,
    notes_of,
    packed,
    write_subscriptions,
)
from meshwright.workload.records import Reading, read_records
from meshwright.workload.write import write_names, write_workload

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
    """Read who wants what, and write it as a workload.

    Parameters
    ----------
    sources
        Files, globs, or directories of Parquet parts.
    format
        One of ``csv tsv jsonl parquet edges mosquitto-log``; told from the file name if None.
    node, topic
        The columns; for a Mosquitto log `node` is the broker's name.
    directed
        For edges: True, ``a b`` means a wants b; False, friends want each other.
    max_rejected
        The largest share of rows that may be wrong.

    Raises
    ------
    InputError
        With every complaint about the sources, or the first ten rejected rows.

    """
    if not 0 <= max_rejected <= 1:
        raise InputError(f"max_rejected is {max_rejected}; give a share between 0 and 1.")
    target = Path(out)
    refuse_overwrite(target.absolute(), force=force)
    files, kind = find_sources(sources, format)
    _check_options(kind, directed, node, topic)
    progress = progress or no_progress()
    with staging(target, "workload", force=force) as stage, reading(files):
        run = _Run(spark, stage, files, kind, progress, max_rejected)
        run.read(Reading(node, topic, header))
        names = run.number(shared=kind == "edges")
        run.join(names, undirected=directed is False)
        run.reject()
        return run.finish(
            names,
            {
                "source": [source.shown for source in files],
                "parameters": {
                    "format": kind,
                    "node": node,
                    "topic": topic,
                    "directed": directed,
                    "max_rejected": max_rejected,
                },
            },
        )


class _Run:
    """One ingest under way: what the steps hand on to each other."""

    def __init__(
        self,
        spark: SparkSession,
        stage: Staging,
        files: Sequence[Source],
        kind: str,
        progress: Progress,
        max_rejected: float,
    ) -> None:
        self._spark = spark
        self._stage = stage
        self._files = files
        self._kind = kind
        self._progress = progress
        self._max_rejected = max_rejected
        self._partitions = parallelism(spark)
        self._n_records = self._n_malformed = 0
        self._n_rejected = self._n_self_loops = 0

    def read(self, how: Reading) -> None:
        """Parse the sources once. Parquet is read in place: it needs no parsing."""
        with self._progress.step("reading"):
            self._records = read_records(self._spark, self._files, self._kind, how)
            if self._kind == "parquet":
                self._n_records = self._records.count()
                return
            place = self._stage.scratch("records")
            self._records.write.parquet(uri(place))
            self._records = read_parquet(self._spark, place, schema=RECORDS)
            counts = self._records.agg(F.count(F.lit(1)), F.count("reason")).collect()
            self._n_records, self._n_malformed = counts[0]
        self._stop_when_too_many(self._n_malformed, self._n_records, self._malformed())

    def number(self, *, shared: bool) -> tuple[NameIds, NameIds]:
        """Give ids to nodes and topics; in edge lists every user is both."""
        with self._progress.step("numbering the nodes"):
            nodes = self._number("node", shared=shared)
        with self._progress.step("numbering the topics"):
            topics = nodes if shared else self._number("topic")
            self._first_numbering = nodes, topics
            if nodes.n_problems or topics.n_problems:
                # A row with a bad name is rejected whole: its other name must not stay.
                nodes = self._number("node", shared=shared, again=True)
                topics = nodes if shared else self._number("topic", again=True)
        return nodes, topics

    def join(self, names: tuple[NameIds, NameIds], *, undirected: bool) -> None:
        """Turn names to ids, and ids to distinct subscriptions."""
        nodes, topics = names
        keyed = self._usable().select(
            name_key("node", nodes.salt).alias("node_key"),
            name_key("topic", topics.salt).alias("topic_key"),
        )
        pairs = (
            keyed.join(nodes.ids(self._spark).toDF("node_key", "node"), "node_key")
            .join(topics.ids(self._spark).toDF("topic_key", "topic"), "topic_key")
            .select("node", "topic")
        )
        copies = 1
        if undirected:
            pairs = pairs.select("node", "topic").union(pairs.select("topic", "node"))
            copies = 2
        with self._progress.step("making the subscriptions distinct"):
            keys = pairs.select(packed().alias("key"))
            partitions = max(self._partitions, self._n_records * copies // PARTITION_ROWS)
            notes = notes_of(self._stage)
            rows = distinct_pairs(
                keys, nodes.count, partitions, notes, drop_self_loops=self._kind == "edges"
            )
            self._written = write_subscriptions(rows, notes, self._stage)
        self._n_rejected = self._n_records - self._written.n_read // copies
        self._n_self_loops = self._written.n_self_loops // copies

    def reject(self) -> None:
        """Write the rows that were wrong, or stop when they are too many."""
        with self._progress.step("listing what is rejected"):
            rejected = self._malformed()
            if self._n_rejected > self._n_malformed:
                rejected = rejected.unionByName(self._badly_named())
            self._stop_when_too_many(self._n_rejected, self._n_records, rejected)
            if self._written.n_subscriptions == 0:
                raise InputError(self._nothing_found())
            rejected.coalesce(1).write.parquet(uri(self._stage.table("rejected")))

    def finish(self, names: tuple[NameIds, NameIds], facts: dict[str, Any]) -> Manifest:
        """Write the names and the manifest."""
        written = self._written
        digests = write_names(self._spark, self._stage, *names, partitions=self._partitions)
        return write_workload(
            self._stage,
            n_nodes=names[0].count,
            n_topics=names[1].count,
            n_subscriptions=written.n_subscriptions,
            digests=(*digests, written.digest),
            facts={
                "n_rejected": self._n_rejected,
                "n_duplicates": written.n_read - written.n_self_loops - written.n_subscriptions,
                "n_self_loops": self._n_self_loops,
                **facts,
            },
        )

    def _number(self, what: str, *, shared: bool = False, again: bool = False) -> NameIds:
        rows = self._usable() if again else self._parsed()
        raw = rows.select(F.col(what).alias("name"))
        if shared:
            raw = raw.union(rows.select(F.col("topic").alias("name")))
        directory = self._stage.scratch(f"{what}-names{'-again' if again else ''}")
        return number_names(self._spark, raw, directory, what=what, partitions=self._partitions)

    def _parsed(self) -> DataFrame:
        if self._kind == "parquet":
            return self._records
        return self._records.where("reason is null")

    def _usable(self) -> DataFrame:
        """Return the rows of which both names can be used."""
        if not any(names.n_problems for names in self._first_numbering):
            return self._parsed()
        return self._judged().where("node_problem is null and topic_problem is null")

    def _malformed(self) -> DataFrame:
        wrong = self._records.where("reason is not null")
        return wrong.select(path_of(F.col("source")).alias("source"), "record", "reason")

    def _judged(self) -> DataFrame:
        """Return the rows with what is wrong with each name, or null."""
        nodes, topics = self._first_numbering
        node_problems = nodes.problems(self._spark).toDF("node_key", "node_problem")
        topic_problems = topics.problems(self._spark).toDF("topic_key", "topic_problem")
        keyed = self._parsed().select(
            "*",
            name_key("node", nodes.salt).alias("node_key"),
            name_key("topic", topics.salt).alias("topic_key"),
        )
        return keyed.join(node_problems, "node_key", "left").join(
            topic_problems, "topic_key", "left"
        )

    def _badly_named(self) -> DataFrame:
        """Return the rows whose names cannot be used, with the name that is wrong."""
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

    def _stop_when_too_many(self, n_rejected: int, n_records: int, rejected: DataFrame) -> None:
        if n_rejected <= self._max_rejected * n_records:
            return
        first = rejected.limit(SHOWN_REJECTED).collect()
        shown = [f"  {row['source']}: {row['reason']}: {_brief(row['record'])}" for row in first]
        more = n_rejected - len(first)
        raise InputError(
            f"{n_rejected:,} of {n_records:,} rows are wrong, more than --max-rejected "
            f"{self._max_rejected:g} allows; nothing was written. "
            + ("The first ten:\n" if more > 0 else "They are:\n")
            + "\n".join(shown)
            + "\nMend them, or raise --max-rejected to leave them out and go on."
        )

    def _nothing_found(self) -> str:
        where = ", ".join(f"'{source.shown}'" for source in self._files[:3])
        if self._kind == "mosquitto-log":
            return (
                f"{where} holds no subscribe line. Set `log_type subscribe` in mosquitto.conf, "
                "let the clients reconnect, and ingest the log again."
            )
        return f"{where} holds no subscription. Check the file, or the --format ({self._kind})."


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
