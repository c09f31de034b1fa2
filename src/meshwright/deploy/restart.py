"""From one configuration to another without a cycle on the way.

A broker holds its old bridges until it is restarted and its new ones from then on. Which links
exist meanwhile depends on the order: each step here is checked on every name before it is taken.
Where every single restart would close a cycle for some topic, a broker is stopped first and
started last; a stopped broker closes none.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Literal

from meshwright.deploy.inventory import is_hash_of
from meshwright.deploy.mosquitto import DEFAULT_LOG, broker_files
from meshwright.deploy.plan import LAYOUTS, Broker, Plan
from meshwright.deploy.read import BrokerConf, Conf, read_conf, read_settings
from meshwright.deploy.validate import Carrier, carried, carriers_of, cycle_findings, grouped
from meshwright.errors import InputError
from meshwright.patterns.filters import representative_names

Action = Literal["reload", "start", "stop", "restart"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do to one broker, after its new files are in place."""

    action: Action
    node: str


@dataclass(frozen=True, slots=True)
class Change:
    """How two configurations differ."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    restarted: tuple[str, ...]  # brokers whose mosquitto.conf says something else
    reloaded: tuple[str, ...]  # brokers of which only the users or their rights change
    steps: tuple[Step, ...]


def compare_confs(before: str | Path | Conf, after: str | Path | Conf) -> Change:
    """Return which brokers change between two configurations, and the steps from one to the other.

    At no step does a topic have a cycle.
    """
    old, new = (conf if isinstance(conf, Conf) else read_conf(conf) for conf in (before, after))
    _check_comparable(old, new)
    both = [node for node in new.brokers if node in old.brokers]
    bridges = _restarted(old.brokers, new.brokers)
    passwords = {
        bridge.options["remote_username"]: bridge.options.get("remote_password", "")
        for broker in new.brokers.values()
        for bridge in broker.bridges
        if "remote_username" in bridge.options
    }
    access = [n for n in both if not _same_access(old.brokers[n], new.brokers[n], passwords)]
    return Change(
        added=tuple(node for node in new.brokers if node not in old.brokers),
        removed=tuple(node for node in old.brokers if node not in new.brokers),
        restarted=tuple(bridges),
        reloaded=tuple(node for node in access if node not in bridges),
        steps=tuple(_steps(old, new, bridges, access)),
    )


def restarts_between(before: Plan, after: Plan) -> tuple[str, ...]:
    """Return the brokers of both plans that have to be restarted, without writing any file.

    They are the `restarted` of `compare_confs` for the files of both plans. Users and certificates
    are taken to stay as they are.
    """
    return tuple(_restarted(_settings_of(before), _settings_of(after)))


def _settings_of(plan: Plan) -> dict[str, BrokerConf]:
    """Return what the settings of each broker would say, without users."""
    brokers = tuple(Broker(broker.node, broker.host, broker.port) for broker in plan.brokers)
    files = broker_files(replace(plan, brokers=brokers), {}, DEFAULT_LOG)
    return {
        node: read_settings(texts[LAYOUTS[plan.layout]], node, plan.layout)
        for node, texts in files.items()
    }


def _restarted(old: Mapping[str, BrokerConf], new: Mapping[str, BrokerConf]) -> list[str]:
    """Return the brokers of both whose mosquitto.conf says something else."""
    return [n for n in new if n in old and _settings(old[n]) != _settings(new[n])]


def start_order(plan: Plan) -> list[str]:
    """Return the brokers of a plan in an order in which bridges find the broker that they dial.

    Any order is safe: a part of bridges that close no cycle closes none. Where brokers dial each
    other in a ring, the next is the one with the fewest bridges to brokers that are not up.
    """
    waits: dict[str, set[str]] = {node: set() for node in plan.nodes}
    for dialling, dialled in plan.links:
        waits[dialling].add(dialled)
    order: list[str] = []
    while waits:
        node = min(waits, key=lambda node: len(waits[node]))  # the first listed of equals
        order.append(node)
        del waits[node]
        for others in waits.values():
            others.discard(node)
    return order


def _steps(old: Conf, new: Conf, changed: Sequence[str], access: Sequence[str]) -> Iterable[Step]:
    """Yield the steps: rights first, so that no new bridge is refused at the other end."""
    yield from (Step("reload", node) for node in access)
    lines = _LinesInForce(old, new)
    for node in old.brokers:
        if node not in new.brokers:
            yield Step("stop", node)
            lines.stop(node)
    waiting: dict[str, Action] = dict.fromkeys(changed, "restart")
    waiting |= dict.fromkeys((node for node in new.brokers if node not in old.brokers), "start")
    blocked: dict[str, set[str]] = {}  # node -> the brokers whose bridges close a cycle with it
    while waiting:
        ready = [node for node in waiting if node not in blocked]
        for node in ready:
            blocked[node] = lines.in_the_way(node)
            if not blocked[node]:
                yield Step(waiting.pop(node), node)
                lines.start(node)
                blocked = _still_blocked(blocked, node)
        if waiting and all(node in waiting for node in ready):
            # One broker of the cycle still has its old bridges: the new ones alone close none.
            counts = Counter(owner for owners in blocked.values() for owner in owners)
            held = [node for node, action in waiting.items() if action == "restart"]
            node = max(held, key=lambda held: counts[held])
            yield Step("stop", node)
            lines.stop(node)
            waiting[node] = "start"
            blocked = _still_blocked(blocked, node)


def _still_blocked(blocked: Mapping[str, set[str]], moved: str) -> dict[str, set[str]]:
    """Leave out a broker that has moved, and those that waited for it: they are tried again."""
    return {n: owners for n, owners in blocked.items() if n != moved and moved not in owners}


Near = dict[str, dict[str, list[str]]]  # node -> neighbour -> the owner of each line between them


class _LinesInForce:
    """Which lines are in force at each broker, by name, between two configurations."""

    def __init__(self, old: Conf, new: Conf) -> None:
        before, after = carriers_of(old), carriers_of(new)
        self._now, self._new = (grouped(lines, attrgetter("at")) for lines in (before, after))
        patterns = {carrier.pattern for carrier in before + after}
        self._names: dict[str, list[str]] = {p: [] for p in patterns}  # pattern -> examples
        self._near: dict[str, Near] = {}  # name -> the links that carry it now
        for name, lines in carried(before + after, representative_names(patterns)):
            self._near[name] = {}
            for pattern in {carrier.pattern for carrier in lines}:
                self._names[pattern].append(name)
        self._last: dict[str, str] = {}  # node -> the name that was in its way
        self._change(before, list.append)

    def _change(self, lines: Iterable[Carrier], change: Callable[[list[str], str], None]) -> None:
        """Add lines to, or remove them from, the links of the names that they carry."""
        for line in lines:
            ways = ((line.at, line.to), (line.to, line.at))
            for name, (one, other) in product(self._names[line.pattern], ways):
                near = self._near[name].setdefault(one, {})
                change(near.setdefault(other, []), line.at)
                if not near[other]:
                    del near[other]

    def stop(self, node: str) -> None:
        """Remove a broker's lines."""
        self._change(self._now.pop(node, []), list.remove)

    def start(self, node: str) -> None:
        """Give a broker its new lines."""
        self.stop(node)
        self._now[node] = self._new.get(node, [])
        self._change(self._now[node], list.append)

    def in_the_way(self, node: str) -> set[str]:
        """Return the brokers whose bridges would close a cycle with its new ones, if any do."""
        # What it has already closes none; a bridge may stand in another place of the file.
        kept = {(c.to, c.pattern, c.direction) for c in self._now.get(node, [])}
        ends: dict[str, set[str]] = {}
        fresh: dict[str, None] = {}
        for c in self._new.get(node, []):
            for name in self._names[c.pattern]:
                ends.setdefault(name, set()).add(c.to)
                if (c.to, c.pattern, c.direction) not in kept:
                    fresh[name] = None
        last = self._last.get(node)
        for name in [last, *fresh] if last in fresh else fresh:  # most likely the same again
            owners = owners_between(self._near[name], node, ends[name])
            if owners:
                self._last[node] = name
                return owners
        return set()


def owners_between(near: Near, node: str, ends: set[str]) -> set[str]:
    """Return the owners of others' lines that join two of a node and its new neighbours, if any."""
    start = {v: v for v in [node, *sorted(ends)]}  # from where each was reached first
    came = dict.fromkeys(start, "")
    queue = list(start)
    for u in queue:
        for v, owners in near.get(u, {}).items():
            # A line of the node itself is about to go; a parallel one of another is not.
            other = next((owner for owner in owners if owner != node), None)
            if other is None or came[u] == v:
                continue
            if v not in start:
                start[v], came[v] = start[u], u
                queue.append(v)
            elif start[v] != start[u]:
                found = {other}
                for end in (u, v):
                    while came[end]:
                        found |= set(near[end][came[end]]) - {node}
                        end = came[end]
                return found
    return set()


def _check_comparable(old: Conf, new: Conf) -> None:
    """Raise InputError if a configuration has cycles, or an endpoint changes its broker."""
    for conf in (old, new):
        wrong = cycle_findings(carriers_of(conf), conf)
        if wrong:
            raise InputError(f"'{conf.path}' is not free of cycles: {wrong[0]}. Deploy it again.")
    owners = old.by_endpoint
    for endpoint, node in new.by_endpoint.items():
        owner = owners.get(endpoint, node)
        if owner != node:
            raise InputError(
                f"{endpoint} belonged to {owner!r} and now to {node!r}: old bridges would reach "
                "the wrong broker. Move one of them to a free endpoint first."
            )


def _settings(broker: BrokerConf) -> tuple[object, object]:
    """Return the options and bridges of a broker, the same in whichever order they stand."""
    return broker.options, sorted(
        (b.name, sorted(b.options.items()), sorted(zip(b.lines, b.qos, strict=True)))
        for b in broker.bridges
    )


def _same_access(one: BrokerConf, other: BrokerConf, passwords: Mapping[str, str]) -> bool:
    """Return whether users and rights are the same; hashes are salted, so passwords are tried."""
    if one.acl != other.acl or set(one.users) != set(other.users):
        return False
    return all(
        entry == one.users[user] or is_hash_of(one.users[user], passwords.get(user, ""))
        for user, entry in other.users.items()
    )
