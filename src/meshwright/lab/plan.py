"""The plan of a configuration directory, as the lab needs it: brokers, links, topics, trees."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from meshwright.deployment.directory import FILE, FORMAT_VERSION, KIND
from meshwright.errors import InputError

CONFIGURATION = "mosquitto.conf"

Link = tuple[str, str]  # (the broker whose bridge dials, the broker that is dialled)


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker of a plan, at the endpoint that others dial."""

    node: str
    directory: str
    host: str
    port: int
    tls: bool = False


@dataclass(frozen=True)
class Topic:
    """A topic, who wants it, who publishes on it, and the tree that carries it."""

    name: str
    subscribers: tuple[str, ...]
    publishers: tuple[str, ...]
    edges: tuple[Link, ...]
    example: str  # a name to publish on: the topic itself if it is no filter
    relays: tuple[str, ...] = ()

    @cached_property
    def neighbours(self) -> Mapping[str, tuple[str, ...]]:
        """Return the neighbours of each broker on the tree."""
        found: dict[str, list[str]] = {}
        for u, v in self.edges:
            found.setdefault(u, []).append(v)
            found.setdefault(v, []).append(u)
        return {node: tuple(near) for node, near in found.items()}

    @cached_property
    def leaves_out(self) -> frozenset[str]:
        """Return the publishers that only send, and get nothing of the topic."""
        return frozenset(self.publishers).difference(self.subscribers, self.relays)

    def arrivals(self, publisher: str, up: Iterable[str] | None = None) -> dict[str, str]:
        """Return which broker hands a message of `publisher` to each other broker it reaches.

        `up` are the brokers that run, all without it; a broker that does not run hands on nothing.
        """
        running = None if up is None else set(up)
        found: dict[str, str] = {}
        waiting = [publisher]
        while waiting:
            u = waiting.pop()
            for v in self.neighbours.get(u, ()):
                if v == publisher or v in found or v in self.leaves_out:
                    continue
                if running is None or v in running:
                    found[v] = u
                    waiting.append(v)
        return found


@dataclass(frozen=True)
class Plan:
    """What a configuration directory says it builds."""

    brokers: tuple[Broker, ...]
    links: tuple[Link, ...]
    topics: tuple[Topic, ...]
    qos: int

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Return the names of the brokers."""
        return tuple(broker.node for broker in self.brokers)

    @cached_property
    def everything(self) -> tuple[str, ...]:
        """Return filters that match all topics: ``#`` leaves out names that begin with ``$``."""
        firsts = {topic.example.split("/")[0] for topic in self.topics}
        return ("#", *(f"{first}/#" for first in sorted(firsts) if first.startswith("$")))


def read_plan(conf: Path) -> Plan:
    """Read the plan of a configuration directory and check that it is whole."""
    path = conf / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"'{conf}' holds no {FILE}; give the directory that "
            f"`meshwright deploy mosquitto ... -o DIR` wrote."
        ) from None
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}.") from error
    try:
        plan = _parse(json.loads(text))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"'{path}' is no plan of format {FORMAT_VERSION} ({type(error).__name__}: {error}); "
            f"write it anew with `meshwright deploy mosquitto`."
        ) from error
    missing = [
        broker.node
        for broker in plan.brokers
        if not (conf / broker.directory / CONFIGURATION).is_file()
    ]
    if missing:
        raise InputError(
            f"'{conf}' has no {CONFIGURATION} for {len(missing)} of its brokers "
            f"({', '.join(missing[:5])}); write it anew with `meshwright deploy mosquitto`."
        )
    return plan


def _parse(data: dict[str, Any]) -> Plan:
    if (data["kind"], data["format_version"]) != (KIND, FORMAT_VERSION):
        raise ValueError(f"kind {data['kind']!r}, format_version {data['format_version']!r}")
    brokers = tuple(
        Broker(b["node"], b["directory"], b["host"], int(b["port"]), bool(b.get("tls")))
        for b in data["brokers"]
    )
    known = {broker.node for broker in brokers}
    links = tuple((link["from"], link["to"]) for link in data["links"])
    topics = tuple(
        Topic(
            t["name"],
            tuple(t["subscribers"]),
            tuple(t["publishers"]),
            tuple((u, v) for u, v in t["edges"]),
            t.get("example", t["name"]),
            tuple(t.get("relays", ())),
        )
        for t in data["topics"]
    )
    named = {n for link in links for n in link}
    for topic in topics:
        named.update(topic.subscribers, topic.publishers, *topic.edges)
    if len(known) != len(brokers) or not named <= known:
        raise ValueError(f"brokers twice or not listed: {sorted(named - known)[:5]}")
    return Plan(brokers, links, topics, int(data["qos"]))
