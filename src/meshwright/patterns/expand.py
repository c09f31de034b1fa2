"""Filters expanded: a node with a filter becomes a subscriber of everything the filter matches."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from meshwright.model.instance import Instance
from meshwright.model.names import arrow_names
from meshwright.patterns.filters import PatternIndex, all_meets, is_filter
from meshwright.storage import Manifest, open_dataset, staging, write_table
from meshwright.storage.digest import names_digest


def expand(instance: Instance, names: Iterable[str] = ()) -> Instance:
    """Return the instance in which a filter's node wants everything that the filter matches.

    The node becomes a subscriber of every concrete topic and every narrower filter that its
    filter covers. Where filters cross, their meet becomes a topic that the subscribers of both
    want. Further `names` that a filter matches become topics too. An instance without filters is
    returned unchanged.

    Examples
    --------
    >>> expanded = expand(Instance.from_pairs([("a", "x/1"), ("log", "#")]))
    >>> [expanded.topic_names[t] for t in expanded.topics_of(1)]
    ['#', 'x/1']
    """
    topics = list(instance.topic_names)
    if not any(map(is_filter, topics)):
        return instance
    filters = PatternIndex(filter(is_filter, topics))
    subscribers: dict[str, set[str]] = {name: set() for name in topics}
    for node, node_name in enumerate(instance.node_names):
        for topic in instance.topics_of(node).tolist():
            subscribers[topics[topic]].add(node_name)
    listed = {*topics, *names}
    pairs = (
        (node, name)
        for name in listed | all_meets(listed)
        for node in subscribers.get(name, set()).union(
            *(subscribers[wide] for wide in filters.covering(name))
        )
    )
    return Instance.from_pairs(pairs, nodes=instance.node_names)


def expand_workload(workload: str | Path, out: str | Path, *, force: bool = False) -> Manifest:
    """Write the workload in which each filter's node wants everything that the filter matches."""
    source = Path(workload)
    before = open_dataset(source, "workload")
    given = Instance.read(before)
    instance = expand(given)
    with staging(Path(out), "workload", force=force) as stage:
        pairs = {"node": pa.array(instance.nodes), "topic": pa.array(instance.topics)}
        write_table(stage.table("subscriptions"), pa.table(pairs))
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
                "n_rejected": 0,
                "n_duplicates": 0,
                "n_self_loops": 0,
                "digest": instance.digest,
                **digests,
                "source": before.get("source", []),
                "parameters": {
                    **before.get("parameters", {}),
                    "expanded": str(source),
                    "n_subscriptions_before": given.n_subscriptions,
                },
            }
        )
