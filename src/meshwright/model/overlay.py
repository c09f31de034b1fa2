"""Which nodes are linked, and what no overlay can beat."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.model.instance import Instance, frozen
from meshwright.model.interests import Interests
from meshwright.model.limits import Limits, Links
from meshwright.runtime.arrays import Bools, Floats, Ints, Longs
from meshwright.storage.digest import pack

if TYPE_CHECKING:
    from meshwright.model.kernels.components import Components
    from meshwright.model.kernels.leaves import SplitTopics


@dataclass(frozen=True, slots=True)
class Bounds:
    """What no overlay for the instance can beat (docs/certificates.md)."""

    edges: int  # no complete overlay has fewer
    max_degree: int  # no complete overlay has a lower maximum degree
    support_with_edges: float  # no overlay with as many edges has more support
    support_with_degree: float  # no overlay with the same maximum degree has more support
    link_rounds: int = 0  # rounds of the ascents and of the program, to repeat them
    degree_rounds: int = 0
    program_rounds: int = 0
    edges_by: str = "counting"  # the step that gave the bound: one pass, ascent, program
    max_degree_by: str = "counting"

    def numbers(self) -> dict[str, float]:
        """Return the bounds and the rounds, by name."""
        return {name: value for name, value in asdict(self).items() if not name.endswith("_by")}

    def steps(self) -> dict[str, str]:
        """Return the step that gave each of the two bounds that have several."""
        return {"edges": self.edges_by, "max_degree": self.max_degree_by}


@dataclass(frozen=True, slots=True, eq=False)
class Overlay:
    """Which nodes are linked: edges in the order added, each with the gain it had then."""

    instance: Instance
    edges: Ints  # n_edges x 2, u < v
    gains: Ints
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    bounds: Bounds | None = None
    seconds: float = 0.0
    carries: Bools | None = None  # n_subscriptions; False: a leaf of the topic; None: all carry
    limits: Limits | None = None  # of the nodes, that it was designed within
    links: Links | None = None  # which pairs may be linked, and who can open connections
    _components: list[Ints] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        edges = np.array(self.edges, dtype=np.int32).reshape(-1, 2)
        edges.flags.writeable = False
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "gains", frozen(self.gains, np.int32, "gains"))
        if self.carries is not None:
            object.__setattr__(self, "carries", frozen_flags(self.instance, self.carries))
        self._check_edges()

    def _check_edges(self) -> None:
        (u, v), last = self.edges.T, self.instance.n_nodes - 1
        if np.any((self.edges < 0) | (self.edges > last)):
            raise InputError(f"an edge has an end that is not a node id (0-{last}).")
        if np.any(u >= v):
            raise InputError("each edge must be given as (u, v) with u < v.")
        if count_repeated(u, v):
            raise InputError("an edge is listed twice.")

    @property
    def digest(self) -> str:
        """The SHA-256 of the workload and the links in order; of a small world its ring too.

        Leaf incidences count too, where there are any.
        """
        whole = hashlib.sha256(b"meshwright overlay 1\n" + bytes.fromhex(self.instance.digest))
        for array in self._arrays():
            whole.update(array.size.to_bytes(8, "little"))
            whole.update(np.asarray(array, "<i4").tobytes())
        return whole.hexdigest()

    def _arrays(self) -> list[Ints]:
        if self.carries is None:
            return [self.edges, self.gains]
        return [self.edges, self.gains, np.flatnonzero(~self.carries).astype(np.int32)]

    @property
    def n_edges(self) -> int:
        """The number of links."""
        return len(self.edges)

    @property
    def degrees(self) -> Longs:
        """The number of links of each node."""
        return np.bincount(self.edges.ravel(), minlength=self.instance.n_nodes)

    @property
    def max_degree(self) -> int:
        """The links of the node that has most."""
        return int(self.degrees.max(initial=0))

    @property
    def average_degree(self) -> float:
        """The mean number of links per node."""
        return 2 * self.n_edges / self.instance.n_nodes if self.instance.n_nodes else 0.0

    @property
    def link_costs(self) -> Floats | None:
        """What each link costs, NaN where it is not said; None if no cost was given."""
        if self.links is None or self.links.cost is None:
            return None
        return self.links.costs_of(self.edges)

    @property
    def components(self) -> Ints:
        """The number of components of each topic's sub-overlay, from the edges alone.

        A leaf that is linked to a carrier belongs to that component; one that is not is its own.
        """
        return self._join()[0]

    @property
    def largest_components(self) -> Ints:
        """The nodes in the largest component of each topic's sub-overlay, its leaves included."""
        return self._join()[1]

    def _join(self) -> list[Ints]:
        if not self._components:
            from meshwright.model.kernels import leaves
            from meshwright.model.kernels.components import largest_components

            state, split, _ = _joined(self.instance, self.edges, self.carries)
            if split is None:
                found = (state.open_count, largest_components(state))
            else:
                largest = leaves.largest_with_leaves(state, split, self.edges)
                found = (leaves.components_of_topics(state, split), largest)
            self._components.extend(frozen(array, np.int32, "components") for array in found)
        return self._components

    @property
    def support(self) -> float:
        """The share of the joins a complete overlay needs that this one makes: 1 if complete."""
        wanted = int(np.count_nonzero(self.components))
        full = count_joins(self.instance, self.carries)
        missing = int(self.components.sum(dtype=np.int64)) - wanted
        return 1.0 - missing / full if full else 1.0

    @property
    def connected(self) -> bool:
        """Whether every topic's subscribers are joined without relays."""
        return bool((self.components <= 1).all())

    @overload
    def edge_list(self, *, names: Literal[False] = False) -> list[tuple[int, int]]: ...

    @overload
    def edge_list(self, *, names: Literal[True]) -> list[tuple[str, str]]: ...

    def edge_list(self, *, names: bool = False) -> list[tuple[Any, Any]]:
        """Return the edges as pairs of ids, or of node names, in the order added."""
        if not names:
            return [(u, v) for u, v in self.edges.tolist()]
        name = self.instance.node_names
        return [(name[u], name[v]) for u, v in self.edges.tolist()]

    def to_networkx(self) -> Any:
        """Return the overlay as a NetworkX graph: nodes by name, `rank` and `gain` of each link.

        Links have a `cost` where one was given. Needs the package networkx.
        """
        try:
            import networkx as nx
        except ImportError as error:
            raise InputError("to_networkx needs networkx: pip install networkx.") from error
        graph = nx.Graph(method=self.method)
        graph.add_nodes_from(self.instance.node_names)
        costs = self.link_costs
        for rank, (u, v) in enumerate(self.edge_list(names=True)):
            graph.add_edge(u, v, rank=rank, gain=int(self.gains[rank]))
            if costs is not None and not np.isnan(costs[rank]):
                graph.edges[u, v]["cost"] = float(costs[rank])
        return graph

    def certificate(self) -> dict[str, Any]:
        """Return what the overlay achieves, and how far from optimal it can be."""
        apart = disconnected_topics(self)
        degrees = self.degrees
        return {
            "n_edges": self.n_edges,
            "average_degree": self.average_degree,
            "max_degree": self.max_degree,
            "median_degree": float(np.median(degrees)) if len(degrees) else 0.0,
            "support": self.support,
            "connected": self.connected,
            "n_disconnected": len(apart),
            "disconnected": apart[:10],
            "bounds": self.bounds.numbers() if self.bounds else None,
            "bounds_by": self.bounds.steps() if self.bounds else None,
        }


def bound_on_links(bound: int, parameters: Mapping[str, Any]) -> int:
    """Return the links that every complete overlay has: by the certificate, or proved by `exact`.

    `bound` is the certificate's, `parameters` are those of the overlay. `exact` believes a solver,
    so what it proves is among its parameters and not in the certificate, which `check` recomputes.
    """
    proved = parameters.get("proved_links")
    return max(bound, proved) if isinstance(proved, int) else bound


def disconnected_topics(overlay: Overlay) -> list[str]:
    """Return the names of the topics whose subscribers are not all joined, empty if complete."""
    names = overlay.instance.topic_names
    return [names[t] for t in np.flatnonzero(overlay.components > 1).tolist()]


def count_joins(instance: Instance, carries: Bools | None = None) -> int:
    """Return the joins of a complete overlay: one less than the members of each topic.

    Topics without a carrier have nothing to join.
    """
    topics = instance.topics
    if carries is not None:
        has_carrier = np.bincount(topics[carries], minlength=instance.n_topics) > 0
        topics = topics[has_carrier[topics]]
    is_wanted = np.zeros(instance.n_topics, np.bool_)
    is_wanted[topics] = True
    return len(topics) - int(np.count_nonzero(is_wanted))


def gains_of(instance: Interests, edges: Ints, carries: Bools | None = None) -> Ints:
    """Return the gain of each edge when they are added in this order."""
    return _joined(instance, edges, carries)[2]


def _joined(
    instance: Interests, edges: Ints, carries: Bools | None = None
) -> tuple[Components, SplitTopics | None, Ints]:
    """Return the Components that the edges leave, how leaves split topics, and the gains."""
    from meshwright.model.kernels.components import join_all, new_components
    from meshwright.model.kernels.leaves import components_with_leaves

    interests, split = (instance.indptr, instance.topics, instance.n_topics), None
    if carries is None:
        components = new_components(*interests)
    else:
        components, split = components_with_leaves(*interests, carries)
    return components, split, join_all(components, edges)


def frozen_flags(instance: Instance, flags: npt.ArrayLike) -> Bools:
    """Return a read-only copy of flags, one for each incidence of an instance."""
    copy: Bools = np.array(flags)
    if copy.dtype != np.bool_ or copy.shape != instance.topics.shape:
        raise InputError(
            f"carries must be {instance.n_subscriptions:,} times true or false, one for each node "
            f"and topic of the instance; got {copy.dtype} of shape {copy.shape}."
        )
    copy.flags.writeable = False
    return copy


def distinct_edges(one: Ints, other: Ints) -> Ints:
    """Return the pairs as edges u < v, each once, in the order they first appear; no loops."""
    edges = np.sort(np.column_stack((one, other))[one != other], axis=1)
    _, first = np.unique(pack(edges[:, 0], edges[:, 1]), return_index=True)
    return edges[np.sort(first)]


def count_repeated(u: Ints, v: Ints) -> int:
    """Return how many pairs are listed after an equal one."""
    pairs = pack(u, v)
    pairs.sort()  # a fraction of the time that np.unique takes, which hashes
    return int(np.count_nonzero(pairs[1:] == pairs[:-1]))


def linked_parts(n: int, edges: Ints | Longs) -> Longs:
    """Return the part that each of n nodes is in: numbers of what the edges join, from 0 on."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(edges)), edges.T), shape=(n, n))
    return connected_components(graph, directed=False)[1].astype(np.int64)
