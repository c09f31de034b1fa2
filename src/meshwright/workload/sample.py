"""Breadth-first samples of a social workload, as papers 1 and 4 take them.

Users are nodes and topics. The undirected relation is followed from the start users level by level;
within a level users come in id order, and the sample ends at exactly the given number. It keeps all
subscriptions and publications among the visited users. Each level is written before the next
begins, so plans stay short; a level costs one join of the frontier with the relation.
"""

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.errors import InputError
from meshwright.model.method import check_seed
from meshwright.runtime.paths import read_parquet, uri
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.storage import Manifest, Staging, open_dataset, spark_reads, staging
from meshwright.workload import tables
from meshwright.workload.names import Names, number_rows

N_STEPS = 3
BROADCAST_USERS = 1_000_000
_LEVEL = "node int"


def sample(
    spark: SparkSession,
    workload: str | Path,
    out: str | Path,
    *,
    nodes: int,
    seeds: int = 1,
    seed: int = 1,
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Write the workload among `nodes` users found breadth-first from `seeds` start users.

    Start users are chosen by the hash of (seed, id); when all that can be reached is visited, the
    next start user follows.
    """
    source = Path(workload).absolute()
    manifest = open_dataset(source, "workload")
    check_request(manifest, source, nodes, seeds, seed)
    progress = progress or no_progress()
    partitions = parallelism(spark)
    read = manifest.table("nodes"), manifest.table("subscriptions")
    with staging(Path(out), "workload", force=force) as stage, spark_reads(*read):
        nodes_table, subscriptions = (read_parquet(spark, table) for table in read)
        with progress.step("visiting users breadth-first"):
            walk = _Walk(stage, nodes_table, subscriptions, seed)
            walk.visit(nodes, seeds)
        with progress.step("numbering the sample"):
            by_name = nodes_table.join(walk.visited(), "node").orderBy("name")
            numbered, count = number_rows(by_name, stage.scratch("names"), "id")
            users = Names(count, numbered.select("id", "name"))
            ids = numbered.select("node", "id")
            ids = F.broadcast(ids) if count <= BROADCAST_USERS else ids
        with progress.step("keeping their subscriptions"):
            key = tables.packed("new_node", "new_topic").alias("key")
            pairs = _renumbered(subscriptions, ids).select(key)
            written = tables.write_distinct(pairs, count, partitions, stage)
            if manifest["n_publications"]:
                rows = _renumbered(read_parquet(spark, manifest.table("publications")), ids)
                rows = rows.select("new_node", "new_topic", "rate", "bytes")
                rows = rows.toDF(*tables.PUBLICATIONS)
                tables.write_publications(rows, count, partitions, stage)
            parameters = {"nodes": nodes, "seeds": seeds, "seed": seed}
            parameters["workload_digest"] = manifest["digest"]
            facts = {"source": [str(workload)], "parameters": parameters}
            return tables.publish_workload(stage, written, users, users, partitions, facts)


def _renumbered(rows: DataFrame, ids: DataFrame) -> DataFrame:
    """Return rows of sampled users only, with their new ids as new_node and new_topic."""
    nodes, topics = ids.toDF("node", "new_node"), ids.toDF("topic", "new_topic")
    return rows.join(nodes, "node").join(topics, "topic")


class _Walk:
    """The visited users, one written frame per level."""

    def __init__(
        self, stage: Staging, nodes: DataFrame, subscriptions: DataFrame, seed: int
    ) -> None:
        self._spark = nodes.sparkSession
        self._stage = stage
        self._levels: list[Path] = []
        self._count = 0
        both = subscriptions.select("node", "topic").union(subscriptions.select("topic", "node"))
        both.distinct().write.parquet(uri(stage.scratch("relation")))
        self._relation = read_parquet(self._spark, stage.scratch("relation"))
        # Hash first, id second: an order of start users that no partitioning can change.
        self._start_order = nodes.select(F.xxhash64(F.lit(seed), "node").alias("hash"), "node")

    def visit(self, n_nodes: int, n_seeds: int) -> None:
        """Visit exactly `n_nodes` users."""
        self._keep(self._starts(n_seeds), n_nodes)
        while self._count < n_nodes:
            frontier = read_parquet(self._spark, self._levels[-1], schema=_LEVEL)
            reached = self._relation.join(F.broadcast(frontier), "node").select("topic").distinct()
            new = reached.toDF("node").join(self.visited(), "node", "left_anti")
            if self._keep(new, n_nodes) == 0:
                self._keep(self._starts(1), n_nodes)

    def visited(self) -> DataFrame:
        """Return the users visited so far."""
        return read_parquet(self._spark, *self._levels, schema=_LEVEL)

    def _starts(self, count: int) -> DataFrame:
        left = self._start_order
        if self._levels:
            left = left.join(self.visited(), "node", "left_anti")
        return left.orderBy("hash", "node").limit(count).select("node")

    def _keep(self, users: DataFrame, n_nodes: int) -> int:
        """Write a level, cut by id order when it is more than is wanted; return its size."""
        place = self._stage.scratch(f"level-{len(self._levels)}")
        users.write.parquet(uri(place))
        level = read_parquet(self._spark, place, schema=_LEVEL)
        size = level.count()
        left = n_nodes - self._count
        if size > left:
            cut = place.with_name(f"{place.name}-cut")
            level.orderBy("node").limit(left).write.parquet(uri(cut))
            place, size = cut, left
        self._levels.append(place)
        self._count += size
        return size


def check_request(
    manifest: Manifest, source: Path, nodes: int, seeds: int = 1, seed: int = 1
) -> None:
    """Raise InputError if a workload has no such sample; this needs no Spark."""
    if manifest["node_names_digest"] != manifest["topic_names_digest"]:
        raise InputError(
            f"'{source}' has nodes and topics of different names, and a breadth-first sample "
            "needs users who are both: ingest an edge list, or generate a social graph."
        )
    if nodes < 1 or seeds < 1:
        raise InputError(f"nodes is {nodes} and seeds is {seeds}; both must be at least 1.")
    if nodes > manifest["n_nodes"]:
        raise InputError(
            f"a sample of {nodes:,} nodes was asked for, but '{source}' has only "
            f"{manifest['n_nodes']:,}. Lower --nodes."
        )
    if seeds > nodes:
        raise InputError(f"{seeds:,} start users do not fit a sample of {nodes:,}. Lower --seeds.")
    check_seed(seed)
