"""From one configuration to another without a cycle on the way.

A broker holds its old bridges until it is restarted and its new ones from then on. Which links
exist meanwhile depends on the order: each step here is checked on every name before it is taken.
Where every single restart would close a cycle for some topic, a broker is stopped first and
started last; a stopped broker closes none.
"""

from __future__ import annotations

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
    circle_of,
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
    access = [n for n in both if not _same_access(old, new, n)]
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
            held = [node for node, action in waiting.items() if action == "restart"]
            node = max(held, key=lambda n: sum(n in owners for owners in blocked.values()))
            yield Step("stop", node)
            lines.switch(node, None)
            waiting[node] = "start"
            blocked.pop(node, None)
            _unblock(blocked, node)


def _unblock(blocked: dict[str, set[str]], moved: str) -> None:
    """Let those be tried again for which a broker has moved out of the way."""
    for node in [node for node, owners in blocked.items() if moved in owners]:
        del blocked[node]


class _Lines:
    """Which lines are in force at each broker, by name, between two configurations."""

    def __init__(self, old: Conf, new: Conf) -> None:
        self._new = new
        self._old_lines, self._new_lines = _by_node(old), _by_node(new)
        self._now: dict[str, list[Carrier]] = dict(self._old_lines)
        patterns = {
            c.pattern
            for lines in (self._old_lines, self._new_lines)
            for carriers in lines.values()
            for c in carriers
        }
        self._filters = PatternIndex(p for p in patterns if is_filter(p))
        self._names: dict[str, list[str]] = {p: [] for p in patterns}  # pattern -> examples
        for name in representative_names(patterns):
            for pattern in {*self._filters.covering(name), *({name} & patterns)}:
                self._names[pattern].append(name)
        self._carried: dict[str, dict[Carrier, None]] = {}  # in order: steps must repeat
        for carriers in self._now.values():
            self._enter(carriers)

    def _enter(self, carriers: Iterable[Carrier]) -> None:
        for carrier in carriers:
            for name in self._names[carrier.pattern]:
                self._carried.setdefault(name, {})[carrier] = None

    def switch(self, node: str, conf: Conf | None) -> None:
        """Let a broker have its new lines, or none."""
        for carrier in self._now.get(node, []):
            for name in self._names[carrier.pattern]:
                self._carried[name].pop(carrier, None)
        self._now[node] = self._new_lines.get(node, []) if conf is not None else []
        self._enter(self._now[node])

    def in_the_way(self, node: str) -> set[str]:
        """Return the brokers whose bridges would close a cycle with its new ones, if any do."""
        before = set(self._now.get(node, []))
        # What it has already closes none; a bridge may stand in another place of the file.
        kept = {(c.to, c.pattern, c.direction) for c in before}
        mine: dict[str, list[Carrier]] = {}
        fresh: dict[str, None] = {}
        for carrier in self._new_lines.get(node, []):
            is_new = (carrier.to, carrier.pattern, carrier.direction) not in kept
            for name in self._names[carrier.pattern]:
                mine.setdefault(name, []).append(carrier)
                if is_new:
                    fresh[name] = None
        for name in fresh:
            others = [c for c in self._carried.get(name, ()) if c.at != node]
            circle = circle_of([*others, *mine[name]])
            if circle:
                return {c.at for c in circle} - {node}
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


def _same_access(old: Conf, new: Conf, node: str) -> bool:
    """Tell whether users and rights are the same; hashes are salted, so passwords are tried."""
    one, other = old.brokers[node], new.brokers[node]
    if one.acl != other.acl or set(one.users) != set(other.users):
        return False
    passwords = _passwords(new)
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
