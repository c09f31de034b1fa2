"""Workload -> the instance to design for: filters expanded, publishers taking part.

A message must reach every node that wants its topic, wherever it is published. So the nodes that
take part in a topic t are its subscribers and, if there is a subscriber, its publishers. The
sub-overlay of t is that of all who take part, and gain, support, bounds and the check count them
all. Nodes that only publish t need no delivery (`Instance.wants` is false): where such a node
passes t on, or receives it, it is a relay.

Who publishes is a choice:

- ``listed``: what the workload's publications say. A topic that nobody publishes needs no links.
- ``subscribers``: every subscriber publishes its topics, as in the papers. Only subscribers take
  part.
- ``anyone``: every node may publish every topic that somebody wants, so all take part in all.

After expansion a name's message belongs to the narrowest pattern that matches it: the meet of all
patterns, of subscribers and publishers, that match it is a topic too, and the nodes that take part
there are exactly the name's subscribers and publishers.
"""

from dataclasses import replace

import numpy as np

from meshwright.errors import InputError, check_choice
from meshwright.model.instance import Instance, row_pointers
from meshwright.model.publications import Publications
from meshwright.patterns.expand import expand
from meshwright.runtime.arrays import Bools
from meshwright.storage.digest import pack, unpack

ASSUMPTIONS = ("listed", "subscribers", "anyone")
MOST_PAIRS = 200_000_000  # of nodes and topics, if anyone may publish: about 4 GB


def assumption(instance: Instance, assume: str | None) -> str:
    """Return who is taken to publish: as asked, or by whether the workload has publications."""
    check_choice("assume_publishers", assume, ASSUMPTIONS)
    if assume == "listed" and not instance.n_publications:
        raise InputError(
            "the workload has no publications. Give them to ingest (--role or --publications), "
            "or choose --assume-publishers subscribers or anyone."
        )
    return assume or ("listed" if instance.n_publications else "subscribers")


def make_demand(workload: Instance, assume: str | None = None) -> Instance:
    """Return the instance to design for, which is the workload itself if it needs no change.

    Examples
    --------
    >>> published = [("edge", "dev/7/temp")]
    >>> workload = Instance.from_pairs([("cloud", "dev/+/temp")], publications=published)
    >>> made = make_demand(workload)
    >>> [(made.node_names[v], made.topic_names[t]) for v, t in zip(made.nodes, made.topics)]
    [('cloud', 'dev/7/temp'), ('edge', 'dev/7/temp')]
    >>> made.wants.tolist()
    [True, False]
    """
    assume = assumption(workload, assume)
    expanded = expand(workload)
    if assume == "subscribers":
        if expanded is workload and not workload.n_publications:
            return workload
        return replace(expanded, publications=Publications.none(), workload=workload, _digest=[])
    n_topics = expanded.n_topics
    wanted = pack(expanded.nodes, expanded.topics)
    heard = np.bincount(expanded.topics, minlength=n_topics) > 0
    if assume == "listed":
        made = expanded.publications
        published = pack(made.nodes, made.topics)
        spoken = np.bincount(made.topics, minlength=n_topics) > 0
    else:
        n_pairs = expanded.n_nodes * int(np.count_nonzero(heard))
        if n_pairs > MOST_PAIRS:
            raise InputError(
                f"if anyone may publish, {n_pairs:,} pairs of a node and a topic take part, "
                f"{MOST_PAIRS:,} at most. Give the publishers (ingest --publications)."
            )
        everyone = np.arange(expanded.n_nodes, dtype=np.int32)
        anything = np.flatnonzero(heard).astype(np.int32)
        published = pack(np.repeat(everyone, len(anything)), np.tile(anything, len(everyone)))
        spoken = heard
    needed = heard & spoken
    pairs = np.union1d(wanted, published)
    nodes, topics = unpack(pairs)
    taking = needed[topics]
    wants: Bools = np.isin(pairs, wanted)[taking]
    nodes, topics = nodes[taking], topics[taking]
    return Instance(
        expanded.node_names,
        expanded.topic_names,
        row_pointers(nodes, expanded.n_nodes),
        topics,
        expanded.publications if assume == "listed" else Publications.none(),
        wants,
        workload,
    )
