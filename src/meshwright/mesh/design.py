"""Designs for the planner: the library's methods, on what brokers want at this moment.

The design connects every filter and the meet of every crossing pair of filters. Then those who want
any name at all are connected, also of names that nobody listed. Beyond a limit of meets, messages
of some names need relays, which is said: one client's filters must not stop the planner. One more
topic has all brokers as members: publishers reach everybody.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from meshwright.errors import InfeasibleError
from meshwright.mesh.core.events import Design
from meshwright.mesh.core.values import Topology
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import SmallWorld, positions_of
from meshwright.overlay import design
from meshwright.overlay.methods import SMALL_WORLDS
from meshwright.patterns.filters import PatternIndex, is_filter, pair_meets

MOST_MEETS = 2_000  # each is a topic of the design: some seconds of work at 1,000 brokers


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
    numbers = sorted(request.nodes)
    edges = tuple(sorted((numbers[u], numbers[v]) for u, v in overlay.edges.tolist()))
    if routing == "tree" or not isinstance(overlay, SmallWorld):
        return Planned(Topology("tree", edges), n_left_out)
    positions = positions_of(overlay.ring)
    ring = tuple(numbers[v] for v in overlay.ring.tolist())
    fingers = tuple(map(tuple, positions[overlay.fingers[overlay.ring]].tolist()))
    return Planned(Topology(routing, edges, ring, fingers), n_left_out)


def _design(
    instance: Instance, request: Design, method: str, options: Mapping[str, Any]
) -> Overlay:
    numbers = sorted(request.nodes)
    names = dict(zip(numbers, instance.node_names, strict=True))
    down = [pair for pair in request.forbidden if names.keys() >= set(pair)]
    if down and method not in SMALL_WORLDS:
        rows = [{"a": names[u], "b": names[v], "allowed": "no"} for u, v in down]
        with suppress(InfeasibleError):
            return design(instance, method, certify=False, links=rows, **options)
    return design(instance, method, certify=False, **options)


def mesh_instance(
    wanted: Mapping[int, Iterable[str]], most_meets: int = MOST_MEETS
) -> tuple[Instance, int]:
    """Return who wants what, with filters and their meets as topics, and the meets left out.

    Nodes are numbered in the order of their numbers in the mesh.
    """
    wanting: dict[str, set[int]] = {}
    for node, patterns in wanted.items():
        for pattern in patterns:
            wanting.setdefault(pattern, set()).add(node)
    meets, n_left_out = pair_meets(wanting, most_meets)
    index = PatternIndex(filter(is_filter, wanting))
    width = len(str(max(wanted, default=0)))
    pairs = {
        (f"{node:0{width}}", pattern)
        for pattern in wanting.keys() | meets
        for wide in {pattern, *index.covering(pattern)}
        for node in wanting.get(wide, ())
    }
    names = [f"{node:0{width}}" for node in sorted(wanted)]
    pairs |= {(name, EVERYBODY) for name in names}
    return Instance.from_pairs(sorted(pairs), nodes=names), n_left_out
