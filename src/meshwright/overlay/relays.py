"""Who relays: nodes that only publish a topic, and pass it on to others.

All who take part in a topic are connected, those that only publish it too. A topic needs relays if
its subscribers are not joined, or a publisher has no link to one, once such nodes pass nothing on.
In these topics, the relays are the nodes inside the tree of the links that joined it, in the order
added. The trees of a deployment may be others, and it counts its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from meshwright.errors import InfeasibleError
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.overlay.demand import assumption
from meshwright.overlay.dependence import MOST_SUBSCRIPTIONS, Failing
from meshwright.overlay.kernels.relays import count_relays
from meshwright.runtime.arrays import Longs
from meshwright.runtime.threads import in_parts


@dataclass(frozen=True, slots=True)
class Relays:
    """How much is carried by nodes that do not want it."""

    topics: int  # that need relays
    nodes: int  # that relay some topic
    times: int  # pairs of a node and a topic that it relays

    def as_dict(self) -> dict[str, int]:
        """Return the counts for a manifest."""
        return asdict(self)


def find_relays(overlay: Overlay) -> Relays | None:
    """Return who relays, None if the instance has more than MOST_SUBSCRIPTIONS.

    Examples
    --------
    >>> from meshwright.overlay import design
    >>> published = [("sensor", "x"), ("gate", "x"), ("gate", "y")]
    >>> wanted = [("cloud", "x"), ("cloud", "y")]
    >>> find_relays(design(Instance.from_pairs(wanted, publications=published), "gm"))
    Relays(topics=0, nodes=0, times=0)
    """
    instance = overlay.instance
    if instance.n_subscriptions > MOST_SUBSCRIPTIONS:
        return None
    wants = instance.wants
    if wants is None:
        return Relays(0, 0, 0)
    carries = wants if overlay.carries is None else wants & overlay.carries
    without = replace(overlay, carries=carries, _components=[])
    needed = without.components > overlay.components
    failing = Failing.of(instance, overlay.carries, overlay.edges)
    found: list[Longs] = [np.zeros(instance.n_nodes, np.int64)]

    def work(first: int, last: int) -> None:
        found.append(count_relays(failing.graph, failing.rank, failing.wants, needed, first, last))

    in_parts(work, instance.n_topics)
    times = np.sum(found, axis=0)
    return Relays(int(needed.sum()), int(np.count_nonzero(times)), int(times.sum()))


def price_of_anyone(
    overlay: Overlay, workload: Instance, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what it costs that anyone may publish: the links and relays without that assumption.

    `options` are those of `design`. A search gets a tenth of its effort. Empty if the overlay
    assumes something else, or if there is no plan to compare with.
    """
    from meshwright.overlay import design

    if overlay.parameters.get("assume_publishers") != "anyone":
        return {}
    instead = assumption(workload, None)
    less = {name: options.get(name) for name in ("seconds", "rounds")}
    effort = {name: type(value)(value / 10) for name, value in less.items() if value is not None}
    asked = {**options, **effort, "assume_publishers": instead, "certify": False}
    asked.pop("certify_seconds", None)
    try:
        other = design(workload, **asked)
    except InfeasibleError:
        return {}
    relays = found.times if (found := find_relays(other)) else None
    price = {"assume_publishers": instead, "n_edges": other.n_edges, "relayed": relays}
    return {"without_anyone": price}
