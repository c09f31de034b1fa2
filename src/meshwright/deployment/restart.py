"""From one configuration to another without a cycle on the way.

A broker holds its old bridges until it is restarted and its new ones from then on. Which links
exist meanwhile depends on the order: each step here is checked on every name before it is taken.
Where every single restart would close a cycle for some topic, a broker is stopped first and
started last; a stopped broker closes none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from meshwright.deployment.filters import PatternIndex, is_filter
from meshwright.deployment.passwords import is_hash_of
from meshwright.deployment.read import BrokerConf, Conf, read_conf
from meshwright.deployment.validate import (
    Carrier,
    carriers_of,
    cycle_findings,
    representative_names,
)
from meshwright.errors import InputError

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
    bridges: tuple[str, ...]  # brokers whose mosquitto.conf says something else
    access: tuple[str, ...]  # brokers of which only the users or their rights change
    steps: tuple[Step, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the change for programs."""
        return {
            "added": list(self.added),
            "removed": list(self.removed),
            "restarted": list(self.bridges),
            "reloaded": list(self.access),
            "steps": [{"action": step.action, "node": step.node} for step in self.steps],
        }


def compare_confs(before: str | Path | Conf, after: str | Path | Conf) -> Change:
    """Return which brokers change between two configurations, and in which order to restart."""
    old = before if isinstance(before, Conf) else read_conf(before)
    new = after if isinstance(after, Conf) else read_conf(after)
    _refuse_what_cannot_be_compared(old, new)
    both = [node for node in new.brokers if node in old.brokers]
    bridges = [n for n in both if not _same_settings(old.brokers[n], new.brokers[n])]
    passwords = _passwords(new)
    access = [n for n in both if not _same_access(old.brokers[n], new.brokers[n], passwords)]
    return Change(
        added=tuple(node for node in new.brokers if node not in old.brokers),
        removed=tuple(node for node in old.brokers if node not in new.brokers),
        bridges=tuple(bridges),
        access=tuple(node for node in access if node not in bridges),
        steps=tuple(_steps(old, new, bridges, access)),
    )


def restart_order(before: str | Path | Conf, after: str | Path | Conf) -> list[Step]:
    """Return the steps from one configuration to another; no topic has a cycle at any of them."""
    return list(compare_confs(before, after).steps)


def _steps(old: Conf, new: Conf, changed: Sequence[str], access: Sequence[str]) -> Iterable[Step]:
    """Yield the steps: rights first, so that no new bridge is refused at the other end."""
    yield from (Step("reload", node) for node in access)
    for node in old.brokers:
        if node not in new.brokers:
            yield Step("stop", node)
    lines = _Lines(old, new)
    for node in old.brokers:
        if node not in new.brokers:
            lines.switch(node, None)
    waiting: dict[str, Action] = dict.fromkeys(changed, "restart")
    waiting |= dict.fromkeys((node for node in new.brokers if node not in old.brokers), "start")
    blocked: dict[str, set[str]] = {}  # node -> the brokers whose bridges close a cycle with it
    while waiting:
        moved = None
        for node in [node for node in waiting if node not in blocked]:
            owners = lines.in_the_way(node)
            if owners:
                blocked[node] = owners
                continue
            yield Step(waiting.pop(node), node)
            lines.switch(node, new)
            moved = node
            _unblock(blocked, node)
        if moved is None and waiting:
            # Among those in a cycle one has its old bridges still: the new ones alone close none.
            in_ways = Counter(owner for owners in blocked.values() for owner in owners)
            held = [node for node, action in waiting.items() if action == "restart"]
            node = max(held, key=lambda held: in_ways[held])
            yield Step("stop", node)
            lines.switch(node, None)
            waiting[node] = "start"
            blocked.pop(node, None)
            _unblock(blocked, node)


def _unblock(blocked: dict[str, set[str]], moved: str) -> None:
    """Let those be tried again for which a broker has moved out of the way."""
    for node in [node for node, owners in blocked.items() if moved in owners]:
        del blocked[node]


Near = dict[str, dict[str, list[str]]]  # node -> node -> whose lines join them, one per line


class _Lines:
    """Which lines are in force at each broker, by name, between two configurations."""

    def __init__(self, old: Conf, new: Conf) -> None:
        self._new_lines = _by_node(new)
        self._now = _by_node(old)
        both = (self._now, self._new_lines)
        patterns = {c.pattern for lines in both for row in lines.values() for c in row}
        filters = PatternIndex(p for p in patterns if is_filter(p))
        self._names: dict[str, list[str]] = {p: [] for p in patterns}  # pattern -> examples
        self._near: dict[str, Near] = {}  # name -> the links that carry it now
        for name in representative_names(patterns):
            self._near[name] = {}
            for pattern in {*filters.covering(name), *({name} & patterns)}:
                self._names[pattern].append(name)
        self._last: dict[str, str] = {}  # node -> the name that was in its way
        for carriers in self._now.values():
            self._enter(carriers)

    def _enter(self, carriers: Iterable[Carrier]) -> None:
        for c in carriers:
            for name in self._names[c.pattern]:
                for one, other in ((c.at, c.to), (c.to, c.at)):
                    near = self._near[name].setdefault(one, {})
                    near.setdefault(other, []).append(c.at)

    def switch(self, node: str, conf: Conf | None) -> None:
        """Let a broker have its new lines, or none."""
        for c in self._now.get(node, []):
            for name in self._names[c.pattern]:
                for one, other in ((c.at, c.to), (c.to, c.at)):
                    owners = self._near[name][one][other]
                    owners.remove(c.at)
                    if not owners:
                        del self._near[name][one][other]
        self._now[node] = self._new_lines.get(node, []) if conf is not None else []
        self._enter(self._now[node])

    def in_the_way(self, node: str) -> set[str]:
        """Return the brokers whose bridges would close a cycle with its new ones, if any do."""
        # What it has already closes none; a bridge may stand in another place of the file.
        kept = {(c.to, c.pattern, c.direction) for c in self._now.get(node, [])}
        ends: dict[str, set[str]] = {}
        fresh: dict[str, None] = {}
        for c in self._new_lines.get(node, []):
            is_new = (c.to, c.pattern, c.direction) not in kept
            for name in self._names[c.pattern]:
                ends.setdefault(name, set()).add(c.to)
                if is_new:
                    fresh[name] = None
        last = self._last.get(node)
        for name in [last, *fresh] if last in fresh else fresh:  # most likely the same again
            owners = owners_between(self._near[name], node, ends[name])
            if owners:
                self._last[node] = name
                return owners
        return set()


def owners_between(near: Near, node: str, ends: set[str]) -> set[str]:
    """Return whose lines join two of a node and its new neighbours without the node's own lines."""
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


def _by_node(conf: Conf) -> dict[str, list[Carrier]]:
    found: dict[str, list[Carrier]] = {node: [] for node in conf.brokers}
    for carrier in carriers_of(conf)[0]:
        found[carrier.at].append(carrier)
    return found


def _refuse_what_cannot_be_compared(old: Conf, new: Conf) -> None:
    for conf in (old, new):
        wrong = cycle_findings(carriers_of(conf)[0], conf)
        if wrong:
            raise InputError(f"'{conf.path}' is not free of cycles: {wrong[0]}. Deploy it again.")
    for endpoint, node in new.by_endpoint.items():
        owner = old.by_endpoint.get(endpoint, node)
        if owner != node:
            raise InputError(
                f"{endpoint} belonged to {owner!r} and now to {node!r}: old bridges would reach "
                "the wrong broker. Move one of them to a free endpoint first."
            )


def _same_settings(one: BrokerConf, other: BrokerConf) -> bool:
    def of(broker: BrokerConf) -> tuple[Any, ...]:
        bridges = sorted(
            (b.name, sorted(b.options.items()), sorted(zip(b.lines, b.qos, strict=True)))
            for b in broker.bridges
        )
        return broker.options, bridges

    return of(one) == of(other)


def _same_access(one: BrokerConf, other: BrokerConf, passwords: Mapping[str, str]) -> bool:
    """Tell whether users and rights are the same; hashes are salted, so passwords are tried."""
    if one.acl != other.acl or set(one.users) != set(other.users):
        return False
    return all(
        entry == one.users[user] or is_hash_of(one.users[user], passwords.get(user, ""))
        for user, entry in other.users.items()
    )


def _passwords(conf: Conf) -> Mapping[str, str]:
    return {
        b.options["remote_username"]: b.options.get("remote_password", "")
        for broker in conf.brokers.values()
        for b in broker.bridges
        if "remote_username" in b.options
    }
