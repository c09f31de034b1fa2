"""Configuration directories for the lab's tests, written by hand: trees of bridges."""

import json
import os
import random
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

Edge = tuple[str, str]

SEARCH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
needs_mosquitto = pytest.mark.skipif(
    shutil.which("mosquitto", path=SEARCH) is None, reason="mosquitto is not installed"
)


def write_conf(
    conf: Path,
    topics: Mapping[str, Sequence[Edge]],
    *,
    publishers: Mapping[str, Sequence[str]] | None = None,
    qos: int = 1,
    cleansession: bool = False,
    restart_timeout: int = 1,
    hosts: Mapping[str, str] | None = None,
) -> Path:
    """Write a plan and its brokers: each topic is a tree of (dialling, dialled) edges."""
    nodes = sorted({n for edges in topics.values() for edge in edges for n in edge})
    links: dict[Edge, list[str]] = {}
    for name, edges in topics.items():
        for edge in edges:
            links.setdefault(edge, []).append(name)
    where = {node: ((hosts or {}).get(node, f"{node}.example"), 1883) for node in nodes}
    sends = publishers or {}
    plan = {
        "kind": "mosquitto",
        "format_version": 1,
        "tree": "by hand",
        "qos": qos,
        "brokers": [
            {"node": n, "directory": n, "host": where[n][0], "port": where[n][1], "tls": False}
            for n in nodes
        ],
        "links": [{"from": u, "to": v} for u, v in links],
        "topics": [
            {
                "name": name,
                "subscribers": sorted(ends(edges) - set(sends.get(name, ()))),
                "publishers": sorted(ends(edges)),
                "relays": [],
                "example": name,
                "edges": [list(edge) for edge in edges],
            }
            for name, edges in topics.items()
        ],
    }
    conf.mkdir(parents=True)
    (conf / "plan.json").write_text(json.dumps(plan))
    for node in nodes:
        lines = [f"listener {where[node][1]} {where[node][0]}", "allow_anonymous true"]
        for (u, v), names in links.items():
            if u != node:
                continue
            lines += [
                f"connection {u}-{v}",
                f"address {where[v][0]}:{where[v][1]}",
                f"remote_clientid {u}-{v}",
                f"local_clientid local-{u}-{v}",
                f"cleansession {str(cleansession).lower()}",
                "notifications false",
                f"restart_timeout {restart_timeout}",
            ]
            for name in names:
                direction = "out" if u in sends.get(name, ()) else "both"
                lines.append(f"topic {name} {direction} {qos}")
        (conf / node).mkdir()
        (conf / node / "mosquitto.conf").write_text("\n".join([*lines, ""]))
    return conf


def ends(edges: Iterable[Edge]) -> set[str]:
    return {n for edge in edges for n in edge}


def random_trees(n_nodes: int, n_topics: int, size: int, seed: int = 0) -> dict[str, list[Edge]]:
    """Return topics on trees of `size` brokers each, inside one tree that spans all brokers."""
    draw = random.Random(seed)
    nodes = [f"b{i:02d}" for i in range(n_nodes)]
    parent = {i: draw.randrange(i) for i in range(1, n_nodes)}
    near: dict[int, set[int]] = {i: set() for i in range(n_nodes)}
    for child, above in parent.items():
        near[child].add(above)
        near[above].add(child)
    found = {}
    for t in range(n_topics):
        inside = [t % n_nodes]
        while len(inside) < size:
            u = draw.choice(sorted({v for n in inside for v in near[n]} - set(inside)))
            inside.append(u)
        found[f"plant/{t:03d}"] = [
            (nodes[child], nodes[above])
            for child, above in parent.items()
            if child in inside and above in inside
        ]
    return found
