"""From an overlay to a plan of bridges: a tree per topic, each link configured at one end."""

from collections import Counter
from collections.abc import Iterable, Sequence

from meshwright.deploy.inventory import inventory_problems, raise_problems
from meshwright.deploy.names import ambiguous_patterns, bridge_pattern, directory_names
from meshwright.deploy.plan import Broker, Plan, Route, neighbours
from meshwright.deploy.trees import Edge, Forest, grow_trees, ordered
from meshwright.errors import InputError, unknown_choice
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.patterns.expand import expand
from meshwright.patterns.filters import PatternIndex, example_names, is_filter, topic_error

QOS = (0, 1, 2)
COMPLETE = ("relay",)

Publications = Sequence[tuple[str, str]]  # (node, topic)
Published = Sequence[tuple[int, int]]  # the same by id, of topics that are carried


def plan(
    overlay: Overlay,
    brokers: Sequence[Broker],
    *,
    publishers: Publications = (),  # further ones: they do not want the topics themselves
    tree: str = "shallow",  # the lowest depth; "balanced" evens out topics per link and broker
    qos: int = 1,  # the quality of service of all bridges
    complete: str | None = None,  # "relay": reach disconnected subscribers via relays
) -> Plan:
    """Return the bridges that carry every topic to all its subscribers, once.

    The overlay is topic-connected, or partial with `complete`; `brokers` has one row per node.
    """
    if qos not in QOS:
        raise InputError(f"--qos is {qos}; choose 0, 1 or 2.")
    if complete is not None and complete not in COMPLETE:
        raise unknown_choice("--complete", complete, COMPLETE)
    nodes = list(overlay.instance.node_names)
    wrong = inventory_problems(brokers, nodes, [broker.node for broker in brokers])
    raise_problems("the inventory does not fit the overlay", wrong)
    instance, unheard = with_published(overlay.instance, publishers)
    secured = any(broker.username for broker in brokers)
    check_topics(instance, [topic for _, topic in unheard], secured=secured)
    edges = overlay.edge_list()
    forest = grow_trees(instance, edges, tree, relay=complete == "relay")
    if forest.disconnected:
        raise disconnected_error(overlay, instance, forest)
    node_id = {name: i for i, name in enumerate(nodes)}
    topic_id = {name: t for t, name in enumerate(instance.topic_names)}
    heard = sorted({pair for pair in publishers if pair[1] in topic_id})
    published = [(node_id[node], topic_id[topic]) for node, topic in heard]
    carried, added = attach_publishers(forest, edges, published)
    links = orient(carried)
    dialled = [[links[edge] for edge in edges] for edges in carried]
    by_node = {broker.node: broker for broker in brokers}
    return Plan(
        brokers=tuple(by_node[node] for node in nodes),
        directories=directory_names(nodes),
        links=tuple((nodes[u], nodes[v]) for u, v in links.values()),
        routes=routes_of(instance, forest, dialled, published),
        qos=qos,
        workload_digest=overlay.instance.digest,
        method=overlay.method,
        tree=tree,
        n_unused=len(set(edges) - links.keys()),
        added=tuple((nodes[u], nodes[v]) for u, v in added),
        shared=tuple(tuple(names) for names in forest.shared),
        unheard=tuple(unheard),
    )


def with_published(
    instance: Instance, publishers: Publications
) -> tuple[Instance, list[tuple[str, str]]]:
    """Return the instance expanded with names that filters match, and what no node wants."""
    known = set(instance.topic_names)
    filters = PatternIndex(filter(is_filter, known))
    names = {topic for _, topic in publishers if topic not in known}
    heard = {name for name in names if filters.covering(name)}
    unheard = [(node, topic) for node, topic in publishers if topic in names - heard]
    return expand(instance, heard), unheard


def check_topics(instance: Instance, unheard: Sequence[str], *, secured: bool) -> None:
    """Raise InputError with all topics that Mosquitto's files cannot hold; with users more."""
    names = list(instance.topic_names)
    wrong = [f"topic {name!r} {reason}" for name in names if (reason := topic_error(name))]
    wrong += [
        f"topic {name!r} begins or ends with a space, which an access list cannot hold"
        for name in names
        if secured and name != name.strip(" ")
    ]
    # A pattern must not carry what no node wants, either.
    clashes = ambiguous_patterns({*names, *unheard})
    for name in sorted(clashes.keys() & set(names)):
        reason = "has a space, which cannot stand" if " " in name else "stands for nothing"
        wrong.append(
            f"topic {name!r} {reason} in a bridge's topic line, and a '+' instead would carry "
            f"{clashes[name]!r} too: rename one of them"
        )
    raise_problems("the workload has topics that cannot be bridged", wrong)


def disconnected_error(overlay: Overlay, instance: Instance, forest: Forest) -> InputError:
    """Return the error for a partial overlay, with the subscribers that would miss messages."""
    n_missing = sum(map(len, forest.disconnected.values()))
    rows = [
        f"{instance.topic_names[t]!r}: {', '.join(repr(instance.node_names[v]) for v in missing)}"
        for t, missing in forest.disconnected.items()
    ]
    text = (
        f"the overlay leaves {n_missing:,} subscribers of {len(rows):,} topics disconnected; they "
        "would miss messages and nothing was written:\n  " + "\n  ".join(rows) + "\n"
    )
    if instance.digest != overlay.instance.digest and overlay.connected:
        return InputError(
            text + "Filters make their nodes subscribers of what they match, and the overlay was "
            "designed without that. Expand the workload with `meshwright deploy expand W -o W2`, "
            "design on W2, or pass --complete relay."
        )
    return InputError(
        text + "Design a complete overlay, or pass --complete relay to reach them via relays "
        "where the links allow it."
    )


def attach_publishers(
    forest: Forest, edges: Sequence[Edge], published: Published
) -> tuple[list[list[Edge]], list[Edge]]:
    """Return each topic's tree followed by the links of nodes that only publish it, and new links.

    A publisher outside the tree uses a link that it has to the tree, the least used first; without
    one it gets a new link to the subscriber with the fewest links.
    """
    load = Counter(edge for tree in forest.trees for edge in tree)
    near = neighbours(edges)
    leaves: list[list[Edge]] = [[] for _ in forest.trees]
    added: list[Edge] = []
    for p, t in published:
        carriers = {*forest.subscribers[t], *forest.relays[t]}
        if p in carriers:
            continue
        reachable = carriers.intersection(near.get(p, ()))
        if reachable:
            at = min(reachable, key=lambda v: (load[ordered(p, v)], v))
        else:
            at = min(forest.subscribers[t], key=lambda v: (len(near.get(v, ())), v))
            near.setdefault(p, []).append(at)
            near.setdefault(at, []).append(p)
            added.append(ordered(p, at))
        load[ordered(p, at)] += 1
        leaves[t].append(ordered(p, at))
    return [tree + sorted(ends) for tree, ends in zip(forest.trees, leaves, strict=True)], added


def orient(carried: Iterable[Iterable[Edge]]) -> dict[Edge, Edge]:
    """Return each used link as (from, to): the end with fewer links dials, then the smaller id."""
    # The dialling end keeps messages to send while a link is down, and an outer broker can usually
    # reach an inner one but not the other way round.
    used = {edge for edges in carried for edge in edges}
    degree = Counter(node for edge in used for node in edge)
    return {(u, v): (v, u) if degree[v] < degree[u] else (u, v) for u, v in sorted(used)}


def routes_of(
    instance: Instance, forest: Forest, edges: Sequence[Sequence[Edge]], published: Published
) -> tuple[Route, ...]:
    """Return how each topic travels; `edges` are those of each topic as (from, to)."""
    nodes, names = list(instance.node_names), list(instance.topic_names)
    publishers = [set(wanted) for wanted in forest.subscribers]
    for node, t in published:
        publishers[t].add(node)
    patterns = [bridge_pattern(name) for name in names]
    examples = example_names(patterns)
    return tuple(
        Route(
            name=name,
            pattern=pattern,
            example=examples[pattern] if is_filter(name) else name,
            subscribers=tuple(nodes[v] for v in forest.subscribers[t]),
            publishers=tuple(nodes[v] for v in sorted(publishers[t])),
            relays=tuple(nodes[v] for v in forest.relays[t]),
            edges=tuple((nodes[u], nodes[v]) for u, v in edges[t]),
        )
        for t, (name, pattern) in enumerate(zip(names, patterns, strict=True))
    )
