"""Statistics of a workload: counts, the two CCDFs of paper 1's Fig. 3, popular topics, cost."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.model.publications import Publications
from meshwright.patterns.filters import PatternIndex
from meshwright.runtime.arrays import Bools
from meshwright.runtime.paths import read_parquet
from meshwright.runtime.progress import Progress, no_progress
from meshwright.storage import Manifest, open_dataset, read_parts, spark_reads
from meshwright.workload.forecast import Forecast, forecast

N_STEPS = 4
POPULAR = 10


@dataclass(frozen=True, slots=True)
class Publishing:
    """Who publishes; a topic that is a filter meets every topic with which it shares a name."""

    n_publications: int
    publishers_per_topic: tuple[tuple[int, int], ...]
    n_unpublished: int  # topics that somebody wants and nobody publishes
    n_unwanted: int  # topics that somebody publishes and nobody wants
    rate: float  # messages per second in all, as far as rates are known
    n_without_rate: int  # publications


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts and distributions of one workload.

    A histogram lists (value, number of nodes or topics with it); a CCDF lists (value, share with at
    least that value).
    """

    digest: str
    n_nodes: int
    n_topics: int
    n_subscriptions: int
    subscriptions_per_node: tuple[tuple[int, int], ...]
    subscribers_per_topic: tuple[tuple[int, int], ...]
    popular_topics: tuple[tuple[str, int], ...]
    forecast: Forecast
    publishing: Publishing | None  # None if nothing is known about publishers

    def as_dict(self) -> dict[str, Any]:
        """Return all values for `--json`, with the CCDFs."""
        values = asdict(self)
        for name in ("subscriptions_per_node", "subscribers_per_topic"):
            values[name] = {"histogram": values[name], "ccdf": ccdf(values[name])}
        popular = [{"topic": topic, "subscribers": n} for topic, n in self.popular_topics]
        if self.publishing is not None:
            sizes = self.publishing.publishers_per_topic
            values["publishing"]["publishers_per_topic"] = {"histogram": sizes, "ccdf": ccdf(sizes)}
        return {**values, "popular_topics": popular}


def statistics(
    spark: SparkSession, workload: str | Path, *, progress: Progress | None = None
) -> Statistics:
    """Return the statistics of a workload."""
    path = Path(workload).absolute()
    manifest = open_dataset(path, "workload")
    progress = progress or no_progress()
    tables = manifest.table("subscriptions"), manifest.table("topics")
    with spark_reads(*tables):
        subscriptions, topics = (read_parquet(spark, table) for table in tables)
        with progress.step("counting subscriptions per node"):
            per_node = histogram(subscriptions, "node", manifest["n_nodes"])
        with progress.step("counting subscribers per topic"):
            per_topic = histogram(subscriptions, "topic", manifest["n_topics"])
        with progress.step("finding popular topics"):
            counts = subscriptions.groupBy("topic").count()
            top = counts.orderBy(F.desc("count"), "topic").limit(POPULAR).join(topics, "topic")
            popular = top.orderBy(F.desc("count"), "topic").select("name", "count").collect()
        with progress.step("matching publishers with subscribers"):
            known = manifest["n_publications"] > 0
            publishing = _publishing(manifest, subscriptions, topics) if known else None
    incidences = sum(n * size * (size - 1) // 2 for size, n in per_topic)
    return Statistics(
        digest=manifest["digest"],
        n_nodes=manifest["n_nodes"],
        n_topics=manifest["n_topics"],
        n_subscriptions=manifest["n_subscriptions"],
        subscriptions_per_node=per_node,
        subscribers_per_topic=per_topic,
        popular_topics=tuple((row["name"], row["count"]) for row in popular),
        forecast=forecast(manifest["n_nodes"], manifest["n_subscriptions"], incidences),
        publishing=publishing,
    )


def _publishing(manifest: Manifest, subscriptions: DataFrame, topics: DataFrame) -> Publishing:
    """Return who publishes. Publications and, with filters, names are held in this process."""
    found = Publications.of_table(read_parts(manifest.table("publications")))
    per_topic = np.bincount(found.topics, minlength=manifest["n_topics"])
    values, counts = np.unique(per_topic, return_counts=True)
    published = per_topic > 0
    wanted = np.zeros(len(published), dtype=bool)
    wanted[subscriptions.select("topic").distinct().toArrow().column(0).to_numpy()] = True
    unpublished, unwanted = wanted & ~published, published & ~wanted
    if topics.where("name rlike '[+#]'").limit(1).count():
        ordered = topics.toArrow().sort_by("topic").column("name").to_pylist()
        unpublished = _without_partner(ordered, unpublished, published)
        unwanted = _without_partner(ordered, unwanted, wanted)
    known = ~np.isnan(found.rates)
    return Publishing(
        n_publications=len(found),
        publishers_per_topic=tuple(zip(values.tolist(), counts.tolist(), strict=True)),
        n_unpublished=int(unpublished.sum()),
        n_unwanted=int(unwanted.sum()),
        rate=math.fsum(found.rates[known]),
        n_without_rate=int((~known).sum()),
    )


def _without_partner(names: Sequence[str], some: Bools, partners: Bools) -> Bools:
    """Return which topics among `some` share no name with one of the partners."""
    index = PatternIndex(names[i] for i in np.flatnonzero(partners).tolist())
    left = some.copy()
    for i in np.flatnonzero(some).tolist():
        left[i] = not index.overlapping(names[i])
    return left


def histogram(subscriptions: DataFrame, column: str, total: int) -> tuple[tuple[int, int], ...]:
    """Return how many nodes (or topics) have each number of subscriptions, those with 0 too."""
    sizes = subscriptions.groupBy(column).count().groupBy("count").agg(F.count("*").alias("n"))
    rows = sorted((row["count"], row["n"]) for row in sizes.collect())
    without = total - sum(n for _, n in rows)
    return tuple([(0, without)] if without else []) + tuple(rows)


def ccdf(histogram: Sequence[tuple[int, int]]) -> list[tuple[int, float]]:
    """Return the share that has at least each value.

    Examples
    --------
    >>> ccdf([(1, 2), (3, 1), (4, 1)])
    [(1, 1.0), (3, 0.5), (4, 0.25)]
    """
    total = sum(n for _, n in histogram)
    points, left = [], total
    for value, n in histogram:
        points.append((value, left / total))
        left -= n
    return points


def quantile(histogram: Sequence[tuple[int, int]], share: float) -> int:
    """Return the smallest value that at least `share` of all do not exceed."""
    total, seen = sum(n for _, n in histogram), 0
    for value, n in histogram:
        seen += n
        if seen >= share * total:
            return value
    return 0
