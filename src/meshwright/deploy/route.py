"""How one topic travels over the links of a plan."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from meshwright.deploy.graphs import neighbours, search

Link = tuple[str, str]  # (the broker whose bridge dials, the broker that is dialled)
Direction = Literal["both", "out", "in"]


class Line(NamedTuple):
    """One ``topic`` line of a bridge."""

    pattern: str
    direction: Direction  # as the dialling broker sees it


class Rate(NamedTuple):
    """How often a broker publishes a topic."""

    node: str
    messages: float  # per second
    bytes: float | None  # of a message, on average


@dataclass(frozen=True)
class Route:
    """How one topic travels: its brokers, and the tree of links that joins them."""

    name: str
    pattern: str  # as it is written in the files: a level with a space is a +
    example: str  # a concrete name that travels this way: the topic itself unless it is a filter
    subscribers: tuple[str, ...]
    publishers: tuple[str, ...]  # all that may publish, subscribers included
    relays: tuple[str, ...]
    edges: tuple[Link, ...]  # the tree, then the links of brokers that only publish
    rates: tuple[Rate, ...] = ()  # of the publishers whose rates are known

    @cached_property
    def directions(self) -> Mapping[Link, frozenset[Direction]]:
        """The ways in which the topic crosses each link: only towards brokers that want it."""
        near, wanted = neighbours(self.edges), set(self.subscribers)
        before = search(near, [min(wanted)] if wanted else [])
        leads_to_wanted = set(wanted)  # brokers at or behind which a subscriber is
        for node, parent in reversed(before.items()):
            if node in leads_to_wanted and parent is not None:
                leads_to_wanted.add(parent)
        found: dict[Link, frozenset[Direction]] = {}
        for u, v in self.edges:
            if before.get(v) == u:
                found[u, v] = frozenset(("out", "in") if v in leads_to_wanted else ("in",))
            elif before.get(u) == v:
                found[u, v] = frozenset(("out", "in") if u in leads_to_wanted else ("out",))
            else:  # not of a tree: only plans that were changed by hand have such links
                found[u, v] = frozenset(("out", "in"))
        return found

    @property
    def crossings(self) -> list[Link]:
        """The directions as pairs (from, to) of brokers that pass the topic on."""
        return [
            (u, v) if way == "out" else (v, u)
            for (u, v), ways in self.directions.items()
            for way in sorted(ways, reverse=True)
        ]

    @property
    def reaches_relays(self) -> bool:
        """Whether the topic comes to a broker that does not want it, wherever it is published."""
        return any(end in self.relays for _, end in self.crossings)

    def arrivals(self, publisher: str, up: Iterable[str] | None = None) -> dict[str, str]:
        """Return which broker that is up passes a message on to each one that it reaches."""
        passed_on: dict[str, list[str]] = {}
        for start, end in self.crossings:
            if up is None or end in up:
                passed_on.setdefault(start, []).append(end)
        return {v: u for v, u in search(passed_on, [publisher]).items() if u is not None}

    @property
    def unwanted(self) -> float:
        """The receptions by relays of one publication, on average over the publishers."""
        if not self.relays or not self.publishers:
            return 0
        counts = [len(self.arrivals(p).keys() - {*self.subscribers}) for p in self.publishers]
        return sum(counts) / len(counts)

    @cached_property
    def depth(self) -> int:
        """The hops from the middle of the tree to its farthest broker."""
        near, far = neighbours(self.edges), self.edges[0][0] if self.edges else ""
        for _ in range(2):  # from any broker to the farthest, and from there: the longest path
            hops: dict[str | None, int] = {None: -1}
            for node, before in search(near, [far]).items():
                hops[node] = hops[before] + 1
                far = node
        return (hops[far] + 1) // 2
