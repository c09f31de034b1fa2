"""Who carries which topic: carriers pass a topic on to others, leaves only send and receive it.

A leaf of a topic has a link to one of its carriers at least. A topic without a carrier that has
one subscriber needs none: all that publish it link to that subscriber, which counts as its carrier.
"""

from collections.abc import Sequence

import numpy as np

from meshwright.errors import InfeasibleError
from meshwright.model.instance import Instance
from meshwright.runtime.arrays import Bools, Longs

MOST_NAMED = 5  # topics, and nodes of a topic, in a message


def settle_carriers(instance: Instance, may_carry: Bools) -> Bools | None:
    """Return which incidences carry: those that may, and the only subscriber where none may.

    Both have one flag for each node and topic of the instance. None if all carry. Raise
    InfeasibleError if a topic has several subscribers and no carrier.

    Examples
    --------
    >>> instance = Instance.from_pairs([("a", "x"), ("a", "y"), ("b", "x")])
    >>> settle_carriers(instance, np.array([False, False, True])).tolist()
    [False, True, True]
    """
    topics, n_topics = instance.topics, instance.n_topics
    subscribes = np.ones(len(topics), np.bool_) if instance.wants is None else instance.wants
    carriers = np.bincount(topics[may_carry], minlength=n_topics)
    subscribers = np.bincount(topics[subscribes], minlength=n_topics)
    stuck = np.flatnonzero((carriers == 0) & (subscribers > 1))
    if len(stuck):
        raise InfeasibleError(_without_carrier(instance, subscribes, stuck))
    alone = (carriers == 0) & (subscribers == 1)
    carries: Bools = may_carry | (subscribes & alone[topics])
    return None if carries.all() else carries


def _without_carrier(instance: Instance, subscribes: Bools, stuck: Longs) -> str:
    """Return which topics have several subscribers and no carrier, and what to change."""
    nodes = instance.nodes
    listed = []
    for topic in stuck[:MOST_NAMED].tolist():
        wanted_by = nodes[(instance.topics == topic) & subscribes].tolist()
        names = _some([instance.node_names[node] for node in wanted_by])
        listed.append(f"{instance.topic_names[topic]!r} (wanted by {names})")
    more = f" and {len(stuck) - len(listed):,} more" if len(stuck) > len(listed) else ""
    which = "topic has" if len(stuck) == 1 else f"{len(stuck):,} topics have"
    return (
        f"{which} no carrier, as all that want it are leaves: {', '.join(listed)}{more}. "
        "Give one of these nodes the role relay or hub, or none."
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(repr, names[:MOST_NAMED])) + more
