"""The proof that a configuration carries every name over a forest that reaches its subscribers.

It works on the files as `read_conf` finds them and shares no code with the planner except the
meaning of filters. There are infinitely many names, but which lines carry a name depends only on
the patterns that match it: one example for each way in which patterns overlap stands for all.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from meshwright.deploy.plan import CONFIGURATION, Direction
from meshwright.deploy.read import Conf, read_conf
from meshwright.patterns.filters import PatternIndex, is_filter, representative_names

RIGHTS = {"both": {"read", "write"}, "out": {"write"}, "in": {"read"}}
GRANTED = {"readwrite": {"read", "write"}, "write": {"write"}, "read": {"read"}}
REQUIRED = {"try_private": "true", "cleansession": "true", "notifications_local_only": "true"}


class Carrier(NamedTuple):
    """One line of one bridge: it carries one pattern between two nodes."""

    at: str  # the node whose file holds the line
    to: str
    connection: int  # the place of the bridge among those of that file
    pattern: str
    direction: Direction

    @property
    def bridge(self) -> tuple[str, int]:
        """Which bridge it is."""
        return self.at, self.connection


def validate(conf: str | Path | Conf) -> list[str]:
    """Return what is wrong with a directory of configurations; empty when all is proved.

    For every concrete name, the bridges that carry it close no cycle and no bridge carries it
    twice; every topic's subscribers reach each other and are reached by its publishers, and no
    broker gets a topic that it neither wants nor relays. With credentials, every bridge may do at
    the other end what its lines need, and nothing else.
    """
    found = conf if isinstance(conf, Conf) else read_conf(conf)
    carriers = carriers_of(found)
    wrong = [*bridge_findings(found), *cycle_findings(carriers, found)]
    wrong += reach_findings(carriers, found)
    inbound = grouped(carriers, attrgetter("to"))
    for node in found.brokers:
        wrong += access_findings(node, inbound.get(node, []), found)
    return wrong


def carriers_of(conf: Conf) -> list[Carrier]:
    """Return every line of every bridge between two brokers of the configuration."""
    ends = conf.by_endpoint
    return [
        Carrier(node, ends[bridge.address], i, line.pattern, line.direction)
        for node, broker in conf.brokers.items()
        for i, bridge in enumerate(broker.bridges)
        if ends.get(bridge.address, node) != node
        for line in bridge.lines
    ]


def grouped(carriers: Iterable[Carrier], key: Callable[[Carrier], str]) -> dict[str, list[Carrier]]:
    """Return the lines by a key, in their order."""
    found: dict[str, list[Carrier]] = {}
    for carrier in carriers:
        found.setdefault(key(carrier), []).append(carrier)
    return found


def bridge_findings(conf: Conf) -> Iterator[str]:
    """Yield bridges with wrong ends, or with options that could double or lose a message."""
    ends = conf.by_endpoint
    owners: dict[tuple[str, str], str] = {}  # (broker, client id there) -> the bridge's other end
    for node, bridge in ((n, b) for n, broker in conf.brokers.items() for b in broker.bridges):
        to = ends.get(bridge.address, node)
        if to == node:
            yield f"{node!r} dials {bridge.address!r}, which is not another broker of the plan"
        else:
            remote = bridge.options.get("remote_clientid", "")
            before = owners.setdefault((to, remote), node)
            if before != node or not remote:
                yield (
                    f"{node!r} and {before!r} dial {to!r} with the client id {remote!r}: each "
                    "connection would end the other"
                )
            local = bridge.options.get("local_clientid", "")
            if owners.setdefault((node, local), to) != to or not local:
                yield f"{node!r} has bridges that share the local client id {local!r}"
            if ("cafile" in conf.brokers[to].options) != ("bridge_cafile" in bridge.options):
                yield f"{node!r} - {to!r}: only one end of the link uses TLS"
        for option, value in REQUIRED.items():
            got = bridge.options.get(option, "not set")
            if got != value:
                yield f"{node!r}, bridge {bridge.name!r}: {option} is {got}, not {value}"


def cycle_findings(carriers: Sequence[Carrier], conf: Conf) -> list[str]:
    """Return the names that some bridges would carry in a cycle, or one bridge twice."""
    patterns = {carrier.pattern for carrier in carriers}
    names = {*representative_names(patterns), *(route.example for route in conf.plan.routes)}
    wrong = []
    for name, here in carried(carriers, names):
        cycle = find_cycle(here)
        if cycle:
            links = ", ".join(f"{c.at!r} - {c.to!r}" for c in cycle)
            wrong.append(f"{name!r} goes in circles over {links}")
        twice = find_doubled(here, conf)
        if twice:
            wrong.append(f"{name!r} is sent twice by the bridge {twice.at!r} - {twice.to!r}")
    return wrong


def carried(
    carriers: Sequence[Carrier], names: Iterable[str]
) -> Iterator[tuple[str, list[Carrier]]]:
    """Yield each name with the lines that carry it."""
    by_pattern = grouped(carriers, attrgetter("pattern"))
    filters = PatternIndex(filter(is_filter, by_pattern))
    for name in sorted(names):
        here = [c for pattern in filters.covering(name) for c in by_pattern[pattern]]
        yield name, here + by_pattern.get(name, [])


def find_cycle(carriers: Iterable[Carrier]) -> list[Carrier]:
    """Return bridges that close a cycle, or nothing. Two between the same pair close one."""
    near: dict[str, list[tuple[str, Carrier]]] = {}  # node -> its neighbours, by which bridges
    for carrier in {c.bridge: c for c in carriers}.values():
        near.setdefault(carrier.at, []).append((carrier.to, carrier))
        near.setdefault(carrier.to, []).append((carrier.at, carrier))
    came: dict[str, tuple[str, Carrier] | None] = {}  # node -> from where the search reached it

    def path(node: str) -> list[Carrier]:
        found = []
        while (step := came[node]) is not None:
            node, carrier = step
            found.append(carrier)
        return found

    for start in near:
        queue = [] if start in came else [start]
        came.setdefault(start, None)
        for node in queue:
            for other, carrier in near[node]:
                if came[node] == (other, carrier):
                    continue
                if other in came:
                    one, two = path(node), path(other)
                    ways = [c for c in one if c not in two] + [c for c in two if c not in one]
                    return [carrier, *ways]
                came[other] = node, carrier
                queue.append(other)
    return []


def find_doubled(carriers: Sequence[Carrier], conf: Conf) -> Carrier | None:
    """Return a line whose bridge has another for the same name, where that gives two copies."""
    seen: set[tuple[str, int]] = set()
    for carrier in carriers:
        if carrier.bridge in seen:
            options = conf.brokers[carrier.at].bridges[carrier.connection].options
            # A private bridge of MQTT 3.1.1 gets one copy; one of MQTT 5 gets one for each line.
            if options.get("bridge_protocol_version", "mqttv311") != "mqttv311":
                return carrier
        seen.add(carrier.bridge)
    return None


def reach_findings(carriers: Sequence[Carrier], conf: Conf) -> Iterator[str]:
    """Yield the subscribers that would miss a message, and the brokers that get one unasked."""
    routes = {route.example: route for route in conf.plan.routes}
    for name, here in carried(carriers, routes):
        route = routes[name]
        wanted = set(route.subscribers)
        if not wanted:
            continue
        both: dict[str, list[str]] = {}
        ways: dict[str, list[str]] = {}
        for c in here:
            for start, end, only in ((c.at, c.to, "out"), (c.to, c.at, "in")):
                if c.direction in ("both", only):
                    ways.setdefault(start, []).append(end)
                if c.direction == "both":
                    both.setdefault(start, []).append(end)
        # Brokers that are joined both ways reach the same ones: one of them stands for all.
        first = min(wanted)
        others = {*route.publishers, *wanted} - reach(both, first)
        for publisher in [first, *sorted(others)]:
            reached = reach(ways, publisher)
            lost = sorted(wanted - reached)
            unasked = sorted(reached - wanted - {*route.relays, publisher})
            for nodes, what in ((lost, "does not reach"), (unasked, "reaches, unasked,")):
                if nodes:
                    listed = ", ".join(map(repr, nodes[:5]))
                    yield f"topic {route.name!r} from {publisher!r} {what} {listed}"


def reach(ways: Mapping[str, list[str]], start: str) -> set[str]:
    """Return the nodes that a message from `start` comes to, itself included."""
    seen = {start}
    queue = [start]
    for node in queue:
        new = [other for other in ways.get(node, ()) if other not in seen]
        seen.update(new)
        queue += new
    return seen


def access_findings(node: str, inbound: Sequence[Carrier], conf: Conf) -> Iterator[str]:
    """Yield what is wrong with the users and their rights at one broker."""
    broker = conf.brokers[node]
    if broker.options.get("allow_anonymous") != "false":
        if broker.users:
            yield f"{node!r} has users and lets anyone in"
        return
    for name in (CONFIGURATION, "passwd", "acl"):
        file = conf.path / conf.plan.directories[node] / name
        if file.exists() and file.stat().st_mode & 0o077:
            yield f"'{file}' can be read by others than its owner"
    needed: dict[str, dict[str, set[str]]] = {}  # user -> pattern -> rights
    for c in inbound:
        options = conf.brokers[c.at].bridges[c.connection].options
        user = options.get("remote_username", "")
        needed.setdefault(user, {}).setdefault(c.pattern, set()).update(RIGHTS[c.direction])
    own = {b.username for b in conf.plan.brokers if b.node == node}
    for user in sorted({*needed, *broker.acl}):
        if user not in broker.users:
            yield f"{node!r} has no password for the user {user!r}"
        granted: dict[str, set[str]] = {}
        for right, pattern in broker.acl.get(user, []):
            granted.setdefault(pattern, set()).update(GRANTED.get(right, set()))
        for pattern, rights in needed.get(user, {}).items():
            if rights - granted.get(pattern, set()):
                yield f"{node!r} does not let {user!r} use {pattern!r} as its bridge does"
        if user not in own:
            for pattern, rights in granted.items():
                if rights - needed.get(user, {}).get(pattern, set()):
                    yield f"{node!r} lets {user!r} use {pattern!r}, which no bridge needs"
