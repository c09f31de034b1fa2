"""The overlay of a mesh, by the methods of the library, for the filters that clients want now.

A topic of the design is a filter, or the names that two overlapping filters share (their meet); its
members are the brokers with a filter that covers it. Then the brokers that want a name are
connected for any name, also one that nobody has published yet. Filters that cross in more ways than
MAX_MEETS are left to relays. One more topic has all brokers as members: publishers reach everybody.
"""

from contextlib import suppress
from typing import NamedTuple

from meshwright.errors import InfeasibleError
from meshwright.mesh.core.events import Design
from meshwright.mesh.core.values import Topology
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import SmallWorld
from meshwright.overlay import design
from meshwright.patterns.filters import PatternIndex, is_filter, meet

MAX_MEETS = 5_000
EVERYBODY = "$mesh"  # no client's filter: those begin with $ only inside their broker


class Wish(NamedTuple):
    """How to design."""

    method: str = "gm"
    routing: str = "tree"
    survive: int = 0


def design_topology(asked: Design, wish: Wish) -> Topology | None:
    """Return the links for the brokers and filters of a request; None for one broker."""
    if len(asked.nodes) < 2:
        return None
    names = {node: f"{node:07d}" for node in asked.nodes}  # sorted as the numbers are
    instance = Instance.from_pairs(_pairs(asked, names), nodes=names.values())
    made = _designed(instance, asked, names, wish)
    nodes = [int(name) for name in instance.node_names]
    edges = sorted((nodes[u], nodes[v]) for u, v in made.edges.tolist())
    if not isinstance(made, SmallWorld):
        return Topology(wish.routing, tuple(edges))
    places = made.positions.tolist()
    ring = made.ring.tolist()
    fingers = [tuple(places[w] for w in made.fingers[v].tolist()) for v in ring]
    return Topology(wish.routing, tuple(edges), tuple(nodes[v] for v in ring), tuple(fingers))


def _designed(instance: Instance, asked: Design, names: dict[int, str], wish: Wish) -> Overlay:
    options = {"survive": wish.survive} if wish.survive else {}
    down = [(u, v) for u, v in asked.forbidden if u in names and v in names]
    if down and wish.routing == "tree":
        rows = [{"a": names[u], "b": names[v], "allowed": "no"} for u, v in down]
        # Where no plan does without them, messages go around by relays until they are up again.
        with suppress(InfeasibleError):
            return design(instance, wish.method, certify=False, links=rows, **options)
    return design(instance, wish.method, certify=False, **options)


def _pairs(asked: Design, names: dict[int, str]) -> list[tuple[str, str]]:
    """Return which broker is a member of which topic of the design."""
    wanting: dict[str, set[int]] = {}
    for node, filters in asked.interests:
        for name in filters:
            wanting.setdefault(name, set()).add(node)
    index = PatternIndex(wanting)
    topics = [*wanting, *meets(wanting)]
    pairs = [(name, EVERYBODY) for name in names.values()]
    for topic in topics:
        members = {node for wide in index.covering(topic) for node in wanting[wide]}
        pairs += [(names[node], topic) for node in members if node in names]
    return pairs


def meets(patterns: dict[str, set[int]]) -> list[str]:
    """Return the names that pairs of crossing filters share, at most MAX_MEETS patterns.

    Examples
    --------
    >>> meets({"a/+": {1}, "+/b": {2}, "#": {3}})
    ['a/b']
    """
    crossing = sorted(filter(is_filter, patterns))
    index = PatternIndex(crossing)
    found: dict[str, None] = {}
    for one in crossing:
        for other in index.overlapping(one):
            shared = meet(one, other) if other > one else None
            if shared is not None and shared not in patterns:
                found[shared] = None
                if len(found) == MAX_MEETS:
                    return list(found)
    return list(found)
