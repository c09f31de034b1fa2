"""What depends on one node: whether a plan is a star, and what the worst failure would cost.

A delivery is a pair of a node that publishes a topic and another that wants it. It depends on a
node, other than these two, that every path between them within the topic's sub-overlay passes
through. `design`, `check` and reports say the same, from here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from meshwright.model.instance import Instance
from meshwright.model.kernels.graphs import group_by_key
from meshwright.model.overlay import Overlay
from meshwright.overlay.kernels.dependence import count_lost
from meshwright.overlay.kernels.topics import SubOverlays
from meshwright.overlay.methods.baselines import hub
from meshwright.overlay.topics import sub_overlays
from meshwright.runtime.arrays import Bools, Ints, Longs
from meshwright.runtime.threads import in_parts
from meshwright.storage.digest import pack

MANY = 0.5  # a node that this share of the deliveries depends on is a single point of failure
LEAST_STAR = 3  # links; two links are always a star
MOST_SUBSCRIPTIONS = 5_000_000  # above it the search, of seconds there, is left out


@dataclass(frozen=True, slots=True)
class Dependence:
    """What depends on the node that most depends on."""

    node: str  # "" if no delivery depends on a third node
    topics: int  # in which a delivery among others depends on it
    of_topics: int  # that have a delivery
    deliveries: int  # that depend on it
    of_deliveries: int
    star: str  # the node that every link ends at, "" if there is none
    hub: str  # a hub by topic here would have no more links and cost no more; "" if not

    @property
    def share(self) -> float:
        """The share of the deliveries that depend on the node."""
        return self.deliveries / self.of_deliveries if self.of_deliveries else 0.0

    @property
    def is_single_point(self) -> bool:
        """Whether the node is a single point of failure."""
        return self.share >= MANY

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for a manifest."""
        return asdict(self)

    def sentences(self) -> list[str]:
        """Return what an operator should know, in sentences."""
        said = []
        if self.star:
            said.append(f"This plan is a star: every link ends at {self.star!r}.")
        if self.node:
            what = "Single point of failure" if self.is_single_point else "Most depends on"
            said.append(
                f"{what}: {self.node!r}. Without it {self.share:.0%} of the deliveries fail, "
                f"besides its own, in {self.topics:,} of {self.of_topics:,} topics."
            )
        if self.hub:
            said.append(f"A hub by topic at {self.hub!r} would do as well.")
        return said


def find_dependence(overlay: Overlay) -> Dependence | None:
    """Return what most depends on, None if the instance has more than MOST_SUBSCRIPTIONS.

    Cost: time and memory in the order of the members and links of all topics.
    """
    instance = overlay.instance
    if instance.n_subscriptions > MOST_SUBSCRIPTIONS:
        return None
    sends, wants = senders(instance), instance.wants
    wants = np.ones_like(sends) if wants is None else wants
    topics, deliveries, _ = lost_without(overlay, sends, wants)
    worst = int(np.argmax(deliveries)) if instance.n_nodes else 0
    some = instance.n_nodes > 0 and deliveries[worst] > 0
    per_topic = deliveries_of_topics(instance, sends, wants)
    names, degrees = instance.node_names, overlay.degrees
    centre = int(np.argmax(degrees)) if overlay.n_edges >= LEAST_STAR else -1
    is_star = centre >= 0 and degrees[centre] == overlay.n_edges
    lost = int(deliveries[worst]) if some else 0
    return Dependence(
        node=names[worst] if some else "",
        topics=int(topics[worst]) if some else 0,
        of_topics=int(np.count_nonzero(per_topic)),
        deliveries=lost,
        of_deliveries=int(per_topic.sum()),
        star=names[centre] if is_star else "",
        hub=_hub_that_does(overlay, per_topic, sends, wants, lost),
    )


class Failing(NamedTuple):
    """The sub-overlays of topics, and who sends and wants there: what a search of losses reads."""

    graph: SubOverlays
    rank: Ints  # [n_links], beside `graph.owned`: the place of each link in the order added
    sends: Ints  # [n_subscriptions], beside `graph.members`; 1: publishes the topic
    wants: Ints  # [n_subscriptions]; 1: wants it

    @classmethod
    def of(cls, instance: Instance, carries: Bools | None, edges: Ints) -> Failing:
        """Return what belongs to links, in the order added, for an instance."""
        sends, wants = senders(instance), instance.wants
        wants = np.ones_like(sends) if wants is None else wants
        return cls.among(instance, carries, edges, sends, wants)

    @classmethod
    def among(
        cls, instance: Instance, carries: Bools | None, edges: Ints, sends: Bools, wants: Bools
    ) -> Failing:
        """Return the same for given senders and subscribers."""
        u, v = edges.T
        sizes = np.diff(instance.indptr)
        owner = np.where(sizes[u] <= sizes[v], u, v)
        rank = group_by_key(owner, np.arange(len(edges), dtype=np.int32), instance.n_nodes)[1]
        by_topic = [
            group_by_key(instance.topics, flags.astype(np.int32), instance.n_topics)[1]
            for flags in (sends, wants)
        ]
        return cls(sub_overlays(instance, carries, u, v), rank, *by_topic)


class Losses(NamedTuple):
    """What the loss of each node costs the others, int64[n_nodes] each."""

    topics: Longs  # that it splits
    deliveries: Longs  # that depend on it
    subscribers: Longs  # that miss a sender, summed over topics

    def worst(self, most: int) -> Longs:
        """Return the nodes whose loss splits most topics, and then most deliveries."""
        order = np.lexsort((np.arange(len(self.topics)), -self.deliveries, -self.topics))
        return order[self.topics[order] > 0][:most]


def lost_without(overlay: Overlay, sends: Bools, wants: Bools) -> Losses:
    """Return for each node what depends on it among the others."""
    failing = Failing.among(overlay.instance, overlay.carries, overlay.edges, sends, wants)
    found: list[Longs] = [np.zeros((3, overlay.instance.n_nodes), np.int64)]

    def work(first: int, last: int) -> None:
        found.append(count_lost(*failing, first, last)[0])

    in_parts(work, overlay.instance.n_topics)
    return Losses(*np.sum(found, axis=0))


def senders(instance: Instance) -> Bools:
    """Return which members of topics publish them: as the instance says, or all of them."""
    sends = np.ones(instance.n_subscriptions, np.bool_)
    made = instance.publications
    if len(made):
        sends = np.isin(pack(instance.nodes, instance.topics), pack(made.nodes, made.topics))
    return sends


def deliveries_of_topics(instance: Instance, sends: Bools, wants: Bools) -> Longs:
    """Return the deliveries of each topic: a sender to another that wants it."""
    counts = [
        np.bincount(instance.topics[flags], minlength=instance.n_topics)
        for flags in (sends, wants, sends & wants)
    ]
    return counts[0] * counts[1] - counts[2]


def _hub_that_does(
    overlay: Overlay, per_topic: Longs, sends: Bools, wants: Bools, lost: int
) -> str:
    """Return the hub by topic that has no more links than the plan and fails no more, or "".

    It wants every topic that has deliveries, so it relays nothing, and links to all who take part.
    """
    instance = overlay.instance
    limited = overlay.limits is not None or overlay.links is not None
    if limited or not overlay.n_edges or not overlay.connected:
        return ""
    centre = hub(instance)
    used = per_topic > 0
    mine = slice(instance.indptr[centre], instance.indptr[centre + 1])
    if np.count_nonzero(used[instance.topics[mine]]) < np.count_nonzero(used):
        return ""
    n_links = len(np.unique(instance.nodes[used[instance.topics]])) - 1
    own = np.zeros(instance.n_subscriptions, np.bool_)
    own[mine] = True
    by_hub = int(deliveries_of_topics(instance, sends & ~own, wants & ~own).sum())
    obeys = overlay.carries is None or bool(overlay.carries[mine].all())
    as_good = overlay.n_edges >= n_links and lost >= by_hub
    return instance.node_names[centre] if obeys and as_good else ""
