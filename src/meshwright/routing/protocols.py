"""The protocols by name: what tables each needs, and how its nodes are numbered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from meshwright.errors import unknown_choice
from meshwright.routing.iscribe import iscribe
from meshwright.routing.pal import pal
from meshwright.routing.pie import pie
from meshwright.routing.po import po
from meshwright.routing.scribe import scribe
from meshwright.routing.tables import (
    Ints,
    RendezvousTables,
    RingTables,
    rendezvous_tables,
    ring_tables,
    tree_tables,
)
from meshwright.routing.tally_kernel import NO_RANGE, Tally, new_tally
from meshwright.routing.tree import tree
from meshwright.values import Overlay


@dataclass(frozen=True, slots=True)
class Protocol:
    """One way to route: how its tables are made, and what routes publications by them."""

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
    """A protocol with its tables: nothing but names and arrays, so it can be shipped to a task."""

    routing: str
    n_nodes: int
    tables: Any
    ring_tables: RingTables | None  # None where nodes have no positions

    def route(self, topics: Ints, publishers: Ints, room: int = 0) -> Tally:
        """Route publications; nodes are ids here and in the tally, low and high in its trace too.

        Parameters
        ----------
        topics, publishers
            One of each per publication.
        room
            How many messages to keep in the trace; the others are only counted.

        """
        tally = new_tally(len(topics), self.n_nodes, room)
        ring = self.ring_tables
        starts = publishers if ring is None else ring.positions[publishers]
        ROUTINGS[self.routing].route(self.tables, topics, starts, tally)
        if ring is None:
            return tally
        ends = tally.trace[: int(tally.n_messages[0]), :-1]  # all columns but the hops
        ends[:] = np.where(ends == NO_RANGE, NO_RANGE, ring.ring[ends])
        return tally._replace(
            sent=tally.sent[ring.positions], received=tally.received[ring.positions]
        )


def router(overlay: Overlay, routing: str) -> Router:
    """Return what routes by a protocol on an overlay."""
    if routing not in ROUTINGS:
        raise unknown_choice("routing", routing, ROUTINGS)
    tables = ROUTINGS[routing].tables(overlay, routing)
    ring = tables.ring_tables if isinstance(tables, RendezvousTables) else tables
    return Router(
        routing,
        overlay.instance.n_nodes,
        tables,
        ring if isinstance(ring, RingTables) else None,
    )
