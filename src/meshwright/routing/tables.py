"""Routing tables: all that the kernels need to know, in arrays that can be shipped to a task."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.routing.tree_kernel import spanning_trees
from meshwright.smallworld.world import SmallWorld, reaches
from meshwright.values import Instance, Overlay, row_pointers

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Subscribers(NamedTuple):
    """Who wants a topic: those of topic t are ``nodes[pointers[t] : pointers[t + 1]]``, sorted."""

    pointers: Longs
    nodes: Ints


class RingTables(NamedTuple):
    """For `po`, `pal` and `pie`: fingers and subscribers, nodes named by their ring positions."""

    ring: Ints  # the node at each position
    positions: Ints  # the position of each node
    reach: Ints  # n_nodes x n_phases: how far the finger of a position leads
    subscribers: Subscribers


class RendezvousTables(NamedTuple):
    """For `scribe` and `iscribe`: the position where each topic meets, besides."""

    ring_tables: RingTables
    rendezvous: Ints


class TreeTables(NamedTuple):
    """For `tree`: the spanning trees of the topics, laid out by `tree_kernel`."""

    n_nodes: int
    pointers: Longs
    nodes: Ints
    parent: Ints
    first_child: Ints
    end_child: Ints


def subscribers_of(instance: Instance, names: Ints | None = None) -> Subscribers:
    """Return the subscribers of each topic, sorted; `names` gives the nodes other numbers."""
    numbers = np.arange(instance.n_nodes, dtype=np.int32) if names is None else names
    nodes = np.repeat(numbers, np.diff(instance.indptr))
    order = np.lexsort((nodes, instance.topics))
    pointers = row_pointers(instance.topics[order], instance.n_topics)
    return Subscribers(pointers, nodes[order])


def ring_tables(overlay: Overlay, routing: str) -> RingTables:
    """Return the tables of a small world; raise for an overlay that is none."""
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
    """Return the tables of a small world, and where its topics meet."""
    names, n = overlay.instance.topic_names, overlay.instance.n_nodes
    tables = ring_tables(overlay, routing)
    meeting = [rendezvous(name, n) for name in names] if n else []
    return RendezvousTables(tables, np.array(meeting, dtype=np.int32))


def rendezvous(name: str, n: int) -> int:
    """Return the ring position where a topic meets: its SHA-256, big-endian, modulo n.

    Examples
    --------
    >>> rendezvous("plant/temp", 16)
    12

    """
    return int.from_bytes(hashlib.sha256(name.encode("utf-8")).digest(), "big") % n


def tree_tables(overlay: Overlay, routing: str) -> TreeTables:  # noqa: ARG001 - any overlay will do
    """Return the spanning tree of each topic inside its sub-overlay."""
    n, wanting = overlay.instance.n_nodes, subscribers_of(overlay.instance)
    trees = spanning_trees(n, overlay.edges, wanting.pointers, wanting.nodes)
    return TreeTables(n, wanting.pointers, *trees)
