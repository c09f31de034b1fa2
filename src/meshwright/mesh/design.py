"""Designs for the planner: the library's methods, on what brokers want at this moment.

As long as an overlay is there, it is mended: links that serve stay, so a subscription moves few of
them. A design from scratch takes its place when it saves more than a tenth of the links, and when
an operator asks for one with `mesh replan`.

The design connects every filter and the meet of every crossing pair of filters. Then those who want
any name at all are connected, also of names that nobody listed. Beyond a limit of meets, messages
of some names need relays, which is said: one client's filters must not stop the planner. One more
topic has all brokers as members: publishers reach everybody.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from meshwright.errors import InfeasibleError
from meshwright.mesh.core.events import Design
from meshwright.mesh.core.values import Topology
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import SmallWorld, positions_of, small_world
from meshwright.overlay import design
from meshwright.overlay.methods import SMALL_WORLDS
from meshwright.overlay.replanning import mend
from meshwright.patterns.filters import PatternIndex, is_filter, pair_meets
from meshwright.smallworld.replanning import replan_world

MOST_MEETS = 2_000  # each is a topic of the design: some seconds of work at 1,000 brokers
DRIFT = 1.1  # a mended overlay may have so many times the links of a design from scratch
ROUNDS = 100  # of the search for fewer links when an overlay is mended: some milliseconds
EVERYBODY = "$mesh"  # no client's filter: those that begin with $ stay inside their broker


class Planned(NamedTuple):
    """An overlay for a mesh."""

    topology: Topology
    n_left_out: int  # meets of filters that were not connected: their names may need relays


def design_topology(
    request: Design, method: str = "gm", routing: str = "tree", **options: Any
) -> Planned:
    """Return the overlay that a method designs for the planner's request, of two nodes or more.

    Links that are down are avoided if a plan without them exists; otherwise messages go around by
    relays until they are up again. `options` are those of `design`. For `po`, `pal` and `pie` the
    method has to be a small world.

    Examples
    --------
    >>> wanted = ((0, ("a/+",)), (3, ("+/b",)), (5, ("c",)))
    >>> design_topology(Design(1, (0, 3, 5), wanted, (), None)).topology.edges
    ((0, 3), (0, 5))
    """
    filters = dict(request.interests)
    instance, n_left_out = mesh_instance({node: filters.get(node, ()) for node in request.nodes})
    overlay = _design(instance, request, method, options)
    before = None if request.fresh else _before(request, method, routing, options)
    if before is not None:
        mended = _design(instance, request, before, options)
        if mended.n_edges <= DRIFT * overlay.n_edges:
            overlay = mended
    numbers = sorted(request.nodes)
    edges = tuple(sorted((numbers[u], numbers[v]) for u, v in overlay.edges.tolist()))
    if routing == "tree" or not isinstance(overlay, SmallWorld):
        return Planned(Topology("tree", edges), n_left_out)
    positions = positions_of(overlay.ring)
    ring = tuple(numbers[v] for v in overlay.ring.tolist())
    fingers = tuple(map(tuple, positions[overlay.fingers[overlay.ring]].tolist()))
    return Planned(Topology(routing, edges, ring, fingers), n_left_out)


def compile_designs(method: str, routing: str, **options: Any) -> None:
    """Compile what designs with these options need, or load it: a minute on a new installation.

    Afterwards no change of interests has to wait for the compiler.
    """
    nodes = tuple(range(6))
    wanted = tuple((node, (f"a/{node % 2}", "b/+", f"c/{node % 3}")) for node in nodes)
    request = Design(0, nodes, wanted, (), None)
    first = design_topology(request, method, routing, **options)
    fewer = request._replace(nodes=nodes[1:], before=first.topology)
    design_topology(fewer, method, routing, **options)


def _design(
    instance: Instance, request: Design, start: Overlay | str, options: Mapping[str, Any]
) -> Overlay:
    """Return the overlay that a method designs, or the one before, mended."""
    method = start if isinstance(start, str) else start.method
    if isinstance(start, SmallWorld):
        return replan_world(start, instance).overlay

    def make(**given: Any) -> Overlay:
        if isinstance(start, Overlay):
            return mend(start, instance, rounds=ROUNDS, **given).overlay
        return design(instance, method, certify=False, **given, **options)

    present = set(request.nodes)
    down = [pair for pair in request.forbidden if present.issuperset(pair)]
    if down and method not in SMALL_WORLDS:
        rows = [{"a": name_of(u), "b": name_of(v), "allowed": "no"} for u, v in down]
        with suppress(InfeasibleError):
            return make(links=rows)
    return make()


def _before(
    request: Design, method: str, routing: str, options: Mapping[str, Any]
) -> Overlay | None:
    """Return the present overlay as a value that can be mended; None if there is none of its kind.

    Its workload has no topics, so mending looks at all of today's.
    """
    present = request.before
    if present is None or not present.edges or present.routing != routing:
        return None
    nodes = sorted({node for edge in present.edges for node in edge})
    if set(nodes).isdisjoint(request.nodes):
        return None
    yesterday = Instance.from_pairs([], nodes=map(name_of, nodes))
    place = {node: i for i, node in enumerate(nodes)}
    if routing != "tree":
        if set(present.ring) != set(nodes):
            return None
        ring = [place[node] for node in present.ring]
        return small_world(yesterday, ring, present.fingers, method=method, seed=0)
    edges = np.array([(place[u], place[v]) for u, v in present.edges], np.int32)
    return Overlay(yesterday, edges, np.zeros(len(edges), np.int32), method, dict(options))


def name_of(node: int) -> str:
    """Return the name of a node in designs; names are in the order of numbers."""
    return f"{node:06}"


def mesh_instance(
    wanted: Mapping[int, Iterable[str]], most_meets: int = MOST_MEETS
) -> tuple[Instance, int]:
    """Return who wants what, with filters and their meets as topics, and the meets left out.

    Nodes are numbered in the order of their numbers in the mesh.
    """
    named = {name_of(node): list(patterns) for node, patterns in sorted(wanted.items())}
    meets, n_left_out = pair_meets({name for own in named.values() for name in own}, most_meets)
    pairs = wanting_pairs(named, meets) | {(name, EVERYBODY) for name in named}
    return Instance.from_pairs(sorted(pairs), nodes=list(named)), n_left_out


def wanting_pairs(
    wanted: Mapping[str, Iterable[str]], more: Iterable[str] = ()
) -> set[tuple[str, str]]:
    """Return who wants which filter, also by a wider one; `more` are further filters to look at.

    Examples
    --------
    >>> sorted(wanting_pairs({"edge-1": ["a/#"], "edge-2": ["a/b"]}))
    [('edge-1', 'a/#'), ('edge-1', 'a/b'), ('edge-2', 'a/b')]
    """
    wanting: dict[str, set[str]] = {}
    for node, patterns in wanted.items():
        for pattern in patterns:
            wanting.setdefault(pattern, set()).add(node)
    index = PatternIndex(filter(is_filter, wanting))
    return {
        (node, pattern)
        for pattern in wanting.keys() | set(more)
        for wide in {pattern, *index.covering(pattern)}
        for node in wanting.get(wide, ())
    }
