"""What must stay connected when nodes are lost: survivable overlays as an ordinary problem.

An overlay survives the loss of k nodes if every topic, without any k of its members, is still
connected by links among the others. So take, for each topic and each k of its members, one topic of
those who remain: an overlay survives exactly if it connects all of these. Gains, greedy methods,
limits, searches and counting bounds then mean what they always mean, with (topic, loss) in the
place of a topic.

A loss that leaves nobody who wants a topic, or nobody who publishes it, leaves nothing to deliver,
and asks for nothing. A topic of k + 1 members or fewer has to link all pairs: here, what remains is
any two of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any, overload

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.kernels.components import new_components
from meshwright.model.overlay import Overlay, gains_of
from meshwright.overlay.carriers import settle_carriers
from meshwright.overlay.dependence import senders
from meshwright.overlay.greedy.rule import Restrictions
from meshwright.overlay.kernels.losses import NOBODY, list_losses, who_remains
from meshwright.overlay.methods import METHODS
from meshwright.overlay.methods.refined import needed_links
from meshwright.overlay.restricted import restricted_engine
from meshwright.runtime.arrays import Bools, Ints, Longs

MOST_NAMED = 10  # topics, in a manifest
MOST_REMAINING = 50_000_000  # members of what remains, in all: about 2 GB while designing


class LossNames(Sequence[str]):
    """The names of what remains of topics, made when they are asked for."""

    def __init__(self, instance: Instance, members: Ints, first: Longs, losses: Ints) -> None:
        self._topics, self._nodes = instance.topic_names, instance.node_names
        self._members, self._first, self._losses = members, first, losses

    def __len__(self) -> int:
        return len(self._losses)

    @overload
    def __getitem__(self, k: int) -> str: ...

    @overload
    def __getitem__(self, k: slice) -> list[str]: ...

    def __getitem__(self, k: int | slice) -> str | list[str]:
        """Return the name of one, or of several."""
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        topic, *places = self._losses[k].tolist()
        lost = [self._members[self._first[topic] + p] for p in places if p != NOBODY]
        name = str(self._topics[topic])
        return f"{name} without {', '.join(self._nodes[v] for v in lost)}" if lost else name


@dataclass(frozen=True, slots=True, eq=False)
class Remaining:
    """What an overlay has to connect to survive, as a problem of its own with the same nodes."""

    instance: Instance  # its topics are what remains of topics after a loss
    restrictions: Restrictions
    losses: Ints  # int32[n, 1 + k], the topic, and the places of the lost among its members


def count_remaining(instance: Instance, survive: int) -> int:
    """Return the members of all that may remain, in all."""
    total = 0
    sizes, counts = np.unique(np.bincount(instance.topics, minlength=1), return_counts=True)
    for n, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        lost = min(survive, n - 2)
        total += count * comb(n, lost) * (n - lost) if n >= 2 else 0
    return total


def after_losses(
    instance: Instance, survive: int, restrictions: Restrictions | None = None
) -> Remaining:
    """Return what has to be connected to survive the loss of any `survive` nodes.

    Examples
    --------
    >>> pairs = [("a", "x"), ("b", "x"), ("c", "x")]
    >>> list(after_losses(Instance.from_pairs(pairs), 1).instance.topic_names)
    ['x without a', 'x without b', 'x without c']
    """
    restrictions = restrictions or Restrictions()
    needed = count_remaining(instance, survive)
    if needed > MOST_REMAINING:
        raise InputError(
            f"to survive the loss of {survive} would mean to look at {needed:,} members of what "
            f"remains of topics, {MOST_REMAINING:,} at most: {_largest_topic(instance)}. Sample "
            "the workload, or divide its largest topics."
        )
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    members, slot_at = components.nodes.astype(np.int32), components.slot_at
    sends, wants = senders(instance), instance.wants
    wants = np.ones_like(sends) if wants is None else wants
    losses = list_losses(components.topic_ptr, sends[slot_at], wants[slot_at], survive)
    pointers, topics, slots = who_remains(
        components.topic_ptr, members, slot_at, losses, instance.n_nodes
    )
    names = LossNames(instance, members, components.topic_ptr, losses)
    remaining = Instance(instance.node_names, names, pointers, topics, wants=wants[slots])
    carries: Bools | None = None
    if restrictions.carries is not None:
        carries = settle_carriers(remaining, restrictions.carries[slots])
    return Remaining(remaining, replace(restrictions, carries=carries), losses)


def keep_needed(
    built: tuple[Any, ...], remaining: Remaining, instance: Instance, carries: Bools | None
) -> tuple[Ints, Ints, dict[str, Any]]:
    """Return the links of a method without those that no topic needs, and their plain gains."""
    edges, _, *facts = built
    kept = needed_links(remaining.instance, edges, remaining.restrictions)
    return kept, gains_of(instance, kept, carries), facts[0] if facts else {}


def topics_apart(overlay: Overlay, survive: int) -> Longs:
    """Return the topics that the loss of at most `survive` nodes would split."""
    found = after_losses(overlay.instance, survive, Restrictions(carries=overlay.carries))
    carries = found.restrictions.carries
    apart = replace(overlay, instance=found.instance, carries=carries, _components=[]).components
    return np.unique(found.losses[apart > 1, 0]).astype(np.int64)


def topics_split(overlay: Overlay, survive: int) -> list[str]:
    """Return the topics that the loss of at most `survive` nodes would split, by name."""
    return [overlay.instance.topic_names[t] for t in topics_apart(overlay, survive).tolist()]


def survival_facts(overlay: Overlay) -> dict[str, Any]:
    """Return, for the manifest, which topics a loss splits although the overlay is to survive it.

    There are some only where limits leave no room for the links that were needed.
    """
    survive = overlay.parameters.get("survive")
    if not survive:
        return {}
    return named_splits(topics_split(overlay, survive))


def named_splits(split: Sequence[str]) -> dict[str, Any]:
    """Return the facts of topics that are split, for the manifest."""
    return {"n_not_surviving": len(split), "not_surviving": list(split[:MOST_NAMED])}


def price(
    method: str, parameters: Mapping[str, Any], instance: Instance, restrictions: Restrictions
) -> dict[str, int]:
    """Return what the method needs without survival. A search gets a tenth of its effort."""
    less = {name: parameters.get(name) for name in ("seconds", "rounds")}
    effort = {name: type(value)(value / 10) for name, value in less.items() if value is not None}
    options: dict[str, Any] = {"engine": restricted_engine(restrictions)}
    if METHODS[method].searches:
        options = {"restrictions": restrictions}
    edges = METHODS[method].load()(instance, **{**parameters, **effort}, **options)[0]
    degrees = np.bincount(edges.ravel(), minlength=1)
    return {"links_without": len(edges), "max_degree_without": int(degrees.max(initial=0))}


def _largest_topic(instance: Instance) -> str:
    sizes = np.bincount(instance.topics, minlength=1)
    topic = int(np.argmax(sizes))
    return f"{instance.topic_names[topic]!r} alone has {sizes[topic]:,} members"
