"""A workload with its filters expanded, as a dataset to design on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from meshwright.datasets import Manifest, open_dataset, staging, write_table
from meshwright.datasets.digest import names_digest
from meshwright.deployment.filters import expand
from meshwright.names import arrow_names
from meshwright.values import Instance


def expand_workload(workload: str | Path, out: str | Path, *, force: bool = False) -> Manifest:
    """Write the workload in which each filter's node wants all that the filter matches."""
    source = Path(workload)
    before = open_dataset(source, "workload")
    given = Instance.load(source)
    instance = expand(given)
    with staging(Path(out), "workload", force=force) as stage:
        nodes = np.repeat(np.arange(instance.n_nodes, dtype=np.int32), np.diff(instance.indptr))
        pairs = {"node": pa.array(nodes), "topic": pa.array(instance.topics)}
        write_table(stage.table("subscriptions"), pa.table(pairs))
        for table, column, names in (
            ("nodes", "node", instance.node_names),
            ("topics", "topic", instance.topic_names),
        ):
            ids = pa.array(np.arange(len(names), dtype=np.int32))
            write_table(stage.table(table), pa.table({column: ids, "name": arrow_names(names)}))
        empty = pa.array([], pa.string())
        rejected = {"source": empty, "record": empty, "reason": empty}
        write_table(stage.table("rejected"), pa.table(rejected))
        return stage.publish(
            {
                "n_nodes": instance.n_nodes,
                "n_topics": instance.n_topics,
                "n_subscriptions": instance.n_subscriptions,
                "n_rejected": 0,
                "n_duplicates": 0,
                "n_self_loops": 0,
                "digest": instance.digest,
                "node_names_digest": names_digest(arrow_names(instance.node_names)),
                "topic_names_digest": names_digest(arrow_names(instance.topic_names)),
                "source": before.get("source", []),
                "parameters": {
                    **before.get("parameters", {}),
                    "expanded": str(source),
                    "n_subscriptions_before": given.n_subscriptions,
                },
            }
        )
