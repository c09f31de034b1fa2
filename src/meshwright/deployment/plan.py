"""From an overlay to a plan of bridges: a tree per topic, each link configured at one end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from meshwright.deployment.filters import PatternIndex, examples, expand, is_filter
from meshwright.deployment.inventory import Broker, compare, problems
from meshwright.deployment.names import ambiguous, directory_names, written, wrong_topic
from meshwright.deployment.trees import Edge, Forest, grow_trees, topics_per_link
from meshwright.errors import InputError, unknown_choice
from meshwright.values import Instance, Overlay

QOS = (0, 1, 2)
COMPLETE = ("relay",)

Direction = Literal["both", "out", "in"]


class Line(NamedTuple):
    """One ``topic`` line of a bridge."""

    pattern: str  # as it is written: a level with a space is a +
    direction: Direction


@dataclass(frozen=True, slots=True)
class Route:
    """How one topic travels. Nodes are ids; edges are (u, v) with u < v."""

    name: str
    pattern: str  # as it stands in the files
    example: str  # a concrete name that travels this way: the name itself, if it is no filter
    subscribers: tuple[int, ...]
    publishers: tuple[int, ...]  # all that may publish: the subscribers and those listed
    relays: tuple[int, ...]
    edges: tuple[Edge, ...]  # the tree, and the outgoing leaves


@dataclass(frozen=True, slots=True)
class Plan:
    """Which broker dials which, and what each bridge carries."""

    brokers: tuple[Broker, ...]
    directories: tuple[str, ...]
    links: Mapping[Edge, tuple[Line, ...]]  # (from, to): from dials; the lines as `from` sees them
    routes: tuple[Route, ...]
    workload_digest: str
    method: str
    tree: str
    qos: int
    unused: int  # links of the overlay that no tree needs
    added: tuple[Edge, ...]  # links for publishers that the overlay does not have
    shared: tuple[tuple[str, ...], ...]  # filters that share a tree
    unheard: tuple[tuple[str, str], ...]  # publishers of topics that nobody wants

    @property
    def unwanted(self) -> int:
        """The receptions that nobody asked for, when each topic is published once."""
        return sum(len(route.relays) for route in self.routes)


def plan(
    overlay: Overlay,
    brokers: Sequence[Broker],
    *,
    publishers: Sequence[tuple[str, str]] = (),
    tree: str = "shallow",
    qos: int = 1,
    complete: str | None = None,
) -> Plan:
    """Return the bridges that carry every topic to all its subscribers, once.

    Parameters
    ----------
    overlay
        A topic-connected overlay of a workload, or a partial one with `complete`.
    brokers
        The inventory, one row per node.
    publishers
        Further (node, topic) pairs: nodes that publish what they do not want themselves.
    tree
        ``shallow`` for the lowest depth, ``balanced`` to even out topics per link and broker.
    qos
        The quality of service of all bridges.
    complete
        ``relay``: reach subscribers that the overlay leaves apart through other brokers.

    """
    if qos not in QOS:
        raise InputError(f"--qos is {qos}; choose 0, 1 or 2.")
    if complete is not None and complete not in COMPLETE:
        raise unknown_choice("--complete", complete, COMPLETE)
    nodes = list(overlay.instance.node_names)
    wrong = compare(brokers, nodes, [broker.node for broker in brokers])
    if wrong:
        raise problems("the inventory does not fit the overlay", wrong)
    instance, unheard = with_published(overlay.instance, publishers)
    check_topics(instance, [topic for _, topic in unheard])
    edges = overlay.edge_list()
    forest = grow_trees(instance, edges, tree=tree, relay=complete == "relay")
    if forest.apart:
        raise apart_error(overlay, instance, forest)
    leaves, added = attach(instance, forest, edges, publishers)
    links = orient(forest, leaves)
    lines = lines_of(instance, forest, leaves, links)
    used = {(min(link), max(link)) for link in links}
    by_node = {broker.node: broker for broker in brokers}
    return Plan(
        brokers=tuple(by_node[node] for node in nodes),
        directories=tuple(directory_names(nodes).values()),
        links=lines,
        routes=routes_of(instance, forest, leaves, publishers),
        workload_digest=overlay.instance.digest,
        method=overlay.method,
        tree=tree,
        qos=qos,
        unused=len(set(edges) - used),
        added=tuple(added),
        shared=tuple(tuple(names) for names in forest.shared),
        unheard=tuple(unheard),
    )


def with_published(
    instance: Instance, publishers: Sequence[tuple[str, str]]
) -> tuple[Instance, list[tuple[str, str]]]:
    """Return the expanded instance with published names that a filter matches, and the unheard."""
    known = set(instance.topic_names)
    filters = PatternIndex(name for name in known if is_filter(name))
    names = {topic for _, topic in publishers if topic not in known}
    heard = {name for name in names if filters.covering(name)}
    unheard = [(node, topic) for node, topic in publishers if topic in names - heard]
    return expand(instance, heard), unheard


def check_topics(instance: Instance, unheard: Sequence[str] = ()) -> None:
    """Raise with all topics that no file of Mosquitto can hold; the unheard must not be carried."""
    names = list(instance.topic_names)
    wrong = [f"topic {name!r} {reason}" for name in names if (reason := wrong_topic(name))]
    clashes = ambiguous({*names, *unheard})
    for name in sorted(clashes.keys() & set(names)):
        reason = "has a space, which cannot stand" if " " in name else "stands for nothing"
        wrong.append(
            f"topic {name!r} {reason} in a bridge's topic line, and a '+' instead would carry "
            f"{clashes[name]!r} too: rename one of them"
        )
    if wrong:
        raise problems("the workload has topics that cannot be bridged", wrong)


def apart_error(overlay: Overlay, instance: Instance, forest: Forest) -> InputError:
    """Return the refusal of a partial overlay, with the subscribers that would miss messages."""
    names, nodes = instance.topic_names, instance.node_names
    missing = sum(map(len, forest.apart.values()))
    told = [
        f"{names[t]!r}: {', '.join(repr(nodes[v]) for v in apart)}"
        for t, apart in forest.apart.items()
    ]
    text = (
        f"the overlay leaves {missing:,} subscribers of {len(forest.apart):,} topics apart; they "
        "would miss messages and nothing was written:\n  " + "\n  ".join(told) + "\n"
    )
    if instance.digest != overlay.instance.digest and overlay.connected:
        return InputError(
            text + "Filters make their nodes subscribers of what they match, and the overlay was "
            "designed without that. Expand the workload with `meshwright deploy expand W -o W2`, "
            "design on W2, or pass --complete relay."
        )
    return InputError(
        text + "Design a complete overlay, or pass --complete relay to reach them through others "
        "where the links allow it."
    )


def attach(
    instance: Instance,
    forest: Forest,
    edges: Sequence[Edge],
    publishers: Sequence[tuple[str, str]],
) -> tuple[dict[int, dict[int, int]], list[Edge]]:
    """Return for each topic its outgoing leaves (publisher -> where), and the links added for them.

    A publisher that is no part of the tree uses a link that it has, the least used first; without
    one to the tree it gets a new link to the subscriber with fewest links.
    """
    node_id = {name: i for i, name in enumerate(instance.node_names)}
    topic_id = {name: t for t, name in enumerate(instance.topic_names)}
    links = set(edges)
    load = dict(topics_per_link(forest.trees))
    near: dict[int, set[int]] = {}
    for u, v in edges:
        near.setdefault(u, set()).add(v)
        near.setdefault(v, set()).add(u)
    leaves: dict[int, dict[int, int]] = {}
    added: list[Edge] = []
    carriers: dict[int, set[int]] = {}
    wanted = subscribers_by_topic(instance)
    for node, topic in sorted(set(publishers)):
        if topic not in topic_id:
            continue
        p, t = node_id[node], topic_id[topic]
        if t not in carriers:
            carriers[t] = set(wanted[t]) | {n for edge in forest.trees[t] for n in edge}
        if p in carriers[t]:
            continue
        reachable = carriers[t] & near.get(p, set())
        if reachable:
            at = min(reachable, key=lambda v: (load.get((min(p, v), max(p, v)), 0), v))
        else:
            at = min(wanted[t], key=lambda v: (len(near.get(v, ())), v))
        edge = (min(p, at), max(p, at))
        if edge not in links:
            links.add(edge)
            added.append(edge)
            near.setdefault(p, set()).add(at)
            near.setdefault(at, set()).add(p)
        load[edge] = load.get(edge, 0) + 1
        leaves.setdefault(t, {})[p] = at
    return leaves, added


def subscribers_by_topic(instance: Instance) -> list[list[int]]:
    """Return the nodes that want each topic, sorted."""
    found: list[list[int]] = [[] for _ in range(instance.n_topics)]
    for node in range(instance.n_nodes):
        for t in instance.topics_of(node).tolist():
            found[t].append(node)
    return found


def orient(forest: Forest, leaves: Mapping[int, Mapping[int, int]]) -> list[Edge]:
    """Return each used link as (from, to): the end with fewer links dials, then the smaller id.

    The dialling end keeps what it has to send while a link is down, and an outer broker can
    usually reach an inner one but not the other way round.
    """
    used = {edge for tree in forest.trees for edge in tree}
    used |= {(min(p, v), max(p, v)) for ends in leaves.values() for p, v in ends.items()}
    degree: dict[int, int] = {}
    for edge in used:
        for node in edge:
            degree[node] = degree.get(node, 0) + 1
    return [(v, u) if degree[v] < degree[u] else (u, v) for u, v in sorted(used)]


def lines_of(
    instance: Instance,
    forest: Forest,
    leaves: Mapping[int, Mapping[int, int]],
    links: Sequence[Edge],
) -> dict[Edge, tuple[Line, ...]]:
    """Return what each bridge carries, as its dialling end writes it."""
    at = {(min(link), max(link)): link for link in links}
    found: dict[Edge, list[Line]] = {link: [] for link in links}
    for t, name in enumerate(instance.topic_names):
        pattern = written(name)
        for edge in forest.own[t]:
            found[at[edge]].append(Line(pattern, "both"))
        for p, v in leaves.get(t, {}).items():
            link = at[min(p, v), max(p, v)]
            found[link].append(Line(pattern, "out" if link[0] == p else "in"))
    return {link: tuple(sorted(lines)) for link, lines in found.items()}


def routes_of(
    instance: Instance,
    forest: Forest,
    leaves: Mapping[int, Mapping[int, int]],
    publishers: Sequence[tuple[str, str]],
) -> tuple[Route, ...]:
    """Return how each topic travels."""
    wanted = subscribers_by_topic(instance)
    names = list(instance.topic_names)
    node_id = {name: i for i, name in enumerate(instance.node_names)}
    listed: dict[str, set[int]] = {}
    for node, topic in publishers:
        listed.setdefault(topic, set()).add(node_id[node])
    example = examples([written(name) for name in names])
    found = []
    for t, name in enumerate(names):
        out = leaves.get(t, {})
        ends = sorted((min(p, v), max(p, v)) for p, v in out.items())
        found.append(
            Route(
                name=name,
                pattern=written(name),
                example=example[written(name)] if is_filter(name) else name,
                subscribers=tuple(wanted[t]),
                publishers=tuple(sorted({*wanted[t], *listed.get(name, ())})),
                relays=tuple(forest.relays[t]),
                edges=(*forest.trees[t], *ends),
            )
        )
    return tuple(found)
