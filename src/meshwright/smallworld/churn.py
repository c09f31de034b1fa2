"""Churn: nodes join, leave and crash, interests change, and the small world is repaired.

Chen, Tock, Girdzijauskas (DEBS 2018), section 1.3: between two designs correctness is kept by
maintaining ring and fingers. Every event gives a new small world with Property 1, so routing stays
exact. Links are not designed again, so support may drift.

- A node that joins is put between two neighbours on the ring: where it shares most topics with
  them, less what they share with each other, if the ring was made by gain; else at random.
- Where a node leaves, the ring closes. A crash is repaired in the same way, once it is detected.
- A finger stays while it leads to the same node and this is still within its phase. A join moves
  the positions behind it one away, a departure one nearer, which can take a finger out of its
  phase. Fingers out of their phase, to a lost node, and of a new node or phase are picked again:
  if fingers were made by gain, as slots in which no link gains are filled (by interest or at
  random); else by Chord's rule or at random.
- Subscriptions change neither ring nor fingers.

Ids follow the sorted names, so a join or departure renumbers the nodes, and a new topic the topics.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance, check_name
from meshwright.model.kernels.components import copy_rows
from meshwright.model.small_world import SmallWorld, phase_bounds, small_world
from meshwright.runtime.arrays import Ints, Longs
from meshwright.smallworld.kernels.worlds import EMPTY, random_numbers
from meshwright.smallworld.methods import filled, plain_fingers

RINGS_BY_GAIN = ("sl", "s")
FINGERS_BY_GAIN = ("sl", "l")


def join(world: SmallWorld, node: str, topics: Iterable[str] = ()) -> SmallWorld:
    """Return the world with one more node, which wants the given topics.

    Examples
    --------
    >>> from meshwright.overlay import design
    >>> world = design(Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "y")]), "sl")
    >>> world = join(world, "bb", ["y"])
    >>> [world.instance.node_names[v] for v in world.ring]
    ['a', 'b', 'bb', 'c']
    """
    names = world.instance.node_names
    new, is_known = _place(names, node)
    if is_known:
        raise InputError(f"node {node!r} already exists; give another name, or subscribe it.")
    wanted = set(topics)
    wider = _with_topics(world.instance, wanted)
    row = np.array(sorted(_id(wider.topic_names, t, "topic") for t in wanted), np.int32)
    after = neighbour(world, wider, world.ring, row)
    ring = np.insert(world.ring + (world.ring >= new), after + 1, new)
    moved = np.arange(len(names)) + (np.arange(len(names)) > after)
    return repaired(world, _with_nodes(wider, new, new, {node: row}), ring, moved)


def leave(world: SmallWorld, node: str) -> SmallWorld:
    """Return the world without a node; topics that only it wanted stay, with no subscriber."""
    instance = world.instance
    gone = _id(instance.node_names, node, "node")
    if instance.n_nodes == 1:
        raise InputError(f"{node!r} is the last node; a small world needs one.")
    position = int(world.positions[gone])
    ring = np.delete(world.ring, position)
    moved = np.arange(instance.n_nodes) - (np.arange(instance.n_nodes) > position)
    moved[position] = EMPTY
    left = _with_nodes(instance, gone, gone + 1, {})
    return repaired(world, left, ring - (ring > gone), moved)


crash = leave  # once it is detected; messages routed over the node before that are lost


def subscribe(world: SmallWorld, node: str, topic: str) -> SmallWorld:
    """Return the world in which a node also wants a topic, which may be new."""
    wider = _with_topics(world.instance, {topic})
    v, t = _id(wider.node_names, node, "node"), _id(wider.topic_names, topic, "topic")
    row = wider.topics_of(v)
    if t in row:
        raise InputError(f"{node!r} wants {topic!r} already.")
    return _rewired(world, _with_nodes(wider, v, v + 1, {node: np.union1d(row, np.int32(t))}))


def unsubscribe(world: SmallWorld, node: str, topic: str) -> SmallWorld:
    """Return the world in which a node no longer wants a topic; the topic stays."""
    instance = world.instance
    v, t = _id(instance.node_names, node, "node"), _id(instance.topic_names, topic, "topic")
    row = instance.topics_of(v)
    if t not in row:
        raise InputError(f"{node!r} does not want {topic!r}.")
    return _rewired(world, _with_nodes(instance, v, v + 1, {node: row[row != t]}))


def neighbour(world: SmallWorld, instance: Instance, ring: Ints, row: Ints) -> int:
    """Return the position of a ring after which a node that wants the topics of `row` joins.

    The instance may have nodes that are not on the ring.
    """
    n = len(ring)
    if world.method not in RINGS_BY_GAIN:
        return int(random_numbers(n + 1, 1, _seed(world))[n, 0] * n)
    sizes = np.diff(instance.indptr)[ring]
    topics = np.empty(int(sizes.sum()), np.int32)
    copy_rows(instance.indptr, instance.topics, ring, topics)
    places = np.repeat(np.arange(n, dtype=np.int64), sizes)
    wanted = np.zeros(max(instance.n_topics, 1), bool)
    wanted[row] = True
    with_new = np.bincount(places[wanted[topics]], minlength=n)
    # Pairs (position, topic) as one number; `following` holds those of the next position.
    own = places * instance.n_topics + topics
    following = (places - 1) % n * instance.n_topics + topics
    both = np.intersect1d(own, following, assume_unique=True) // max(instance.n_topics, 1)
    lost = np.bincount(both, minlength=n)
    return int(np.argmax(with_new + np.roll(with_new, -1) - lost))


def repaired(
    world: SmallWorld, instance: Instance, ring: Ints, moved: Longs, *, thrifty: bool = False
) -> SmallWorld:
    """Return the world on another ring.

    `moved` is int64[n before]: where each old position is now, EMPTY if its node left. If
    `thrifty`, a finger that is picked again follows a link that is there, where one leads into its
    phase: the nearest.
    """
    n = instance.n_nodes
    nearest, behind = phase_bounds(n)
    slots = np.full((n, len(nearest)), EMPTY, np.int32)
    stay = np.flatnonzero(moved != EMPTY)
    n_phases = min(len(nearest), world.n_phases)
    leads_to = moved[world.positions[world.fingers[world.ring[stay]]]][:, :n_phases]
    distance = (leads_to - moved[stay][:, None]) % n
    inside = (distance >= nearest[:n_phases]) & (distance < behind[:n_phases])
    kept = np.where((leads_to != EMPTY) & inside, leads_to, EMPTY)
    slots[moved[stay], :n_phases] = kept
    if thrifty:
        _follow_links(slots, moved[world.positions[world.edges]])
    if world.method in FINGERS_BY_GAIN:
        fill = world.parameters.get("fill", "interest")  # as before there was a choice
        slots = filled(instance, ring, slots, fill, _seed(world))
    else:
        kind = world.parameters.get("fingers", "chord")
        slots = np.where(slots == EMPTY, plain_fingers(n, kind, _seed(world)), slots)
    return _next(world, instance, ring, slots)


def _follow_links(slots: Ints, links: Longs) -> None:
    """Fill empty slots with links between positions, and with those of the ring. Writes `slots`.

    A link of a node that left has EMPTY at an end.
    """
    n = len(slots)
    here = np.arange(n, dtype=np.int64)
    both = np.concatenate((links, np.column_stack((here, (here + 1) % n))))
    both = both[(both != EMPTY).all(axis=1) & (both[:, 0] != both[:, 1])]
    start, end = np.concatenate((both, both[:, ::-1])).T
    distance = (end - start) % n
    phase = np.frexp(distance)[1] - 1  # 2^phase <= distance < 2^(phase + 1)
    order = np.argsort(-distance, kind="stable")  # the nearest is written last
    found = np.full_like(slots, EMPTY)
    found[start[order], phase[order]] = end[order]
    is_empty = slots == EMPTY
    slots[is_empty] = found[is_empty]


def _rewired(world: SmallWorld, instance: Instance) -> SmallWorld:
    """Return the world with the same ring and fingers for other interests."""
    return _next(world, instance, world.ring, world.positions[world.fingers[world.ring]])


def _next(world: SmallWorld, instance: Instance, ring: Ints, slots: Ints) -> SmallWorld:
    parameters: dict[str, Any] = dict(world.parameters)
    parameters["events"] = parameters.get("events", 0) + 1
    return small_world(
        instance, ring, slots, method=world.method, parameters=parameters, seed=world.seed
    )


def _with_nodes(instance: Instance, first: int, last: int, wants: Mapping[str, Ints]) -> Instance:
    """Return the instance in which those of `wants`, with their topics, replace first..last-1."""
    names, topics, sizes = instance.node_names, instance.topics, np.diff(instance.indptr)
    new_sizes = np.array([len(row) for row in wants.values()], np.int64)
    sizes = np.concatenate((sizes[:first], new_sizes, sizes[last:]))
    start, end = instance.indptr[first], instance.indptr[last]
    return Instance(
        (*names[:first], *wants, *names[last:]),
        instance.topic_names,
        np.concatenate(([0], np.cumsum(sizes))),
        np.concatenate((topics[:start], *wants.values(), topics[end:])),
    )


def _with_topics(instance: Instance, topics: set[str]) -> Instance:
    """Return the instance with these topics too; the names stay sorted."""
    known = instance.topic_names
    placed = {topic: _place(known, topic) for topic in topics}
    new = {topic: place for topic, (place, is_known) in placed.items() if not is_known}
    if not new:
        return instance
    names, ids = tuple(sorted((*known, *new))), np.arange(len(known), dtype=np.int32)
    moved = ids + np.searchsorted(sorted(new.values()), ids, "right")
    return Instance(instance.node_names, names, instance.indptr, moved[instance.topics])


def _id(names: Sequence[str], name: str, what: str) -> int:
    place, is_known = _place(names, name)
    if not is_known:
        raise InputError(f"there is no {what} {name!r} among {len(names):,}.")
    return place


def _place(names: Sequence[str], name: str) -> tuple[int, bool]:
    """Return where a name is or would be among the sorted names, and whether it is there."""
    check_name(name)
    place = bisect_left(names, name)
    return place, place < len(names) and names[place] == name


def _seed(world: SmallWorld) -> int:
    return 1 if world.seed is None else world.seed
