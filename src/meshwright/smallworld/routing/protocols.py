"""The routing protocols: the tables each needs, and how it routes.

Po, Pal and Pie are those of Chen, Tock, Girdzijauskas, "BeaConvey" (DEBS 2018), Protocols 4 and 5.
A message carries a range of the ring, which its receiver divides among its next hops: the nearest
subscriber and the fingers that subscribe, within the range. Scribe and iScribe are those of Castro,
Druschel, Kermarrec, Rowstron, "SCRIBE", JSAC 2002, as section 5.1 of BeaConvey compares them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from meshwright.errors import InputError, unknown_choice
from meshwright.model.instance import Ints, Longs, Subscribers, subscribers_of
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import SmallWorld, reaches
from meshwright.smallworld.routing.kernels import ring, trees
from meshwright.smallworld.routing.kernels.publications import HOPS, NO_RANGE, Tally, new_tally


class RingTables(NamedTuple):
    """For `po`, `pal` and `pie`: fingers and subscribers, as ring positions."""

    nodes: Ints  # [n], the node at each position
    positions: Ints  # [n], the position of each node
    reach: Ints  # [n, n_phases], the distance to the finger of a position
    subscribers: Subscribers  # of each topic, as positions


class RendezvousTables(NamedTuple):
    """For `scribe` and `iscribe`."""

    ring: RingTables
    rendezvous: Ints  # [n_topics], the position of each topic's rendezvous


class TreeTables(NamedTuple):
    """For `tree`: the spanning trees of the topics, as `spanning_trees` returns them."""

    pointers: Longs  # [n_topics + 1], into the other arrays
    nodes: Ints
    parent: Ints
    first_child: Ints
    end_child: Ints


def po(tables: RingTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Route without pivots, for the least overhead.

    Only the way to a nearest subscriber leads over nodes that do not want the topic. But where no
    finger subscribes, the range is handed from one subscriber to the next, and paths grow with
    their number.
    """
    ring.convey_all(ring.NO_PIVOT, tables, topics, publishers, tally)


def pal(tables: RingTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Route with a pivot always, so that the rest of the range is served from its middle.

    Where no next hop lies in the second half of the range, one is added there: the nearest finger,
    or else the node in the middle of it, subscriber or not. On Chord fingers no path is longer than
    k (k + 1) / 2 hops, k = log2 n rounded up. On others the nearest finger may be at the far end of
    the range, which is then hardly shorter than before, and paths may grow with n: the paper's
    O(log n) does not hold (docs/routing.md).
    """
    ring.convey_all(ring.PIVOT_ALWAYS, tables, topics, publishers, tally)


def pie(tables: RingTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Route with a pivot if a finger leads there, between `po` and `pal`.

    Where no next hop lies in the second half of the range, the nearest finger there is added, if
    there is one, subscriber or not.
    """
    ring.convey_all(ring.PIVOT_IF_FINGER, tables, topics, publishers, tally)


def scribe(tables: RendezvousTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Route to the topic's rendezvous, then down the routes that lead there.

    A topic's tree is the union of the greedy routes from the subscribers to the rendezvous, walked
    in the other direction. A subscriber's delivery is the message that the tree brings, or for the
    rendezvous itself the one from the publisher.
    """
    ring.meet_all(False, tables, topics, publishers, tally)


def iscribe(tables: RendezvousTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Route as Scribe, but along the routes from the rendezvous to the subscribers.

    Neighbouring subscribers share most of such a route. The definition takes them in ring order
    from the rendezvous, a node keeping its first parent. It never gets another: where two routes
    part, the longer one jumps beyond the subscriber at which the shorter one ends. So the order
    does not matter.
    """
    ring.meet_all(True, tables, topics, publishers, tally)


def tree(tables: TreeTables, topics: Ints, publishers: Ints, tally: Tally) -> None:
    """Flood each topic's spanning tree inside its sub-overlay, as brokers with bridges do.

    Works on any overlay. A topic has one tree, the same for every publisher: breadth-first from its
    smallest subscriber, neighbours in order of ids. Only subscribers take part, so the overhead is
    0; subscribers that the topic's links do not connect to the publisher are missed.
    """
    trees.flood_all(tables, topics, publishers, tally)


def ring_tables(overlay: Overlay, routing: str) -> RingTables:
    """Return the tables of a small world; raise InputError for any other overlay."""
    if not isinstance(overlay, SmallWorld):
        raise no_small_world(routing, overlay.method)
    return RingTables(
        overlay.ring,
        overlay.positions,
        reaches(overlay.ring, overlay.fingers),
        subscribers_of(overlay.instance, overlay.positions),
    )


def no_small_world(routing: str, method: str) -> InputError:
    """Return the error for a protocol that needs a ring where there is none."""
    return InputError(
        f"{routing} routes on small worlds, and a {method} overlay has no ring. "
        "Use routing 'tree', or design with method sl, s, l or none."
    )


def rendezvous_tables(overlay: Overlay, routing: str) -> RendezvousTables:
    """Return the tables of a small world, with the rendezvous of its topics."""
    names, n = overlay.instance.topic_names, overlay.instance.n_nodes
    positions = [rendezvous(name, n) for name in names] if n else []
    return RendezvousTables(ring_tables(overlay, routing), np.array(positions, dtype=np.int32))


def rendezvous(name: str, n: int) -> int:
    """Return the ring position where a topic meets: its SHA-256, big-endian, modulo n.

    Examples
    --------
    >>> rendezvous("plant/temp", 16)
    12

    """
    return int.from_bytes(hashlib.sha256(name.encode("utf-8")).digest(), "big") % n


def tree_tables(overlay: Overlay, routing: str) -> TreeTables:  # noqa: ARG001 - for any overlay
    """Return the spanning tree of each topic inside its sub-overlay."""
    pointers, nodes = subscribers_of(overlay.instance)
    found = trees.spanning_trees(overlay.instance.n_nodes, overlay.edges, pointers, nodes)
    return TreeTables(pointers, *found)


@dataclass(frozen=True, slots=True)
class Protocol:
    """One way to route: how its tables are made, and the function that routes by them.

    The function takes the tables, one topic and one publisher per publication, and a tally that it
    writes. Nodes are ring positions, except for `tree`.
    """

    summary: str
    tables: Callable[[Overlay, str], Any]
    route: Callable[[Any, Ints, Ints, Tally], None]


ROUTINGS: Mapping[str, Protocol] = {
    "po": Protocol("least overhead: no pivots", ring_tables, po),
    "pal": Protocol("short paths: a pivot always", ring_tables, pal),
    "pie": Protocol("between: a pivot if a finger leads there", ring_tables, pie),
    "scribe": Protocol("rendezvous, routes of the subscribers", rendezvous_tables, scribe),
    "iscribe": Protocol("rendezvous, routes to the subscribers", rendezvous_tables, iscribe),
    "tree": Protocol("any overlay: flood each topic's tree", tree_tables, tree),
}


@dataclass(frozen=True, slots=True)
class Router:
    """A protocol with its tables: only names and arrays, so it can be shipped to a task."""

    routing: str
    n_nodes: int
    tables: RingTables | RendezvousTables | TreeTables

    def route(self, topics: Ints, publishers: Ints, room: int = 0) -> Tally:
        """Route publications; nodes are ids here and in the tally, also as ends of ranges.

        Parameters
        ----------
        topics, publishers
            One of each per publication.
        room
            How many messages to keep in the trace; the others are only counted.

        """
        tally, tables = new_tally(len(topics), self.n_nodes, room), self.tables
        route = ROUTINGS[self.routing].route
        if isinstance(tables, TreeTables):
            route(tables, topics, publishers, tally)
            return tally
        on_ring = tables.ring if isinstance(tables, RendezvousTables) else tables
        route(tables, topics, on_ring.positions[publishers], tally)
        ends = tally.trace[: int(tally.n_messages[0]), :HOPS]
        ends[:] = np.where(ends == NO_RANGE, NO_RANGE, on_ring.nodes[ends])
        return tally._replace(
            sent=tally.sent[on_ring.positions], received=tally.received[on_ring.positions]
        )


def router(overlay: Overlay, routing: str) -> Router:
    """Return the router of a protocol on an overlay."""
    if routing not in ROUTINGS:
        raise unknown_choice("routing", routing, ROUTINGS)
    tables = ROUTINGS[routing].tables(overlay, routing)
    return Router(routing, overlay.instance.n_nodes, tables)
