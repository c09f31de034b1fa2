"""`check`: recompute everything an overlay claims, from its edges and its workload, on Spark.

Topics are independent, so each task takes a share of them with their subscriptions and edges and
searches every sub-overlay breadth-first. The engine that designed the overlay has no part in it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from meshwright.datasets import Manifest, open_dataset, read_table
from meshwright.overlay.dataset import find_workload
from meshwright.smallworld import WORLDS
from meshwright.smallworld.dataset import is_small_world, world_findings
from meshwright.spark.progress import Progress, no_progress
from meshwright.spark.session import parallelism

N_STEPS = 3
NAMED = 10
TOPICS_PER_TASK = 20_000

_TOPICS = StructType(
    [
        StructField("topic", IntegerType()),
        *[
            StructField(name, LongType())
            for name in ("subscribers", "components", "largest", "diameter_low", "diameter_high")
        ],
    ]
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an overlay really is. `findings` lists where its manifest says otherwise."""

    n_edges: int
    average_degree: float
    max_degree: int
    support: float
    connected: bool
    n_disconnected: int
    disconnected: tuple[str, ...]  # the first, by most components
    busiest: tuple[tuple[str, int], ...]  # the nodes with most links
    diameter: tuple[int, int]  # the largest over the topics: at least, at most
    diameters: tuple[tuple[int, int], ...]  # (diameter, how many topics), connected topics only
    property_1: bool | None  # whether a small world is one; None for other overlays
    findings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything for programs."""
        return asdict(self)


def check(
    spark: SparkSession,
    overlay: str | Path,
    *,
    workload: str | Path | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Return what an overlay really is, compared with what its manifest claims."""
    directory = Path(overlay).absolute()
    manifest = open_dataset(directory, "overlay")
    place, source = find_workload(manifest, directory, Path(workload) if workload else None)
    place = place.absolute()
    progress = progress or no_progress()
    subscriptions = spark.read.parquet(f"file://{place}/subscriptions.parquet")
    edges = spark.read.parquet(f"file://{directory}/edges.parquet")
    with progress.step("checking the links"):
        findings, gain = _check_edges(edges, manifest, source["n_nodes"])
        property_1 = _check_world(manifest, directory, place)
        findings += property_1 or []
        degrees = edges.select(F.explode(F.array("u", "v")).alias("node")).groupBy("node").count()
        names = spark.read.parquet(f"file://{place}/nodes.parquet")
        top = degrees.orderBy(F.desc("count"), "node").limit(NAMED).join(names, "node")
        busiest = [(r["name"], r["count"]) for r in top.orderBy(F.desc("count"), "node").collect()]
    with progress.step("searching every topic's sub-overlay"):
        partitions = max(parallelism(spark), source["n_topics"] // TOPICS_PER_TASK)
        topics = evaluate(subscriptions, edges, partitions).persist()
        total = topics.agg(
            F.sum("components"), F.count("*"), F.sum("subscribers"), F.max("diameter_high")
        ).collect()[0]
        apart = topics.where("components > 1")
        n_apart = apart.count()
    with progress.step("naming what stands out"):
        topic_names = spark.read.parquet(f"file://{place}/topics.parquet")
        worst = apart.orderBy(F.desc("components"), "topic").limit(NAMED)
        named = worst.join(topic_names, "topic").orderBy(F.desc("components"), "topic")
        disconnected = [row["name"] for row in named.collect()]
        counted = topics.where("components = 1 and diameter_low = diameter_high")
        spread = counted.groupBy("diameter_low").count().collect()
        low = topics.agg(F.max("diameter_low")).collect()[0][0] or 0
        topics.unpersist()
    n_components, n_wanted, n_subscriptions, high = (int(value or 0) for value in total)
    full = n_subscriptions - n_wanted
    n_edges = manifest.rows["edges"]
    found = Evaluation(
        n_edges=n_edges,
        average_degree=2 * n_edges / source["n_nodes"] if source["n_nodes"] else 0.0,
        max_degree=busiest[0][1] if busiest else 0,
        support=1 - (n_components - n_wanted) / full if full else 1.0,
        connected=n_apart == 0,
        n_disconnected=n_apart,
        disconnected=tuple(disconnected),
        busiest=tuple(busiest),
        diameter=(low, high),
        diameters=tuple(sorted((row["diameter_low"], row["count"]) for row in spread)),
        property_1=None if property_1 is None else not property_1,
        findings=(),
    )
    joined = n_subscriptions - n_components
    if gain != joined:
        findings.append(f"the gains of the edges sum to {gain:,}; the edges join {joined:,}")
    return replace(found, findings=(*findings, *_compare(found, manifest)))


def evaluate(subscriptions: DataFrame, edges: DataFrame, partitions: int) -> DataFrame:
    """Return one row per topic: subscribers, components, the largest, and the diameter."""
    # New names for each use of the subscriptions: Spark tells columns apart by them.
    wants = subscriptions.select("node", "topic").toDF("member", "wanted")
    at_few = subscriptions.select("node", "topic").toDF("few", "topic_u")
    at_many = subscriptions.select("node", "topic").toDF("many", "topic_v")
    sizes = subscriptions.groupBy("node").count()
    links = edges.select("u", "v")
    for end in ("u", "v"):
        links = links.join(sizes.toDF(end, f"size_{end}"), end)
    # A hub may have many links and many topics: the topics of the end that has fewer are looked up.
    fewer = F.col("size_u") <= F.col("size_v")
    links = links.select(
        "u",
        "v",
        F.when(fewer, F.col("u")).otherwise(F.col("v")).alias("few"),
        F.when(fewer, F.col("v")).otherwise(F.col("u")).alias("many"),
    )
    same = (F.col("links.many") == F.col("other.many")) & (F.col("topic_u") == F.col("topic_v"))
    common = links.join(at_few, "few").alias("links").join(at_many.alias("other"), same)
    inside = common.select("u", "v", "topic_u")
    left = wants.withColumn("share", F.pmod(F.hash("wanted"), F.lit(partitions)))
    right = inside.withColumn("share", F.pmod(F.hash("topic_u"), F.lit(partitions)))
    grouped = left.groupBy("share").cogroup(right.groupBy("share"))
    return grouped.applyInArrow(_evaluate_share, _TOPICS)


def _evaluate_share(subscriptions: pa.Table, edges: pa.Table) -> pa.Table:
    from meshwright.evaluation.topic_kernel import EXACT_UP_TO, evaluate_topics

    wants = subscriptions.sort_by([("wanted", "ascending"), ("member", "ascending")])
    links = edges.sort_by("topic_u")
    rows = evaluate_topics(
        wants.column("wanted").to_numpy(),
        wants.column("member").to_numpy(),
        links.column("topic_u").to_numpy(),
        links.column("u").to_numpy(),
        links.column("v").to_numpy(),
        EXACT_UP_TO,
    )
    columns = [pa.array(rows[:, 0].astype(np.int32)), *[pa.array(rows[:, i]) for i in range(1, 6)]]
    return pa.Table.from_arrays(columns, names=_TOPICS.names)


def _check_edges(edges: DataFrame, manifest: Manifest, n_nodes: int) -> tuple[list[str], int]:
    """Return what is wrong with the table of edges itself, and the sum of the gains."""
    outside = (F.col("u") < 0) | (F.col("v") >= n_nodes)
    row = edges.agg(
        F.count_if(F.col("u") >= F.col("v")).alias("order"),
        F.count_if(outside).alias("outside"),
        F.sum("gain").alias("gain"),
        F.count_distinct("rank").alias("ranks"),
        F.min("rank").alias("first"),
        F.max("rank").alias("last"),
    ).collect()[0]
    count = manifest.rows["edges"]
    wrong = []
    if row["order"]:
        wrong.append(f"{row['order']:,} edges are not given as u < v")
    if row["outside"]:
        wrong.append(f"{row['outside']:,} edges name a node outside 0..{n_nodes - 1}")
    if count and (row["ranks"], row["first"], row["last"]) != (count, 0, count - 1):
        wrong.append(f"the ranks are not 0..{count - 1}, each once")
    repeated = count - edges.select("u", "v").distinct().count()
    if repeated:
        wrong.append(f"{repeated:,} edges are listed more than once")
    return wrong, int(row["gain"] or 0)


def _check_world(manifest: Manifest, overlay: Path, workload: Path) -> list[str] | None:
    """Return where a small world lacks Property 1: n log n rows, which the driver can hold.

    None for overlays that are none.
    """
    if not is_small_world(manifest):
        by_method = manifest.get("method") in WORLDS
        return ["by its method it is a small world, but it has no ring"] if by_method else None
    names = read_table(workload, "nodes").sort_by("node").column("name").to_pylist()
    return world_findings(overlay, names)


def _compare(found: Evaluation, manifest: Manifest) -> list[str]:
    """Return where the manifest says something else than was found."""
    wrong = []
    for name in ("n_edges", "average_degree", "max_degree", "support", "connected"):
        claimed, real = manifest.get(name), getattr(found, name)
        same = isinstance(claimed, int | float) and math.isclose(claimed, real, abs_tol=1e-12)
        if not same:
            wrong.append(f"the manifest says {name} is {claimed}; it is {real}")
    if manifest.get("n_disconnected") != found.n_disconnected:
        wrong.append(
            f"the manifest says {manifest.get('n_disconnected')} topics are disconnected; "
            f"{found.n_disconnected} are"
        )
    return wrong
