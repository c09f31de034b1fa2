"""The routing protocols: the tables each needs, and how it routes (docs/routing.md).

Po, Pal and Pie are those of Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018), Protocols 4 and 5.
A message carries a range of the ring, which its receiver divides among its next hops: the nearest
subscriber and the fingers that subscribe, within the range. Where none of them lies in the second
half of the range, a pivot may be added there, subscriber or not: by `po` none, by `pie` the nearest
finger there, if there is one, by `pal` that or else the node in the middle. On Chord fingers no
path of `pal` is longer than k (k + 1) / 2 hops, k = log2 n rounded up; on others the paper's
O(log n) does not hold.

By `Direction.ONE` a message goes over fingers, to the one with the least clockwise distance left:
the paper's definition. By `Direction.BOTH` it goes over links in both directions, to the neighbour
with the least absolute distance left, which its footnote 1 allows. The range is divided among
fingers in either case, or among all neighbours with `Match.NEIGHBOURS`.

Scribe and iScribe are those of Castro, Druschel, Kermarrec, Rowstron, "SCRIBE", JSAC 2002, as
section 5.1 of BeaConvey compares them: to the topic's rendezvous, then down a tree. This is made of
the greedy routes from the subscribers to the rendezvous, walked backwards (`scribe`), or of those
from the rendezvous to the subscribers, most of which neighbours share (`iscribe`). A subscriber's
delivery is the message that the tree brings, or for the rendezvous itself the publisher's.

`tree` floods one spanning tree of each topic inside its sub-overlay, as brokers with bridges do:
breadth-first from the smallest subscriber, neighbours in order of ids. It works on any overlay and
has no overhead; subscribers that the topic's links do not connect to the publisher are missed.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from meshwright.errors import InputError, check_choice
from meshwright.model.instance import Instance, subscribers_of
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import SmallWorld, reaches
from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.smallworld.routing.kernels import protocols as kernel
from meshwright.smallworld.routing.kernels import publications
from meshwright.smallworld.routing.kernels.publications import HOPS, NO_RANGE, Members, Tally
from meshwright.storage.digest import pack


class Direction(StrEnum):
    """Over which links messages are forwarded."""

    ONE = "one"  # fingers, clockwise
    BOTH = "both"  # fingers and the links of those whose finger a node is


class Match(StrEnum):
    """Among which links a node looks for subscribers and pivots."""

    FINGERS = "fingers"
    NEIGHBOURS = "neighbours"  # all of them; only in both directions


class Links(NamedTuple):
    """Some of the links of each position."""

    pointers: Longs  # [n + 1], where those of a position begin in `offsets`
    offsets: Ints  # clockwise distances to the other ends, nearest first


class RingTables(NamedTuple):
    """For `po`, `pal` and `pie`: links and subscribers, as ring positions."""

    nodes: Ints  # [n], the node at each position
    positions: Ints  # [n], the position of each node
    reach: Ints  # [n, n_phases], the distance to the finger of a position
    both_ways: bool  # forward over all links, not only over fingers
    neighbours: Links  # all links, in both directions
    matched: Links  # those to look for subscribers and pivots among: the fingers, or all
    members: Members  # of each topic, as positions


class RendezvousTables(NamedTuple):
    """For `scribe` and `iscribe`."""

    ring: RingTables
    rendezvous: Ints  # [n_topics], the position of each topic's rendezvous


class TreeTables(NamedTuple):
    """For `tree`: the spanning trees of the topics, as `spanning_trees` returns them."""

    members: Members  # of each topic, in the order of its tree
    parent: Ints  # [n_members], as are the next ones
    first_child: Ints
    end_child: Ints
    below: Bools  # whether a subscriber is at or below a member
    beyond: Bools  # whether the way to its parent leads to a subscriber


def ring_tables(world: SmallWorld, direction: Direction, match: Match) -> RingTables:
    """Return the tables of a small world."""
    reach = reaches(world.ring, world.fingers)
    n, n_phases = reach.shape
    fingers = Links(np.arange(n + 1, dtype=np.int64) * n_phases, reach.ravel())
    neighbours = neighbours_of(world)
    wanted = world.instance.wanted
    return RingTables(
        nodes=world.ring,
        positions=world.positions,
        reach=reach,
        both_ways=direction is Direction.BOTH,
        neighbours=neighbours,
        matched=neighbours if match is Match.NEIGHBOURS else fingers,
        members=members_of(wanted, *subscribers_of(wanted, world.positions)),
    )


def neighbours_of(world: SmallWorld) -> Links:
    """Return the links of each position in both directions, by their clockwise distance."""
    n = world.instance.n_nodes
    u, v = world.positions[world.edges].T.astype(np.int64)
    here, there = np.concatenate((u, v)), np.concatenate((v, u))
    offsets = (there - here) % max(n, 1)
    order = np.lexsort((offsets, here))
    pointers = np.concatenate(([0], np.cumsum(np.bincount(here, minlength=n))))
    return Links(pointers.astype(np.int64), offsets[order].astype(np.int32))


def rendezvous_tables(world: SmallWorld, direction: Direction, match: Match) -> RendezvousTables:
    """Return the tables of a small world, with the rendezvous of its topics."""
    names, n = world.instance.topic_names, world.instance.n_nodes
    positions = np.array([rendezvous(name, n) for name in names] if n else [], dtype=np.int32)
    return RendezvousTables(ring_tables(world, direction, match), positions)


def rendezvous(name: str, n: int) -> int:
    """Return the ring position where a topic meets: its SHA-256, big-endian, modulo n.

    Examples
    --------
    >>> rendezvous("plant/temp", 16)
    12
    """
    return int.from_bytes(hashlib.sha256(name.encode("utf-8")).digest(), "big") % n


def tree_tables(overlay: Overlay, _: Direction, __: Match) -> TreeTables:
    """Return the spanning tree of each topic inside its sub-overlay."""
    instance = overlay.instance
    pointers, nodes = subscribers_of(instance)
    carries = np.ones(len(nodes), np.bool_)
    if overlay.carries is not None:
        carries = overlay.carries[np.lexsort((instance.nodes, instance.topics))]
    nodes, parent, *children = kernel.spanning_trees(
        instance.n_nodes, overlay.edges, pointers, nodes, carries
    )
    members = members_of(instance, pointers, nodes)
    ways = kernel.wanted_ways(pointers, parent, members.wants)
    return TreeTables(members, parent, *children, *ways)


def members_of(instance: Instance, pointers: Longs, nodes: Ints) -> Members:
    """Return who takes part in each topic, with the nodes of a topic in any order."""
    n_topics = instance.n_topics
    wants = np.ones(len(nodes), np.bool_)
    if instance.wants is not None:
        only = pack(instance.topics[~instance.wants], instance.nodes[~instance.wants])
        topics = np.repeat(np.arange(n_topics, dtype=np.int32), np.diff(pointers))
        wants = ~np.isin(pack(topics, nodes), only)
    topics = np.repeat(np.arange(n_topics), np.diff(pointers))
    return Members(pointers, nodes, wants, np.bincount(topics[wants], minlength=n_topics))


class Protocol(NamedTuple):
    """One way to route: how its tables are made, and the function that routes by them.

    The function takes the tables, one topic and one publisher per publication, and a tally that it
    writes. Nodes are ring positions, except for `tree`.
    """

    tables: Callable[[Any, Direction, Match], Any]
    route: Callable[[Any, Ints, Ints, Tally], None]


ROUTINGS: Mapping[str, Protocol] = {
    "po": Protocol(ring_tables, partial(kernel.convey_all, kernel.NO_PIVOT)),
    "pal": Protocol(ring_tables, partial(kernel.convey_all, kernel.PIVOT_ALWAYS)),
    "pie": Protocol(ring_tables, partial(kernel.convey_all, kernel.PIVOT_IF_FINGER)),
    "scribe": Protocol(rendezvous_tables, partial(kernel.meet_all, False)),
    "iscribe": Protocol(rendezvous_tables, partial(kernel.meet_all, True)),
    "tree": Protocol(tree_tables, kernel.flood_all),
}


@dataclass(frozen=True, slots=True)
class Router:
    """A protocol with its tables: only names and arrays, so it can be shipped to a task."""

    routing: str
    n_nodes: int
    tables: RingTables | RendezvousTables | TreeTables

    def route(self, topics: Ints, publishers: Ints, room: int = 0) -> Tally:
        """Route publications, one topic and one publisher each, with room to trace some messages.

        Nodes are ids here and in the tally, also as ends of ranges.
        """
        tally, tables = publications.new_tally(len(topics), self.n_nodes, room), self.tables
        route = ROUTINGS[self.routing].route
        if isinstance(tables, TreeTables):
            route(tables, topics, publishers, tally)
            return tally
        nodes, positions, *_ = tables.ring if isinstance(tables, RendezvousTables) else tables
        route(tables, topics, positions[publishers], tally)
        ends = tally.trace[: int(tally.n_messages[0]), :HOPS]
        ends[:] = np.where(ends == NO_RANGE, NO_RANGE, nodes[ends])
        return tally._replace(sent=tally.sent[positions], received=tally.received[positions])


def router(
    overlay: Overlay, routing: str, direction: str = Direction.ONE, match: str = Match.FINGERS
) -> Router:
    """Return the router of a protocol on an overlay; all but `tree` need a small world."""
    protocol = choose_protocol(routing, direction, match)
    check_ring(routing, overlay.method, is_small_world=isinstance(overlay, SmallWorld))
    tables = protocol.tables(overlay, Direction(direction), Match(match))
    return Router(routing, overlay.instance.n_nodes, tables)


def choose_protocol(
    routing: str, direction: str = Direction.ONE, match: str = Match.FINGERS
) -> Protocol:
    """Return the protocol of that name; raise InputError if it cannot be used in this way."""
    check_choice("routing", routing, ROUTINGS)
    check_choice("direction", direction, Direction)
    check_choice("match", match, Match)
    if match == Match.NEIGHBOURS and direction == Direction.ONE:
        raise InputError("match 'neighbours' uses links in both directions; give direction 'both'.")
    return ROUTINGS[routing]


def check_ring(routing: str, method: str, *, is_small_world: bool) -> None:
    """Raise InputError if a protocol needs a ring where there is none."""
    if routing != "tree" and not is_small_world:
        raise InputError(
            f"{routing} routes on small worlds, and a {method} overlay has no ring. "
            "Use routing 'tree', or design with method sl, s, l or none."
        )
