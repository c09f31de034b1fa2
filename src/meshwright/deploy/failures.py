"""What one broker's failure costs the others, on the trees that a plan has.

The same count as `overlay.dependence` makes of an overlay. A link that no tree uses does not help
when a broker fails, so a deployment depends on its brokers at least as much as its overlay.
"""

from dataclasses import dataclass

import numpy as np

from meshwright.deploy.plan import Plan
from meshwright.deploy.route import Route
from meshwright.model.kernels.graphs import adjacency
from meshwright.overlay.dependence import Dependence
from meshwright.overlay.kernels.dependence import MISSING, PAIRS, lost_in_topic
from meshwright.runtime.arrays import Longs


@dataclass(slots=True)
class Failure:
    """What is lost while one broker is down, besides what its own clients send and receive."""

    topics: int = 0  # whose tree falls into parts between which messages are lost
    subscribers: int = 0  # that miss some publisher, counted once for each topic
    deliveries: int = 0  # pairs of a publisher and a subscriber of the same topic


def failures(plan: Plan) -> dict[str, Failure]:
    """Return what the failure of each broker costs the others."""
    found = {node: Failure() for node in plan.nodes}
    for route in plan.routes:
        members, lost = lost_on_tree(route)
        for i, node in enumerate(members):
            if lost[PAIRS, i]:
                found[node].topics += 1
                found[node].subscribers += int(lost[MISSING, i])
                found[node].deliveries += int(lost[PAIRS, i])
    return found


def lost_on_tree(route: Route) -> tuple[list[str], Longs]:
    """Return the brokers of a topic's tree, and int64[2, n]: what the failure of each parts."""
    members = sorted({node for link in route.edges for node in link})
    place = {node: i for i, node in enumerate(members)}
    ends = np.array([[place[u], place[v]] for u, v in route.edges], np.int32).reshape(-1, 2)
    roles = set(route.publishers), set(route.subscribers)
    flags = [np.array([node in role for node in members], np.bool_) for role in roles]
    pointers, near = adjacency(len(members), ends[:, 0], ends[:, 1])
    return members, lost_in_topic(pointers, near, *flags)


def n_deliveries(plan: Plan) -> int:
    """Return the deliveries over links: pairs of a publisher and another broker that wants it."""
    return sum(map(deliveries_of, plan.routes))


def deliveries_of(route: Route) -> int:
    """Return the same of one topic."""
    both = set(route.publishers) & set(route.subscribers)
    return len(route.publishers) * len(route.subscribers) - len(both)


def find_dependence(plan: Plan) -> Dependence:
    """Return what depends on the broker whose failure costs the others most deliveries."""
    cost = failures(plan)
    worst = max(plan.nodes, key=lambda node: cost[node].deliveries)
    lost = cost[worst]
    return Dependence(
        node=worst if lost.deliveries else "",
        topics=lost.topics,
        of_topics=sum(deliveries_of(route) > 0 for route in plan.routes),
        deliveries=lost.deliveries,
        of_deliveries=n_deliveries(plan),
        star="",
        hub="",
    )
