"""An instance in memory -> workload; nothing here needs a JVM."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from meshwright.model.instance import Instance
from meshwright.model.names import arrow_names
from meshwright.patterns.expand import expand
from meshwright.storage import Manifest, open_dataset, staging, write_table
from meshwright.storage.digest import names_digest


def write_workload(
    instance: Instance,
    out: str | Path,
    *,
    facts: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Manifest:
    """Write an instance as a workload dataset; `facts` adds to its manifest."""
    with staging(Path(out), "workload", force=force) as stage:
        pairs = {"node": pa.array(instance.nodes), "topic": pa.array(instance.topics)}
        write_table(stage.table("subscriptions"), pa.table(pairs))
        if instance.n_publications:
            write_table(stage.table("publications"), instance.publications.as_table())
        digests = {}
        for column, names in (("node", instance.node_names), ("topic", instance.topic_names)):
            table = {
                column: pa.array(np.arange(len(names), dtype=np.int32)),
                "name": arrow_names(names),
            }
            write_table(stage.table(f"{column}s"), pa.table(table))
            digests[f"{column}_names_digest"] = names_digest(table["name"])
        rejected = dict.fromkeys(("source", "record", "reason"), pa.array([], pa.string()))
        write_table(stage.table("rejected"), pa.table(rejected))
        return stage.publish(
            {
                "n_nodes": instance.n_nodes,
                "n_topics": instance.n_topics,
                "n_subscriptions": instance.n_subscriptions,
                "n_publications": instance.n_publications,
                "n_rejected": 0,
                "n_duplicates": 0,
                "n_self_loops": 0,
                "digest": instance.digest,
                **digests,
                "source": [],
                "parameters": {},
                **(facts or {}),
            }
        )


def expand_workload(workload: str | Path, out: str | Path, *, force: bool = False) -> Manifest:
    """Write the workload in which nodes want, and publish, everything that their filters match."""
    source = Path(workload)
    before = open_dataset(source, "workload")
    given = Instance.read(before)
    parameters = {
        **before.get("parameters", {}),
        "expanded": str(source),
        "n_subscriptions_before": given.n_subscriptions,
    }
    facts = {"source": before.get("source", []), "parameters": parameters}
    return write_workload(expand(given), out, facts=facts, force=force)
