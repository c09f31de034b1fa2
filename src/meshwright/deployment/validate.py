"""The proof that a configuration carries every name over a forest that reaches whom it should.

It works on what `read_conf` finds in the files and shares no code with the planner but the meaning
of filters. Names are infinitely many, but what carries a name depends only on which patterns of
the files match it: one example for each way in which patterns overlap stands for all.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from meshwright.deployment.filters import PatternIndex, examples, is_filter, meets
from meshwright.deployment.plan import Direction
from meshwright.deployment.read import BrokerConf, Conf, read_conf

RIGHTS = {"both": {"read", "write"}, "out": {"write"}, "in": {"read"}}
GRANTED = {"readwrite": {"read", "write"}, "write": {"write"}, "read": {"read"}}


@dataclass(frozen=True, slots=True)
class Carrier:
    """One bridge that carries one pattern."""

    at: str  # the node whose file it stands in
    to: str
    connection: int  # its place among the bridges of that file
    pattern: str
    direction: Direction

    @property
    def bridge(self) -> tuple[str, int]:
        """Which bridge it is."""
        return self.at, self.connection


def validate(conf: str | Path | Conf) -> list[str]:
    """Return what is wrong with a directory of configurations; empty when all is proved.

    For every concrete name the bridges that carry it close no cycle and no bridge carries it
    twice; every topic's subscribers reach each other and are reached by its publishers, and no
    broker gets what it neither wants nor relays. With credentials every bridge may do at the
    other end what its lines need, and nothing else.
    """
    found = conf if isinstance(conf, Conf) else read_conf(conf)
    carriers, wrong = carriers_of(found)
    wrong += settings_findings(found)
    wrong += cycle_findings(carriers, found)
    wrong += reach_findings(carriers, found)
    inbound: dict[str, list[Carrier]] = {}
    for carrier in carriers:
        inbound.setdefault(carrier.to, []).append(carrier)
    for node, broker in found.brokers.items():
        wrong += access_findings(broker, inbound.get(node, []), found)
    return wrong


def carriers_of(conf: Conf) -> tuple[list[Carrier], list[str]]:
    """Return every line of every bridge, and what is wrong with the ends of bridges."""
    ends = conf.by_endpoint
    found: list[Carrier] = []
    wrong: list[str] = []
    names: dict[tuple[str, str], str] = {}  # (where it connects, client id) -> whose bridge
    for node, broker in conf.brokers.items():
        for i, bridge in enumerate(broker.bridges):
            address = bridge.options.get("address", "")
            to = ends.get(address)
            if to is None or to == node:
                wrong.append(f"{node!r} dials {address!r}, which is no other broker of the plan")
                continue
            client = bridge.options.get("remote_clientid", "")
            before = names.setdefault((to, client), node)
            if before != node or not client:
                wrong.append(
                    f"{node!r} and {before!r} dial {to!r} with the client id {client!r}: one would "
                    "push the other out"
                )
            local = bridge.options.get("local_clientid", "")
            if names.setdefault((node, local), to) != to or not local:
                wrong.append(f"{node!r} has bridges that share the local client id {local!r}")
            for line in bridge.lines:
                found.append(Carrier(node, to, i, line.pattern, line.direction))
    return found, wrong


def settings_findings(conf: Conf) -> list[str]:
    """Return options of bridges with which a message could double, echo or be left behind."""
    wrong = []
    needed = {
        "try_private": "true",
        "cleansession": "true",
        "notifications_local_only": "true",
    }
    ends = conf.by_endpoint
    for node, broker in conf.brokers.items():
        for bridge in broker.bridges:
            to = ends.get(bridge.options.get("address", ""), node)
            if ("cafile" in conf.brokers[to].options) != ("bridge_cafile" in bridge.options):
                wrong.append(f"{node!r} - {to!r}: one end of the link uses TLS and the other not")
            for option, value in needed.items():
                if bridge.options.get(option) != value:
                    got = bridge.options.get(option, "not set")
                    wrong.append(
                        f"{node!r}, bridge {bridge.name!r}: {option} is {got}, not {value}"
                    )
    return wrong


def representative_names(patterns: Iterable[str]) -> list[str]:
    """Return names that meet the patterns in every way in which a name can."""
    listed = set(patterns)
    return sorted(set(examples(listed | meets(listed)).values()))


def cycle_findings(carriers: Sequence[Carrier], conf: Conf) -> list[str]:
    """Return the names that some bridges would carry in a circle, or one bridge twice."""
    patterns = {carrier.pattern for carrier in carriers}
    names = {*representative_names(patterns), *(t["example"] for t in conf.plan["topics"])}
    wrong = []
    for name, here in carried(carriers, names):
        circle = circle_of(here)
        if circle:
            links = ", ".join(f"{c.at!r} - {c.to!r}" for c in circle)
            wrong.append(f"{name!r} goes in circles over {links}")
        twice = doubled(here, conf)
        if twice:
            wrong.append(f"{name!r} is sent twice by the bridge {twice.at!r} - {twice.to!r}")
    return wrong


def carried(
    carriers: Sequence[Carrier], names: Iterable[str]
) -> Iterable[tuple[str, list[Carrier]]]:
    """Yield each name with the lines that carry it."""
    by_pattern: dict[str, list[Carrier]] = {}
    for carrier in carriers:
        by_pattern.setdefault(carrier.pattern, []).append(carrier)
    filters = PatternIndex(pattern for pattern in by_pattern if is_filter(pattern))
    for name in sorted(names):
        here = [c for pattern in filters.covering(name) for c in by_pattern[pattern]]
        yield name, here + by_pattern.get(name, [])


def circle_of(carriers: Iterable[Carrier]) -> list[Carrier]:
    """Return bridges that close a circle, or nothing. Two between the same pair close one."""
    joined: dict[str, dict[str, Carrier]] = {}
    parent: dict[str, str] = {}

    def find(node: str) -> str:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for carrier in {c.bridge: c for c in carriers}.values():
        a, b = find(carrier.at), find(carrier.to)
        if a == b:
            return [carrier, *path_between(joined, carrier.to, carrier.at)]
        parent[a] = b
        joined.setdefault(carrier.at, {})[carrier.to] = carrier
        joined.setdefault(carrier.to, {})[carrier.at] = carrier
    return []


def path_between(
    joined: Mapping[str, Mapping[str, Carrier]], start: str, end: str
) -> list[Carrier]:
    """Return the bridges from one node to another in a forest that joins them."""
    came = {start: start}
    queue = [start]
    for node in queue:
        for other in joined.get(node, ()):
            if other not in came:
                came[other] = node
                queue.append(other)
    path = []
    while end != start:
        path.append(joined[end][came[end]])
        end = came[end]
    return path[::-1]


def doubled(carriers: Sequence[Carrier], conf: Conf) -> Carrier | None:
    """Return a line whose bridge has another for the same name, where that gives two copies.

    A private bridge of MQTT 3.1.1 gets one copy; one of MQTT 5 gets one for each line.
    """
    seen: set[tuple[str, int]] = set()
    for carrier in carriers:
        if carrier.bridge in seen:
            options = conf.brokers[carrier.at].bridges[carrier.connection].options
            if options.get("bridge_protocol_version", "mqttv311") != "mqttv311":
                return carrier
        seen.add(carrier.bridge)
    return None


def reach_findings(carriers: Sequence[Carrier], conf: Conf) -> list[str]:
    """Return the subscribers that would miss a message, and the brokers that get one unasked."""
    topics = {topic["example"]: topic for topic in conf.plan["topics"]}
    wrong = []
    for name, here in carried(carriers, topics):
        topic = topics[name]
        wanted = set(topic["subscribers"])
        known = wanted | set(topic["relays"])
        both: dict[str, list[str]] = {}
        ways: dict[str, list[str]] = {}
        for c in here:
            for start, end, only in ((c.at, c.to, "out"), (c.to, c.at, "in")):
                if c.direction in ("both", only):
                    ways.setdefault(start, []).append(end)
                if c.direction == "both":
                    both.setdefault(start, []).append(end)
        # Those who are joined both ways reach the same: one of them speaks for all.
        group = reach(both, min(wanted)) if wanted else set()
        speakers = sorted({*topic["publishers"], *wanted} - group)
        for publisher in [min(wanted), *speakers] if wanted else []:
            reached = reach(ways, publisher)
            lost = sorted(wanted - reached)
            unasked = sorted(reached - known - {publisher})
            for nodes, what in ((lost, "does not reach"), (unasked, "reaches, unasked,")):
                if nodes:
                    listed = ", ".join(map(repr, nodes[:5]))
                    wrong.append(f"topic {topic['name']!r} from {publisher!r} {what} {listed}")
    return wrong


def reach(ways: Mapping[str, list[str]], start: str) -> set[str]:
    """Return the nodes that a message from one of them comes to, itself included."""
    seen = {start}
    queue = [start]
    for node in queue:
        for other in ways.get(node, ()):
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return seen


def access_findings(broker: BrokerConf, inbound: Sequence[Carrier], conf: Conf) -> list[str]:
    """Return what is wrong with who may do what at one broker."""
    node = broker.node
    files = [conf.path / broker.directory / name for name in ("mosquitto.conf", "passwd", "acl")]
    if broker.options.get("allow_anonymous") != "false":
        return [f"{node!r} has users and lets anyone in"] if broker.users else []
    wrong = [
        f"'{file}' can be read by others than its owner"
        for file in files
        if file.exists() and stat.S_IMODE(file.stat().st_mode) & 0o077
    ]
    needed: dict[str, dict[str, set[str]]] = {}
    for c in inbound:
        options = conf.brokers[c.at].bridges[c.connection].options
        user = options.get("remote_username", "")
        needed.setdefault(user, {}).setdefault(c.pattern, set()).update(RIGHTS[c.direction])
    own = next((b["username"] for b in conf.plan["brokers"] if b["node"] == node), None)
    for user in sorted({*needed, *broker.acl}):
        if user not in broker.users:
            wrong.append(f"{node!r} has no password for the user {user!r}")
        granted: dict[str, set[str]] = {}
        for right, pattern in broker.acl.get(user, []):
            granted.setdefault(pattern, set()).update(GRANTED.get(right, set()))
        for pattern, rights in needed.get(user, {}).items():
            if rights - granted.get(pattern, set()):
                wrong.append(f"{node!r} does not let {user!r} use {pattern!r} as its bridge does")
        if user != own:
            for pattern, rights in granted.items():
                if rights - needed.get(user, {}).get(pattern, set()):
                    wrong.append(f"{node!r} lets {user!r} use {pattern!r}, which no bridge needs")
    return wrong
