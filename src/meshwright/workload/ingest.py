"""Sources -> workload: read, check, number, make distinct, write.

The steps: records (`records.py`), names with ids (`names.py`), subscriptions (`tables.py`). Rows
that cannot be used go to the table `rejected` with source, record and reason; if they are more than
a given share, the run stops and nothing is written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.errors import InputError
from meshwright.runtime.paths import read_parquet, uri
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.storage import Manifest, Staging, refuse_overwrite, staging
from meshwright.workload.files import (
    MAX_LINE,
    Source,
    find_sources,
    link_hidden,
    reading,
    refuse_long_lines,
)
from meshwright.workload.names import NameIds, name_key, number_names
from meshwright.workload.records import RECORDS, Reading, read_records, source_path
from meshwright.workload.tables import (
    PARTITION_ROWS,
    Written,
    packed,
    publish_workload,
    write_distinct,
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
    max_line: int = MAX_LINE,
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Read subscriptions from files and write them as a workload.

    `sources` are files, globs, or directories of Parquet parts; `format` is one of `FORMATS`,
    guessed from the file name if None. `node` and `topic` are the columns; for a Mosquitto log
    `node` is the broker's name. Edges need `directed`: True if ``a b`` means that a wants b, False
    if friends want each other. `max_rejected` is the largest share of rows that may be wrong.
    InputError names everything wrong with the sources, or the first ten rejected rows.
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
    with staging(target, "workload", force=force) as stage, reading(files):
        files = link_hidden(files, stage.scratch("sources"))
        run = _Run(spark, stage, files, kind, progress or no_progress(), max_rejected, max_line)
        run.read(Reading(node, topic, header))
        nodes, topics = run.number()
        written = run.join(nodes, topics, undirected=directed is False)
        run.reject(written)
        facts = {
            "n_read": run.n_records,
            "n_rejected": run.n_rejected,
            "n_self_loops": run.n_self_loops,
            "source": [source.shown for source in files],
            "sources_without_records": run.without_records,
            "parameters": parameters,
        }
        node_names = nodes.names()
        topic_names = node_names if topics is nodes else topics.names()
        return publish_workload(stage, written, node_names, topic_names, run.partitions, facts)


@dataclass
class _Run:
    """One ingest under way: the state that its steps share."""

    spark: SparkSession
    stage: Staging
    files: Sequence[Source]
    kind: str
    progress: Progress
    max_rejected: float
    max_line: int

    def read(self, how: Reading) -> None:
        """Parse the sources once. Parquet is read in place: it needs no parsing."""
        self.partitions = parallelism(self.spark)
        with self.progress.step("reading"):
            refuse_long_lines(self.files, self.kind, self.max_line, self.progress)
            records = read_records(self.spark, self.files, self.kind, how)
            if self.kind != "parquet":
                place = self.stage.scratch("records")
                records.write.parquet(uri(place))
                records = read_parquet(self.spark, place, schema=RECORDS)
            by_source = records.groupBy(source_path(self.files))
            counts = by_source.agg(F.count(F.lit(1)), F.count("reason")).collect()
        self.n_records, n_malformed = sum(n for _, n, _ in counts), sum(n for _, _, n in counts)
        found = {path for path, _, _ in counts}
        self.without_records = [source.shown for source in self.files if source.path not in found]
        self.usable = records.where("reason is null")
        self.rejected = self._rejected(records.where("reason is not null"), "record", "reason")
        self._stop_when_too_many(n_malformed)

    def number(self) -> tuple[NameIds, NameIds]:
        """Give ids to nodes and topics; in edge lists every user is both."""
        with self.progress.step("numbering the nodes"):
            nodes = self._number("node")
        with self.progress.step("numbering the topics"):
            topics = nodes if self.kind == "edges" else self._number("topic")
            if nodes.n_problems or topics.n_problems:
                # A row with a bad name is rejected as a whole: its other name must not stay.
                self._reject_badly_named(nodes, topics)
                nodes = self._number("node", "-again")
                topics = nodes if self.kind == "edges" else self._number("topic", "-again")
        return nodes, topics

    def join(self, nodes: NameIds, topics: NameIds, *, undirected: bool) -> Written:
        """Turn names into ids and write the distinct subscriptions."""
        pairs = (
            _keyed(self.usable, nodes, topics)
            .join(nodes.ids().toDF("node_key", "node_id"), "node_key")
            .join(topics.ids().toDF("topic_key", "topic_id"), "topic_key")
            .select("node_id", "topic_id")
        )
        copies = 1
        if undirected:
            pairs = pairs.union(pairs.select("topic_id", "node_id"))
            copies = 2
        with self.progress.step("making the subscriptions distinct"):
            keys = pairs.select(packed("node_id", "topic_id").alias("key"))
            partitions = max(self.partitions, self.n_records * copies // PARTITION_ROWS)
            edges = self.kind == "edges"
            written = write_distinct(
                keys, nodes.count, partitions, self.stage, drop_self_loops=edges
            )
        n_joined = written.n_subscriptions + written.n_self_loops + written.n_duplicates
        self.n_rejected = self.n_records - n_joined // copies
        self.n_self_loops = written.n_self_loops // copies
        return written

    def reject(self, written: Written) -> None:
        """Write the rejected rows; raise InputError if they are too many."""
        with self.progress.step("listing what is rejected"):
            self._stop_when_too_many(self.n_rejected)
            if written.n_subscriptions == 0:
                raise InputError(self._nothing_found())
            self.rejected.coalesce(1).write.parquet(uri(self.stage.table("rejected")))

    def _number(self, what: str, again: str = "") -> NameIds:
        raw = self.usable.select(F.col(what).alias("name"))
        if self.kind == "edges":
            raw = raw.union(self.usable.select(F.col("topic").alias("name")))
        directory = self.stage.scratch(f"{what}-names{again}")
        return number_names(raw, directory, what=what, partitions=self.partitions)

    def _reject_badly_named(self, nodes: NameIds, topics: NameIds) -> None:
        """Move rows with a name that cannot be used from `usable` to `rejected`."""
        rows = _keyed(self.usable, nodes, topics)
        for what, names in (("node", nodes), ("topic", topics)):
            problems = names.problems.toDF(f"{what}_key", f"{what}_problem")
            rows = rows.join(problems, f"{what}_key", "left")
        rows = rows.drop("node_key", "topic_key")
        reason = F.concat_ws(
            "; ",
            F.concat(F.lit("node "), F.col("node_problem")),
            F.concat(F.lit("topic "), F.col("topic_problem")),
        )
        both = F.struct(*[F.make_valid_utf8(what).alias(what) for what in ("node", "topic")])
        record = F.to_json(both, {"ignoreNullFields": "false"})
        wrong = rows.where("node_problem is not null or topic_problem is not null")
        wrong = self._rejected(wrong, record.alias("record"), reason.alias("reason"))
        self.rejected = self.rejected.unionByName(wrong)
        self.usable = rows.where("node_problem is null and topic_problem is null")

    def _rejected(self, rows: DataFrame, record: Column | str, reason: Column | str) -> DataFrame:
        return rows.select(source_path(self.files).alias("source"), record, reason)

    def _stop_when_too_many(self, n_rejected: int) -> None:
        if n_rejected <= self.max_rejected * self.n_records:
            return
        first = self.rejected.limit(SHOWN_REJECTED).collect()
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
