"""The end of every pipeline that makes a workload: the tables of names, and the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from meshwright.datasets import Manifest, Staging, workload_digest
from meshwright.spark.paths import uri
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
