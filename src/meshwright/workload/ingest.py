"""Sources -> workload: read, check, number, make distinct, write.

The steps: records (`records.py`), names with ids (`coded.py`, or `names.py` if they are many or a
name is bad), subscriptions and publications (`tables.py`). Rows that cannot be used go to the table
`rejected` with source, record and reason; if they are more than a given share, the run stops and
nothing is written.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.errors import InputError
from meshwright.runtime.paths import read_parquet, uri
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.storage import Manifest, Staging, refuse_overwrite, staging
from meshwright.workload import logs, tables
from meshwright.workload.coded import CodedRows, code_rows
from meshwright.workload.files import LOGS, link_hidden, reading, refuse_long_lines
from meshwright.workload.lines import read_lines, source_path
from meshwright.workload.mosquitto_log import (
    BROKER,
    LOG_RECORDS,
    LogFacts,
    broker_names,
    in_words,
    refuse_untimed,
)
from meshwright.workload.names import NameIds, Names, name_key, number_names
from meshwright.workload.records import RECORDS, read_records
from meshwright.workload.request import Part, Request
from meshwright.workload.tables import Written, publish_workload

N_STEPS = 4
SHOWN_REJECTED = 10
RECORDED = (  # options that a manifest keeps
    *("format", "node", "topic", "directed", "role", "publications", "rate", "bytes"),
    *("since", "until", "at", "max_rejected"),
)


class NothingFoundError(InputError):
    """The sources can be read, and hold no subscription and no publication."""


def ingest(
    spark: SparkSession,
    sources: Sequence[str] = (),
    out: str | Path = "workload",
    *,
    force: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Manifest:
    """Read subscriptions and publications from files and write them as a workload.

    `sources` and `options` are those of `Request`. InputError names everything wrong with the
    sources, or the first ten rejected rows.
    """
    target, request = Path(out), Request(sources, **options)
    refuse_overwrite(target.absolute(), force=force)
    return ingest_parts(
        spark, request.parts(), request, target, force=force, progress=progress or no_progress()
    )


def ingest_parts(
    spark: SparkSession,
    parts: Sequence[Part],
    request: Request,
    target: Path,
    *,
    force: bool,
    progress: Progress,
    facts: Mapping[str, Any] | None = None,
) -> Manifest:
    """Write the parts of a request as a workload; `facts` adds to its manifest."""
    published = [file.shown for part in parts if part.how.publishes for file in part.files]
    parameters = {name: getattr(request, name) for name in RECORDED}
    parameters |= {"format": parts[0].kind, "publications": published}
    every = [file for part in parts for file in part.files]
    with staging(target, "workload", force=force) as stage, reading(every):
        parts = [
            part._replace(files=link_hidden(part.files, stage.scratch(f"sources-{i}")))
            for i, part in enumerate(parts)
        ]
        run = _Run(spark, stage, request, parts, progress)
        run.read()
        rows = run.coded() or run.joined()
        written = run.write(rows, undirected=request.directed is False)
        run.reject(written)
        found = {
            "n_read": run.n_records,
            "n_rejected": run.n_rejected,
            "n_self_loops": run.n_self_loops,
            "n_duplicates": run.n_duplicates,
            "source": [source.shown for source in every],
            "sources_without_records": run.without_records,
            "parameters": parameters,
            **run.log_facts(),
            **(facts or {}),
        }
        return publish_workload(stage, written, rows.nodes, rows.topics, run.partitions, found)


@dataclass
class _Run:
    """One ingest under way: the state that its steps share."""

    spark: SparkSession
    stage: Staging
    request: Request
    parts: Sequence[Part]
    progress: Progress
    log: LogFacts | None = None
    silent: Sequence[str] = ()  # brokers of a mesh log that want nothing

    def read(self) -> None:
        """Parse the sources once. Parquet is read in place: it needs no parsing."""
        self.partitions = parallelism(self.spark)
        self.files = [file for part in self.parts for file in part.files]
        self.kind = self.parts[0].kind
        with self.progress.step("reading"):
            records = reduce(DataFrame.unionByName, map(self._records, range(len(self.parts))))
            wants = F.expr("reason is null and not published")
            by_source = records.groupBy("source").agg(
                F.count(F.lit(1)).alias("n"),
                F.count("reason").alias("n_malformed"),
                F.count_if("published").alias("n_published"),
                F.count_if(wants).alias("n_wanting"),
            )
            # The path of a file, once for each: for each row it took more than all the counting.
            counts = by_source.withColumn("source", source_path(self.files)).collect()
        sums = [sum(row[i] for row in counts) for i in (1, 2, 3)]
        self.n_records, n_malformed, n_published = sums
        self.publishes = n_published > 0
        self.wanting = {row[0] for row in counts if row[4]}
        found = {row[0] for row in counts}
        self.without_records = []
        if self.kind != "mesh-log":  # its records come from all files together
            self.without_records = [file.shown for file in self.files if file.path not in found]
        self.usable = records.where("reason is null")
        self.rejected = self._rejected(records.where("reason is not null"), "record", "reason")
        self._stop_when_too_many(n_malformed)

    def coded(self) -> CodedRows | None:
        """Give ids to the names by the short way, unless a name is bad or they are too many."""
        with self.progress.step("numbering the names"):
            return code_rows(
                self.usable,
                self.stage.scratch("coded"),
                marked=self.publishes,
                users=self.kind == "edges",
                nodes=self._logged_brokers(),
            )

    def joined(self) -> "_JoinedRows":
        """Give ids to nodes and topics; in edge lists every user is both."""
        with self.progress.step("numbering the nodes and topics"):
            nodes = self._number("node")
            topics = nodes if self.kind == "edges" else self._number("topic")
            if nodes.n_problems or topics.n_problems:
                # A row with a bad name is rejected as a whole: its other name must not stay.
                self._reject_badly_named(nodes, topics)
                nodes = self._number("node", "-again")
                topics = nodes if self.kind == "edges" else self._number("topic", "-again")
        keyed = _keyed(self.usable, nodes, topics)
        rows = topics.joined(nodes.joined(keyed, "node"), "topic")
        return _JoinedRows(rows, nodes.names, topics.names, self.publishes)

    def write(self, rows: "CodedRows | _JoinedRows", *, undirected: bool) -> Written:
        """Write the distinct subscriptions and publications."""
        copies = 2 if undirected else 1
        with self.progress.step("making the subscriptions distinct"):
            partitions = max(self.partitions, self.n_records * copies // tables.PARTITION_ROWS)
            written = rows.write_subscriptions(
                self.stage, partitions, undirected=undirected, drop_self_loops=self.kind == "edges"
            )
            n_published = self.n_publications = 0
            if self.publishes:
                n_published, self.n_publications = tables.write_publications(
                    rows.publications(), rows.nodes.count, partitions, self.stage
                )
        n_joined = written.n_subscriptions + written.n_self_loops + written.n_duplicates
        self.n_rejected = self.n_records - n_joined // copies - n_published
        self.n_self_loops = written.n_self_loops // copies
        self.n_duplicates = written.n_duplicates + n_published - self.n_publications
        return written

    def reject(self, written: Written) -> None:
        """Write the rejected rows; raise InputError if they are too many."""
        with self.progress.step("listing what is rejected"):
            self._stop_when_too_many(self.n_rejected)
            if written.n_subscriptions + self.n_publications == 0:
                raise NothingFoundError(self._nothing_found())
            if self.n_rejected == 0:
                return  # an empty table needs no job
            self.rejected.coalesce(1).write.parquet(uri(self.stage.table("rejected")))

    def log_facts(self) -> dict[str, Any]:
        """Return the facts of a manifest about logs."""
        if self.log is None:
            return {}
        brokers, wanting = self._logged_brokers(), set[str]()
        if self.kind == "mosquitto-log":
            wanting.update(self._brokers(self.wanting))
        return {
            "log": self.log.as_dict(),
            "nodes_without_subscriptions": [name for name in brokers if name not in wanting],
        }

    def _brokers(self, paths: Iterable[str]) -> list[str]:
        return broker_names(paths, self.parts[0].how.node)

    def _logged_brokers(self) -> list[str]:
        """Return brokers of logs that may have no record: each is a node, whatever it wants."""
        if self.kind != "mosquitto-log":
            return sorted(self.silent)
        return self._brokers(file.path for file in self.parts[0].files)

    def _records(self, number: int) -> DataFrame:
        """Return the records of a part."""
        files, kind, how, rows = self.parts[number]
        if rows is None:
            refuse_long_lines(files, kind, self.request.max_line, self.progress)
            records = read_records(self.spark, files, kind, how)
            if kind == logs.MESH:  # its records need the rows several times
                rows = self.stage.scratch(f"rows-{number}")
                lines = read_lines(self.spark, files, placed=True)
                logs.rows_of(lines, kind, how.window).write.parquet(uri(rows))
        if rows is not None:
            found = logs.read_rows(self.spark, rows, kind)
            records = logs.records_of(found, files, kind, how.node, how.window)
        if kind == "parquet":
            return records
        place = self.stage.scratch(f"records-{number}")
        records.write.parquet(uri(place))
        if kind not in LOGS:
            return read_parquet(self.spark, place, schema=RECORDS)
        records = read_parquet(self.spark, place, schema=LOG_RECORDS)
        self.log = LogFacts.of(records)
        refuse_untimed(self.log, files)
        silent = records.where((F.col("note") == BROKER) & (F.col("n") == 0)).select("node")
        self.silent = [row[0] for row in silent.collect()] if kind == "mesh-log" else ()
        return records.where("note is null").drop("note", "n")

    def _number(self, what: str, again: str = "") -> NameIds:
        raw = self.usable.select(F.col(what).alias("name"))
        if what == "node" and (brokers := self._logged_brokers()):
            named = [(name,) for name in brokers]
            raw = raw.union(self.spark.createDataFrame(named, "name string"))
        if self.kind == "edges":
            raw = raw.union(self.usable.select(F.col("topic").alias("name")))
        directory = self.stage.scratch(f"{what}-names{again}")
        return number_names(
            raw, directory, what=what, partitions=self.partitions, n_rows=self.n_records
        )

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
        allowed = self.request.max_rejected
        if n_rejected <= allowed * self.n_records:
            return
        first = self.rejected.limit(SHOWN_REJECTED).collect()
        shown = [f"  {row['source']}: {row['reason']}: {_brief(row['record'])}" for row in first]
        raise InputError(
            f"{n_rejected:,} of {self.n_records:,} rows are wrong, more than --max-rejected "
            f"{allowed:g} allows; nothing was written. "
            + ("The first ten:\n" if n_rejected > len(first) else "They are:\n")
            + "\n".join(shown)
            + "\nFix them, or raise --max-rejected to skip them."
        )

    def _nothing_found(self) -> str:
        where = ", ".join(f"'{source.shown}'" for source in self.files[:3])
        if self.log is not None and self.log.skipped:
            return (
                f"of the subscriptions in {where} none is left: {in_words(self.log.skipped)}. For "
                "clients that come and go, give --since TIME: it keeps what was wanted since then."
            )
        if self.kind == "mesh-log":
            return f"no broker wants anything in {where}. Let clients subscribe, then try again."
        if self.log is not None:
            return (
                f"{where} holds no subscribe line. Set `log_type subscribe` in mosquitto.conf, "
                "let the clients reconnect, and ingest the log again."
            )
        return f"{where} holds no subscription. Check the file, or the --format ({self.kind})."


@dataclass(frozen=True, slots=True)
class _JoinedRows:
    """Rows with node_id and topic_id, joined by keys: what `CodedRows` is for any names."""

    rows: DataFrame
    nodes: Names
    topics: Names
    marked: bool

    def write_subscriptions(
        self, stage: Staging, partitions: int, *, undirected: bool, drop_self_loops: bool
    ) -> Written:
        """Write the subscriptions, each pair once and in order."""
        wanted = self.rows.where("not published") if self.marked else self.rows
        pairs = wanted.select("node_id", "topic_id")
        if undirected:
            pairs = pairs.union(pairs.select("topic_id", "node_id"))
        keys = pairs.select(tables.packed("node_id", "topic_id").alias("key"))
        return tables.write_distinct(
            keys, self.nodes.count, partitions, stage, drop_self_loops=drop_self_loops
        )

    def publications(self) -> DataFrame:
        """Return the rows of the publications."""
        published = self.rows.where("published").select("node_id", "topic_id", "rate", "bytes")
        return published.toDF(*tables.PUBLICATIONS)


def _keyed(rows: DataFrame, nodes: NameIds, topics: NameIds) -> DataFrame:
    """Return rows with the keys of their names."""
    node, topic = name_key("node", nodes.salt), name_key("topic", topics.salt)
    return rows.select("*", node.alias("node_key"), topic.alias("topic_key"))


def _brief(record: str | None) -> str:
    text = record or ""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
