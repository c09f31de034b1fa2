"""The plan: which broker dials which, and how each topic travels. One type from planner to lab.

``plan.json`` holds a plan next to the files of its brokers. It names nodes, never passwords.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self

from meshwright.deploy.names import MAX_DIRECTORY, bridge_pattern
from meshwright.deploy.route import Direction, Line, Link, Rate, Route
from meshwright.deploy.shape import check_shape
from meshwright.errors import InputError, check_choice, damaged
from meshwright.model.publications import MOST_RATE
from meshwright.patterns import filters
from meshwright.storage.manifest import read_json

FILE = "plan.json"
CONFIGURATION = "mosquitto.conf"
LAYOUTS = {"include": "meshwright.conf", "whole": CONFIGURATION}  # the file with a broker's bridges
KIND = "mosquitto"
FORMAT_VERSION = 1
CREDENTIALS = ("username", "password_env", "password_file")
DIRECTORY = re.compile(rf"[\w%-][\w.%-]{{0,{MAX_DIRECTORY - 1}}}", re.ASCII)
SHAPE = {  # of plan.json; "?" for what may be missing
    "brokers": [
        {
            **dict.fromkeys(("node", "directory", "host"), str),
            "port": int,
            "tls?": bool,
            **dict.fromkeys((f"{name}?" for name in CREDENTIALS), str | None),
        }
    ],
    "topics": [
        {
            **dict.fromkeys(("name", "pattern?", "example?"), str),
            **{key: [str] for key in ("subscribers", "publishers", "relays?")},
            "edges": [(str, str)],
            "rates?": [{"node": str, "messages": int | float, "bytes?": int | float | None}],
        }
    ],
    "links": [{"from": str, "to": str}],
    "qos": int,
    "lock_down?": bool,
    **dict.fromkeys(("workload_digest?", "method?", "tree?", "layout?"), str),
}


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker: a row of the inventory."""

    node: str
    host: str
    port: int
    ca: str = ""
    cert: str = ""
    key: str = ""
    username: str = ""
    password_env: str = ""
    password_file: str = ""
    tls: bool = False  # true where there is a `ca`; plan.json keeps this and no paths

    def __post_init__(self) -> None:
        object.__setattr__(self, "tls", self.tls or bool(self.ca))

    @property
    def on_loopback(self) -> bool:
        """Whether its host is the machine's own loopback."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    @property
    def endpoint(self) -> str:
        """The host and port that other brokers dial."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Plan:
    """Which broker dials which, and how each topic travels over these links."""

    brokers: tuple[Broker, ...]
    directories: Mapping[str, str]  # node -> the directory of its files
    links: tuple[Link, ...]
    routes: tuple[Route, ...]
    qos: int
    workload_digest: str = ""
    method: str = ""
    tree: str = ""
    layout: str = field(default="whole", compare=False)  # of the files: a key of LAYOUTS
    lock_down: bool = field(default=True, compare=False)  # own clients: the topics of the plan only
    # Facts about the planning that plan.json does not hold.
    n_unused: int = field(default=0, compare=False)  # links of the overlay that no tree needs
    added: tuple[Link, ...] = field(default=(), compare=False)  # links only for publishers
    shared: tuple[tuple[str, ...], ...] = field(default=(), compare=False)  # filters on one tree
    unheard: tuple[tuple[str, str], ...] = field(default=(), compare=False)  # (node, topic)
    skipped: tuple[str, ...] = field(default=(), compare=False)  # topics that bridges cannot carry

    def __post_init__(self) -> None:
        """Raise InputError unless brokers, links and routes fit together."""
        known = set(self.nodes)
        if len(known) < len(self.brokers):
            raise InputError("a broker is listed twice")
        named = {node for link in self.links for node in link}
        for route in self.routes:
            named.update(route.subscribers, route.publishers, route.relays, *route.edges)
            named.update(rate.node for rate in route.rates)
        if not named <= known:
            raise InputError(f"brokers are named but not listed: {sorted(named - known)[:5]}")
        unlisted = {edge for route in self.routes for edge in route.edges}.difference(self.links)
        if unlisted:
            raise InputError(f"topics use links that are not listed: {sorted(unlisted)[:5]}")

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The names of the brokers."""
        return tuple(broker.node for broker in self.brokers)

    @cached_property
    def match_all(self) -> tuple[str, ...]:
        """Filters that match all topics of the plan."""
        return filters.match_all_filters(route.example for route in self.routes)

    @cached_property
    def lines(self) -> Mapping[Link, tuple[Line, ...]]:
        """The topic lines of each link's bridge."""
        routes = {route.name: route for route in self.routes}
        wider = filters.nearest(filters.wider_filters(list(routes)))
        found: dict[Link, list[Line]] = {link: [] for link in self.links}
        for name, route in routes.items():
            carried: dict[Link, set[Direction]] = {}  # by lines of wider filters
            for wide in map(routes.__getitem__, wider.get(name, ())):
                for edge, ways in wide.directions.items():
                    carried.setdefault(edge, set()).update(ways)
            for edge, ways in route.directions.items():
                left = ways - carried.get(edge, set())
                if left:
                    direction: Direction = "both" if len(left) == 2 else min(left)
                    found[edge].append(Line(route.pattern, direction))
        return {link: tuple(sorted(lines)) for link, lines in found.items()}

    @cached_property
    def carried_as(self) -> Mapping[tuple[Link, str], tuple[str, ...]]:
        """The topics that a link carries by each pattern; a + replaces levels with a space."""
        found: dict[tuple[Link, str], tuple[str, ...]] = {}
        for route in self.routes:
            for edge in route.edges:
                found[edge, route.pattern] = (*found.get((edge, route.pattern), ()), route.name)
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the plan for ``plan.json``: of a password only where it is to be found."""
        return {
            "workload_digest": self.workload_digest,
            "method": self.method,
            "tree": self.tree,
            "qos": self.qos,
            "layout": self.layout,
            "lock_down": self.lock_down,
            "brokers": [
                {
                    "node": broker.node,
                    "directory": self.directories[broker.node],
                    "host": broker.host,
                    "port": broker.port,
                    "tls": broker.tls,
                    **{name: getattr(broker, name) or None for name in CREDENTIALS},
                }
                for broker in self.brokers
            ],
            "links": [{"from": u, "to": v} for u, v in self.links],
            "topics": [_as_json(route) for route in self.routes],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the plan that `to_json` wrote; raise InputError if it is not valid."""
        check_shape(data, SHAPE, "the plan")
        brokers = tuple(
            Broker(
                b["node"],
                b["host"],
                b["port"],
                tls=bool(b.get("tls")),
                **{name: b.get(name) or "" for name in CREDENTIALS},
            )
            for b in data["brokers"]
        )
        routes = tuple(
            Route(
                name=t["name"],
                pattern=t.get("pattern", bridge_pattern(t["name"])),
                example=t.get("example", t["name"]),
                subscribers=tuple(t["subscribers"]),
                publishers=tuple(t["publishers"]),
                relays=tuple(t.get("relays", ())),
                edges=tuple((u, v) for u, v in t["edges"]),
                rates=tuple(
                    Rate(r["node"], r["messages"], r.get("bytes")) for r in t.get("rates", ())
                ),
            )
            for t in data["topics"]
        )
        for b in data["brokers"]:
            if not (0 < b["port"] < 65_536 and DIRECTORY.fullmatch(b["directory"])):
                raise InputError(f"the port or directory of broker {b['node']!r} is not valid")
        for r in routes:
            is_example = not filters.is_filter(r.example) and filters.covers(r.name, r.example)
            counts = [n for rate in r.rates for n in rate[1:] if n is not None]
            if not all(0 <= n <= MOST_RATE for n in counts):
                raise InputError(f"the rates of topic {r.name!r} are not valid")
            if filters.topic_error(r.name) or r.pattern != bridge_pattern(r.name) or not is_example:
                raise InputError(f"the name, pattern or example of topic {r.name!r} is not valid")
        if len({r.name for r in routes}) < len(routes) or data["qos"] not in (0, 1, 2):
            raise InputError("a topic is listed twice, or the qos is not 0, 1 or 2")
        layout = data.get("layout", "whole")
        check_choice("layout", layout, LAYOUTS)
        return cls(
            brokers=brokers,
            directories={b["node"]: b["directory"] for b in data["brokers"]},
            links=tuple((link["from"], link["to"]) for link in data["links"]),
            routes=routes,
            qos=data["qos"],
            workload_digest=data.get("workload_digest", ""),
            method=data.get("method", ""),
            tree=data.get("tree", ""),
            layout=layout,
            lock_down=data.get("lock_down", True),
        )

    def summary(self) -> dict[str, Any]:
        """Return the plan's counts, its busiest link and broker, and its deepest tree."""
        rank = {node: i for i, node in enumerate(self.nodes)}
        topics = Counter(edge for route in self.routes for edge in route.edges)
        link = max(self.links, key=lambda w: (topics[w], rank[w[0]], rank[w[1]]), default=None)
        load = dict.fromkeys(self.nodes, 0)
        for edge, count in topics.items():
            for node in edge:
                load[node] += count
        busiest = max(load, key=lambda node: load[node], default=None)
        deepest = max(self.routes, key=lambda route: route.depth, default=None)
        wanted = sum(max(len(route.subscribers) - 1, 0) for route in self.routes)
        relayed = [n for route in self.routes if (n := route.unwanted)]
        secured = bool(self.brokers) and bool(self.brokers[0].username)
        return {
            "brokers": len(self.brokers),
            "links": len(self.links),
            "topics": len(self.routes),
            "tree": self.tree,
            "qos": self.qos,
            "busiest_link": link and {"from": link[0], "to": link[1], "topics": topics[link]},
            "busiest_broker": busiest and {"node": busiest, "topics": load[busiest]},
            "deepest": deepest and {"topic": deepest.name, "depth": deepest.depth},
            "security": ("TLS, " if self.brokers and self.brokers[0].tls else "no TLS, ")
            + ("a user per bridge, limited to its topics" if secured else "anyone may connect"),
            "unused_links": self.n_unused,
            "added_links": len(self.added),
            "relayed_topics": len(relayed),
            "unwanted": sum(relayed),  # receptions by relays, when each topic is published once
            "unwanted_share": sum(relayed) / max(wanted + sum(relayed), 1),
            "shared": [list(group) for group in self.shared],
            "unheard": [{"node": n, "topic": t} for n, t in self.unheard],
            "skipped": list(self.skipped),
        }


def _as_json(route: Route) -> dict[str, Any]:
    """Return a route for ``plan.json``, with rates if there are any."""
    facts = {field.name: getattr(route, field.name) for field in fields(Route)}
    rates = [rate._asdict() for rate in facts.pop("rates")]
    return {**facts, "rates": rates} if rates else facts


def read_plan(conf: Path, only: str | None = None) -> Plan:
    """Return the plan of a configuration; with `only`, check the files of that directory alone."""
    path = conf / FILE
    if not path.is_file():
        raise InputError(
            f"'{conf}' holds no {FILE}. Give the directory that "
            "`meshwright deploy mosquitto ... -o DIR` wrote."
        )
    try:
        data = read_json(path)
        found = data["kind"], data["format_version"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"'{path}' cannot be read ({error}). Deploy again.") from error
    if found != (KIND, FORMAT_VERSION) or type(found[1]) is not int:
        raise InputError(
            f"'{path}' is of kind {found[0]!r}, version {found[1]!r}; needed is {KIND!r}, version "
            f"{FORMAT_VERSION}. Deploy again with this Meshwright."
        )
    try:
        plan = Plan.from_json(data)
    except InputError as error:
        raise damaged(path, str(error), "Deploy again") from error
    places = plan.directories.items()
    file = LAYOUTS[plan.layout]
    needed = [(node, place) for node, place in places if only in (None, place)]
    missing = [node for node, place in needed if not (conf / place / file).is_file()]
    if missing:
        raise InputError(
            f"'{conf}' has no {file} for {len(missing)} of its brokers "
            f"({', '.join(missing[:5])}). Deploy again."
        )
    return plan
