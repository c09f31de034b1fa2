"""The messages of one publication, hop by hop."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from meshwright.errors import InputError
from meshwright.model.overlay import Overlay
from meshwright.smallworld.routing.protocols import Direction, Match, router


class Message(NamedTuple):
    """One hop of a publication. Nodes are ids.

    The message is for all subscribers from `low` up to but not including `high`, clockwise on the
    ring, and `receiver` is the next node on the way to `low`; `high` is -1 if it carries no range.
    """

    sender: int
    receiver: int
    low: int
    high: int
    hops: int  # from the publisher to the receiver


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
    route = router(overlay, routing, direction, match).route
    topics, publishers = np.array([topic], np.int32), np.array([publisher], np.int32)
    # Route twice: the number of messages is known only afterwards.
    room = int(route(topics, publishers).n_messages[0])
    return [Message(*row) for row in route(topics, publishers, room).trace.tolist()]


def parents(messages: list[Message]) -> list[int]:
    """Return for each message the index of the one that caused it; -1 for the publisher's own.

    A node forwards a message that is for another node, and divides one that is for itself.
    """
    found = []
    for message in messages:
        before = [
            i
            for i, cause in enumerate(messages)
            if cause.receiver == message.sender and cause.hops == message.hops - 1
        ]
        forwarded = [i for i in before if messages[i][2:4] == message[2:4]]
        divided = [i for i in before if messages[i].low == message.sender]
        found.append((forwarded or divided or [-1])[0])
    return found


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
