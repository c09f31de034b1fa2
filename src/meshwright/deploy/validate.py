"""The proof that a configuration carries every name over a forest that reaches its subscribers.

It works on the files as `read_conf` finds them and shares no code with the planner except the
meaning of filters. There are infinitely many names, but which lines carry a name depends only on
the patterns that match it: one example for each way in which patterns overlap stands for all.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from meshwright.deploy.inventory import is_hash_of
from meshwright.deploy.plan import LAYOUTS, Broker
from meshwright.deploy.read import BrokerConf, Conf, read_conf
from meshwright.deploy.route import Direction
from meshwright.patterns.filters import PatternIndex, is_filter, representative_names

TLS = ("cafile", "certfile", "keyfile")
RIGHTS = {"both": {"read", "write"}, "out": {"write"}, "in": {"read"}}
GRANTED = {"readwrite": {"read", "write"}, "write": {"write"}, "read": {"read"}}
Needs = dict[str, dict[str, set[str]]]  # user -> topic -> rights
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
    wrong = [*broker_findings(found), *bridge_findings(found)]
    wrong += cycle_findings(carriers, found)
    wrong += reach_findings(carriers, found)
    needed = needs(carriers, found)
    for broker in found.plan.brokers:
        wrong += access_findings(broker, needed[broker.node], found)
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


def broker_findings(conf: Conf) -> Iterator[str]:
    """Yield brokers that are not where others dial, or that would not start."""
    for broker in conf.plan.brokers:
        node, found = broker.node, conf.brokers[broker.node]
        if conf.plan.layout == "whole":
            yield from listener_findings(broker, found)
        for bridge in found.bridges:
            if not bridge.lines:
                yield f"{node!r}, bridge {bridge.name!r}: it has no topic, so it does not start"
            if 0 < sum(f"bridge_{name}" in bridge.options for name in TLS) < len(TLS):
                yield f"{node!r}, bridge {bridge.name!r}: not all of {', '.join(TLS)} are given"


def listener_findings(broker: Broker, found: BrokerConf) -> Iterator[str]:
    """Yield what is wrong with the listener of a whole file."""
    listens = found.options.get("listener", "nowhere")
    if listens not in (str(broker.port), f"{broker.port} {broker.host.lower()}"):
        yield f"{broker.node!r} listens on {listens!r}, and others dial {broker.endpoint!r}"
    given = [name for name in TLS if name in found.options]
    if given != list(TLS if broker.tls else ()):
        yield f"{broker.node!r} has {given or 'no certificate'}; its plan says TLS is {broker.tls}"


def bridge_findings(conf: Conf) -> Iterator[str]:
    """Yield bridges with wrong ends, or with options that could double or lose a message."""
    ends = conf.by_endpoint
    brokers = {broker.node: broker for broker in conf.plan.brokers}
    owners: dict[tuple[str, str], str] = {}  # (broker, client id there) -> the bridge's other end
    for node, bridge in ((n, b) for n, broker in conf.brokers.items() for b in broker.bridges):
        to = ends.get(bridge.address, node)
        if to == node:
            yield f"{node!r} dials {bridge.address!r}, which is not another broker of the plan"
        else:
            remote = bridge.options.get("remote_clientid", "")
            if not remote or (to, remote) in owners:
                yield (
                    f"{node!r} and {owners.get((to, remote), node)!r} dial {to!r} with the client "
                    f"id {remote!r}: each connection would end the other"
                )
            owners[to, remote] = node
            local = bridge.options.get("local_clientid", "")
            if not local or (node, local) in owners:
                yield f"{node!r} has bridges that share the local client id {local!r}"
            owners[node, local] = to
            if brokers[to].tls != ("bridge_cafile" in bridge.options):
                yield f"{node!r} - {to!r}: only one end of the link uses TLS"
            user = bridge.options.get("remote_username", "")
            if user != brokers[node].username:
                own = brokers[node].username
                yield f"{node!r} dials {to!r} as the user {user!r}, not as {own!r}"
            if user and remote in bridge.options.get("notification_topic", remote):
                yield f"{node!r} shows who reads $SYS the client id of its bridge {bridge.name!r}"
            known, secret = conf.brokers[to].users, bridge.options.get("remote_password", "")
            if user in known and not is_hash_of(known[user], secret):
                yield f"{to!r} has another password for {user!r} than the bridge of {node!r}"
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
    seen: dict[tuple[str, int], set[str]] = {}
    for carrier in carriers:
        ways = {"out", "in"} if carrier.direction == "both" else {carrier.direction}
        if ways & seen.get(carrier.bridge, set()):
            options = conf.brokers[carrier.at].bridges[carrier.connection].options
            # A private bridge of MQTT 3.1.1 gets one copy; one of MQTT 5 gets one for each line.
            if options.get("bridge_protocol_version", "mqttv311") != "mqttv311":
                return carrier
        seen.setdefault(carrier.bridge, set()).update(ways)
    return None


def reach_findings(carriers: Sequence[Carrier], conf: Conf) -> Iterator[str]:
    """Yield the subscribers that would miss a message, and the brokers that get unwanted ones."""
    routes = {route.example: route for route in conf.plan.routes}
    asked: dict[str, set[str]] = {}  # pattern -> the brokers that may get what it matches
    for route in conf.plan.routes:
        asked.setdefault(route.pattern, set()).update(route.subscribers, route.relays)
    index = PatternIndex(asked)
    patterns = {carrier.pattern for carrier in carriers}
    for name, here in carried(carriers, {*representative_names(patterns | asked.keys()), *routes}):
        both: dict[str, list[str]] = {}
        ways: dict[str, list[str]] = {}
        for c in here:
            for start, end, only in ((c.at, c.to, "out"), (c.to, c.at, "in")):
                if c.direction in ("both", only):
                    ways.setdefault(start, []).append(end)
                if c.direction == "both":
                    both.setdefault(start, []).append(end)
        may_get = {node for pattern in index.covering(name) for node in asked[pattern]}
        unwanted = sorted({end for some in ways.values() for end in some} - may_get)
        if unwanted:
            listed = ", ".join(map(repr, unwanted[:5]))
            yield f"{name!r} reaches brokers that do not want it: {listed}"
        if name not in routes or not routes[name].subscribers:
            continue
        route, wanted = routes[name], set(routes[name].subscribers)
        # Brokers that are joined both ways reach the same ones: one of them stands for all.
        publishers, joined = set(route.publishers), reach(both, min(wanted))
        for publisher in [*sorted(publishers & joined)[:1], *sorted(publishers - joined)]:
            lost = sorted(wanted - reach(ways, publisher))
            if lost:
                listed = ", ".join(map(repr, lost[:5]))
                yield f"topic {route.name!r} from {publisher!r} does not reach {listed}"


def reach(ways: Mapping[str, list[str]], start: str) -> set[str]:
    """Return the nodes that a message from `start` comes to, itself included."""
    seen = {start}
    queue = [start]
    for node in queue:
        new = [other for other in ways.get(node, ()) if other not in seen]
        seen.update(new)
        queue += new
    return seen


def needs(carriers: Iterable[Carrier], conf: Conf) -> dict[str, Needs]:
    """Return what the bridges that dial a node, and its own clients, need there."""
    found: dict[str, Needs] = {node: {} for node in conf.plan.nodes}
    for c in carriers:
        user = conf.brokers[c.at].bridges[c.connection].options.get("remote_username", "")
        for topic in conf.plan.carried_as.get(((c.at, c.to), c.pattern), (c.pattern,)):
            found[c.to].setdefault(user, {}).setdefault(topic, set()).update(RIGHTS[c.direction])
    users = {broker.node: broker.username for broker in conf.plan.brokers}
    if not conf.plan.lock_down:
        for node, name in product(users, ("#", *conf.plan.match_all)):  # `#` matches no $ name
            found[node].setdefault(users[node], {})[name] = {"read", "write"}
        for node in users:
            found[node][users[node]]["$SYS/#"] = {"read"}
    for route in conf.plan.routes if conf.plan.lock_down else ():
        for node in {*route.publishers, *route.subscribers}:
            rights = {"write"} if node in route.publishers else set()
            if node in route.subscribers:
                rights |= RIGHTS["both"]
            found[node].setdefault(users[node], {}).setdefault(route.name, set()).update(rights)
    return found


def access_findings(planned: Broker, needed: Needs, conf: Conf) -> Iterator[str]:
    """Yield what is wrong with the users and their rights at one broker."""
    node, own, broker = planned.node, planned.username, conf.brokers[planned.node]
    anonymous = broker.options.get("allow_anonymous", "not set")
    if conf.plan.layout == "whole" and anonymous != ("false" if own else "true"):
        who = "has users and lets anyone in" if own else "has no users and lets nobody in"
        yield f"{node!r} {who}: allow_anonymous is {anonymous}"
    if not own:
        for option in ("password_file", "acl_file"):
            if option in broker.options:
                yield f"{node!r} has a {option}, and its plan has no users"
        return
    for name in (LAYOUTS[conf.plan.layout], "passwd", "acl"):
        file = conf.path / conf.plan.directories[node] / name
        if file.exists() and file.stat().st_mode & 0o077:
            yield f"'{file}' can be read by others than its owner"
    for user in sorted({own, *needed, *broker.acl}):
        if user not in broker.users:
            yield f"{node!r} has no password for the user {user!r}"
        granted: dict[str, set[str]] = {}
        for right, topic in broker.acl.get(user, []):
            granted.setdefault(topic, set()).update(GRANTED[right])
        for topic, rights in needed.get(user, {}).items():
            if rights - granted.get(topic, set()):
                yield f"{node!r} does not let {user!r} use {topic!r} as it needs to"
        for topic, rights in granted.items():
            if rights - needed.get(user, {}).get(topic, set()):
                yield f"{node!r} lets {user!r} use {topic!r}, which nothing needs"
