"""Small datasets written without Spark."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from meshwright import storage
from meshwright.model.instance import Instance
from meshwright.storage import staging, write_table


def write_instance(instance: Instance, path: Path, *, force: bool = False) -> Path:
    """Write an instance as a workload dataset."""
    with staging(path, "workload", force=force) as stage:
        write_table(
            stage.table("subscriptions"),
            pa.table({"node": pa.array(instance.nodes), "topic": pa.array(instance.topics)}),
        )
        for table, column, names in (
            ("nodes", "node", instance.node_names),
            ("topics", "topic", instance.topic_names),
        ):
            ids = pa.array(np.arange(len(names), dtype=np.int32))
            write_table(
                stage.table(table),
                pa.table({column: ids, "name": pa.array(list(names), pa.string())}),
            )
        text = pa.array([], pa.string())
        write_table(
            stage.table("rejected"), pa.table({"source": text, "record": text, "reason": text})
        )
        stage.publish(
            {
                "n_nodes": instance.n_nodes,
                "n_topics": instance.n_topics,
                "n_subscriptions": instance.n_subscriptions,
                "n_rejected": 0,
                "n_duplicates": 0,
                "n_self_loops": 0,
                "digest": instance.digest,
                "source": ["test"],
                "parameters": {},
            }
        )
    return path


def read_table(path: Path | str, table: str) -> pa.Table:
    """Return a table of the dataset at a path."""
    return storage.read_table(storage.read_manifest(Path(path)), table)
