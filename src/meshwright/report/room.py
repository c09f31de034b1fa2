"""What a page has room for: long lists are left out where they would not fit, and never cut.

Headlines, charts and pictures count everything all the same; without its lists a page cannot find
a node, or light up a topic. The page says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Room(NamedTuple):
    """How much of each kind of list a page takes."""

    subscriptions: int  # who wants which topic, over all workloads
    edges: int  # over all overlays
    names: int  # nodes, or topics, of a workload: above that none of their columns


ROOMS = (Room(1_200_000, 400_000, 100_000), Room(200_000, 60_000, 20_000), Room(0, 0, 2_000))


def trimmed(document: dict[str, Any], room: Room) -> dict[str, Any]:
    """Return a document that fits a room, its lists as JSON has them."""
    sections = document["sections"]
    workloads = [s for s in sections if s["kind"] == "overlays" and "n_nodes" in s["workload"]]
    n_overlays = sum(len(section["overlays"]) for section in workloads)
    share = Room(
        room.subscriptions // max(len(workloads), 1), room.edges // max(n_overlays, 1), room.names
    )
    fitting = [_section(s, share) if any(s is w for w in workloads) else s for s in sections]
    return {**document, "sections": fitting}


def _section(section: dict[str, Any], room: Room) -> dict[str, Any]:
    workload = dict(section["workload"])
    with_nodes = workload["n_nodes"] <= room.names
    with_topics = workload["n_topics"] <= room.names
    if not with_nodes:
        workload |= {"node_names": None, "topics_of_node": None}
    if not with_topics:
        workload |= {"topic_names": None, "subscribers_of_topic": None}
    both = with_nodes and with_topics
    workload["subscribers"] = _subscribers(workload, room.subscriptions) if both else None
    overlays = []
    for overlay in section["overlays"]:
        fitting = dict(overlay)
        edges = overlay["edges"]
        few = with_nodes and len(edges) <= room.edges
        fitting["edges"] = (
            {"one": edges[:, 0].tolist(), "other": edges[:, 1].tolist()} if few else None
        )
        if not with_topics:
            fitting["topics"] = None
        if not with_nodes:
            fitting["degree"] = {**overlay["degree"], "of_node": None}
            fitting["picture"] = {**overlay["picture"], "group": None}
        overlays.append(fitting)
    return {**section, "workload": workload, "overlays": overlays}


def _subscribers(workload: dict[str, Any], most: int) -> list[list[int] | None]:
    """Return who wants each topic, None for the largest topics where all are too many.

    Small topics first: so most can be chosen, and large ones light up nearly everything anyway.
    """
    sizes = np.array(workload["subscribers_of_topic"], np.int64)
    order = np.argsort(sizes, kind="stable")
    listed = np.zeros(len(sizes), np.bool_)
    listed[order[np.cumsum(sizes[order]) <= most]] = True
    wanted = workload["subscribers"]
    return [wanted[t].tolist() if listed[t] else None for t in range(len(sizes))]
