"""The messages of one publication, hop by hop."""

import itertools
from collections.abc import Iterator

import numpy as np

from meshwright.errors import InputError
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import SmallWorld
from meshwright.smallworld.routing.protocols import (
    Direction,
    Links,
    Match,
    check_ring,
    choose_protocol,
    ring_tables,
    router,
)
from meshwright.smallworld.routing.routes import (
    PIVOTS,
    Message,
    RingLinks,
    Taking,
    parents,
    ring_route,
    tree_route,
)


def trace(
    overlay: Overlay,
    topic: int,
    publisher: int,
    *,
    routing: str = "pie",
    direction: str = Direction.ONE,
    match: str = Match.FINGERS,
) -> list[Message]:
    """Return the messages of a publication, a sender's before those of its receivers.

    `routing`, `direction` and `match` are as in `simulate`.

    Examples
    --------
    >>> from meshwright.model.small_world import small_world
    >>> from meshwright.smallworld.methods import chord_fingers
    >>> from meshwright.model.instance import Instance
    >>> instance = Instance.from_pairs([("a", "x"), ("d", "x")], nodes=["a", "b", "c", "d"])
    >>> world = small_world(instance, [0, 1, 2, 3], chord_fingers(4), method="none")
    >>> for message in trace(world, 0, 0, routing="po"):
    ...     print(message)
    Message(sender=0, receiver=2, low=3, high=0, hops=1)
    Message(sender=2, receiver=3, low=3, high=0, hops=2)
    """
    instance = overlay.instance
    if not 0 <= topic < instance.n_topics:
        raise InputError(f"topic is {topic}; give an id from 0 to {instance.n_topics - 1}.")
    if not 0 <= publisher < instance.n_nodes:
        raise InputError(f"publisher is {publisher}; give an id from 0 to {instance.n_nodes - 1}.")
    choose_protocol(routing, direction, match)
    check_ring(routing, overlay.method, is_small_world=isinstance(overlay, SmallWorld))
    if routing == "tree":
        return tree_route(_neighbours(overlay), _taking(overlay, topic), publisher)
    if routing in PIVOTS and isinstance(overlay, SmallWorld):
        return _conveyed(overlay, topic, publisher, routing, (Direction(direction), Match(match)))
    route = router(overlay, routing, direction, match).route
    topics, publishers = np.array([topic], np.int32), np.array([publisher], np.int32)
    # Route twice: the number of messages is known only afterwards.
    room = int(route(topics, publishers).n_messages[0])
    return [Message(*row) for row in route(topics, publishers, room).trace.tolist()]


def _neighbours(overlay: Overlay) -> dict[int, list[int]]:
    neighbours: dict[int, list[int]] = {}
    for u, v in overlay.edges.tolist():
        neighbours.setdefault(u, []).append(v)
        neighbours.setdefault(v, []).append(u)
    return {u: sorted(linked) for u, linked in neighbours.items()}


def _taking(overlay: Overlay, topic: int) -> Taking:
    """Return who takes part in a topic, and how."""
    instance = overlay.instance
    chosen = instance.topics == topic
    members = instance.nodes[chosen]
    wants = np.ones(len(members), np.bool_) if instance.wants is None else instance.wants[chosen]
    leaves: list[int] = []
    if overlay.carries is not None:
        leaves = members[~overlay.carries[chosen]].tolist()
    return Taking(members.tolist(), set(members[wants].tolist()), set(leaves))


def _conveyed(
    world: SmallWorld, topic: int, publisher: int, routing: str, way: tuple[Direction, Match]
) -> list[Message]:
    """Return the messages by `po`, `pal` or `pie`, with nodes as ids."""
    tables = ring_tables(world, *way)
    links = RingLinks(
        tables.reach.tolist(),
        _rows(tables.neighbours) if tables.both_ways else None,
        _rows(tables.matched),
    )
    pointers = tables.members.pointers[topic : topic + 2]
    members = tables.members.nodes[pointers[0] : pointers[1]].tolist()
    nodes = tables.nodes.tolist()
    found = ring_route(routing, links, members, int(tables.positions[publisher]))
    return [
        Message(nodes[m.sender], nodes[m.receiver], nodes[m.low], nodes[m.high], m.hops)
        for m in found
    ]


def _rows(links: Links) -> list[list[int]]:
    ends = itertools.pairwise(links.pointers.tolist())
    offsets = links.offsets.tolist()
    return [offsets[start:end] for start, end in ends]


def sketch(overlay: Overlay, topic: int, publisher: int, **options: str) -> Iterator[str]:
    """Yield the route of a publication as the lines of a tree, nodes by name.

    `options` are those of `trace`.

    Examples
    --------
    >>> from meshwright.model.instance import Instance
    >>> from meshwright.overlay import design
    >>> pairs = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "x")]
    >>> for line in sketch(design(Instance.from_pairs(pairs)), 0, 1, routing="tree"):
    ...     print(line)
    b
    └─ a
       └─ c
    """
    messages = trace(overlay, topic, publisher, **options)
    children: dict[int, list[int]] = {}
    for number, cause in enumerate(parents(messages)):
        children.setdefault(cause, []).append(number)
    instance = overlay.instance

    def label(message: Message) -> str:
        name, for_itself = instance.node_names[message.receiver], message.low == message.receiver
        if topic not in instance.topics_of(message.receiver):
            return f"{name} ({'pivot' if for_itself else 'relay'})"
        return name if for_itself else f"{name} (passes it on)"

    def branches(number: int, margin: str) -> Iterator[str]:
        sent = children.get(number, [])
        for i in sent:
            last = i == sent[-1]
            yield f"{margin}{'└─' if last else '├─'} {label(messages[i])}"
            yield from branches(i, margin + ("   " if last else "│  "))

    yield instance.node_names[publisher]
    yield from branches(-1, "")
