"""The end of every pipeline that makes a workload: the tables of names, and the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from meshwright.datasets import Manifest, Staging, workload_digest
from meshwright.names import number_width
from meshwright.spark.paths import uri
from meshwright.spark.schemas import REJECTED
from meshwright.workload.name_ids import NameIds, digest_of_names


def write_names(
    spark: SparkSession, stage: Staging, nodes: NameIds, topics: NameIds, *, partitions: int
) -> tuple[str, str]:
    """Write the tables of nodes and topics; return their digests."""
    digests: dict[int, str] = {}
    for table, column, ids in (("nodes", "node", nodes), ("topics", "topic", topics)):
        names = ids.names(spark)
        names.toDF(column, "name").write.parquet(uri(stage.table(table)))
        if id(ids) not in digests:
            digests[id(ids)] = digest_of_names(names, partitions)
    return digests[id(nodes)], digests[id(topics)]


def write_numbered_names(
    spark: SparkSession,
    stage: Staging,
    nodes: tuple[str, int],
    topics: tuple[str, int],
    *,
    partitions: int,
) -> tuple[str, str]:
    """Write the tables of nodes and topics, each named by prefix and number; return digests."""
    digests: dict[tuple[str, int], str] = {}
    for table, column, (prefix, count) in (("nodes", "node", nodes), ("topics", "topic", topics)):
        names = numbered_names(spark, prefix, count, partitions)
        names.toDF(column, "name").write.parquet(uri(stage.table(table)))
        if (prefix, count) not in digests:
            digests[prefix, count] = digest_of_names(names, partitions)
    return digests[nodes], digests[topics]


def numbered_names(spark: SparkSession, prefix: str, count: int, partitions: int) -> DataFrame:
    """Return (id, name) of the names that `meshwright.names.NumberedNames` gives."""
    ids = spark.range(0, count, 1, max(1, min(partitions, count)))
    width = number_width(count)
    name = F.concat(F.lit(f"{prefix}-"), F.lpad(F.col("id").cast("string"), width, "0"))
    schema = StructType([StructField("id", IntegerType()), StructField("name", StringType())])
    return ids.select(F.col("id").cast("int"), name.alias("name")).to(schema)


def write_none_rejected(spark: SparkSession, stage: Staging) -> None:
    """Write the table of rejected records, empty."""
    spark.createDataFrame([], REJECTED).write.parquet(uri(stage.table("rejected")))


def write_workload(
    stage: Staging,
    *,
    n_nodes: int,
    n_topics: int,
    n_subscriptions: int,
    digests: tuple[str, str, str],
    facts: Mapping[str, Any],
) -> Manifest:
    """Publish a workload whose tables are written."""
    nodes, topics, subscriptions = digests
    counts = {"n_rejected": 0, "n_duplicates": 0, "n_self_loops": 0}
    return stage.publish(
        {
            "n_nodes": n_nodes,
            "n_topics": n_topics,
            "n_subscriptions": n_subscriptions,
            **counts,
            **facts,
            "digest": workload_digest(
                n_nodes, n_topics, n_subscriptions, nodes, topics, subscriptions
            ),
            # Equal digests of names mean that nodes and topics are the same users.
            "node_names_digest": nodes,
            "topic_names_digest": topics,
        }
    )
