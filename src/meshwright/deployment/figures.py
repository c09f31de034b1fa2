"""The figures of a plan that people look at first."""

from __future__ import annotations

from typing import Any

import numpy as np

from meshwright.deployment.plan import Plan
from meshwright.deployment.tree_kernel import tree_depth
from meshwright.deployment.trees import Edge, topics_per_link


def figures(plan: Plan) -> dict[str, Any]:
    """Return the counts of a plan, its busiest link and broker, and its deepest tree."""
    names = [broker.node for broker in plan.brokers]
    links = topics_per_link(route.edges for route in plan.routes)
    busiest = max(plan.links, key=lambda link: (links[_edge(link)], link), default=None)
    load = [0] * len(names)
    for (u, v), topics in links.items():
        load[u] += topics
        load[v] += topics
    node = max(range(len(names)), key=lambda v: load[v], default=None)
    depths = [depth_of(route.edges) for route in plan.routes]
    deepest = max(range(len(depths)), key=lambda t: depths[t], default=None)
    wanted = sum(max(len(route.subscribers) - 1, 0) for route in plan.routes)
    return {
        "brokers": len(names),
        "links": len(plan.links),
        "topics": len(plan.routes),
        "tree": plan.tree,
        "qos": plan.qos,
        "busiest_link": None
        if busiest is None
        else {
            "from": names[busiest[0]],
            "to": names[busiest[1]],
            "topics": links[_edge(busiest)],
        },
        "busiest_broker": None if node is None else {"node": names[node], "topics": load[node]},
        "deepest": None
        if deepest is None
        else {"topic": plan.routes[deepest].name, "depth": depths[deepest]},
        "security": security(plan),
        "unused_links": plan.unused,
        "added_links": len(plan.added),
        "relayed_topics": sum(1 for route in plan.routes if route.relays),
        "unwanted": plan.unwanted,
        "unwanted_share": plan.unwanted / max(wanted + plan.unwanted, 1),
        "shared": [list(group) for group in plan.shared],
        "unheard": [{"node": n, "topic": t} for n, t in plan.unheard],
    }


def depth_of(edges: tuple[Edge, ...]) -> int:
    """Return the hops from a tree's middle to its farthest node."""
    if not edges:
        return 0
    ends = np.array(edges, np.int64)
    nodes = np.unique(ends)
    local = np.searchsorted(nodes, ends)
    return int(tree_depth(len(nodes), local[:, 0].copy(), local[:, 1].copy()))


def security(plan: Plan) -> str:
    """Return in words who may connect."""
    words = ["TLS" if plan.brokers and plan.brokers[0].tls else "no TLS"]
    users = plan.brokers and plan.brokers[0].username
    words.append("a user per bridge, limited to its topics" if users else "anyone may connect")
    return ", ".join(words)


def _edge(link: Edge) -> Edge:
    return min(link), max(link)
