"""The messages of one publication, hop by hop: for pictures, and to see why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from meshwright.errors import InputError
from meshwright.routing.protocols import router
from meshwright.values import Overlay


class Message(NamedTuple):
    """One hop of a publication. Nodes are ids.

    `low` is whom the message is for, and `receiver` the next on the way there. It is for all
    subscribers from `low` up to but not including `high`, clockwise on the ring; `high` is -1
    where a message carries no range.
    """

    sender: int
    receiver: int
    low: int
    high: int
    hops: int  # from the publisher to the receiver


def trace(overlay: Overlay, topic: int, publisher: int, *, routing: str = "pie") -> list[Message]:
    """Return the messages that a publication takes, a sender's before those of its receivers.

    Examples
    --------
    >>> from meshwright.smallworld import chord_fingers, small_world
    >>> from meshwright.values import Instance
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
    route = router(overlay, routing).route
    topics, publishers = np.array([topic], np.int32), np.array([publisher], np.int32)
    # Count first, then keep: how many there are is known only afterwards.
    room = int(route(topics, publishers).n_messages[0])
    return [Message(*row) for row in route(topics, publishers, room).trace.tolist()]


def parents(messages: list[Message]) -> list[int]:
    """Return for each message the one that caused it, by number; -1 for the publisher's own.

    A node sends on what is for another, and shares out what is for itself.
    """
    found = []
    for message in messages:
        caused = [
            i
            for i, before in enumerate(messages)
            if before.receiver == message.sender and before.hops == message.hops - 1
        ]
        passed_on = [i for i in caused if messages[i][2:4] == message[2:4]]
        for_itself = [i for i in caused if messages[i].low == message.sender]
        found.append((passed_on or for_itself or [-1])[0])
    return found


def sketch(overlay: Overlay, topic: int, publisher: int, *, routing: str = "pie") -> Iterator[str]:
    """Yield the way of a publication as the lines of a tree, nodes by name.

    Examples
    --------
    >>> from meshwright.smallworld import chord_fingers, small_world
    >>> from meshwright.values import Instance
    >>> nodes = ["a", "b", "c", "d", "e"]
    >>> instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("d", "x")], nodes=nodes)
    >>> world = small_world(instance, range(5), chord_fingers(5), method="none")
    >>> for line in sketch(world, 0, 0, routing="po"):
    ...     print(line)
    a
    └─ b
       └─ d

    """
    messages = trace(overlay, topic, publisher, routing=routing)
    below: dict[int, list[int]] = {}
    for number, cause in enumerate(parents(messages)):
        below.setdefault(cause, []).append(number)
    instance = overlay.instance

    def told(message: Message) -> str:
        name, wanted = instance.node_names[message.receiver], instance.topics_of(message.receiver)
        if topic not in wanted:
            return f"{name} ({'pivot' if message.low == message.receiver else 'relay'})"
        return name if message.low == message.receiver else f"{name} (passes it on)"

    def branches(number: int, margin: str) -> Iterator[str]:
        sent = below.get(number, [])
        for i in sent:
            last = i == sent[-1]
            yield f"{margin}{'└─' if last else '├─'} {told(messages[i])}"
            yield from branches(i, margin + ("   " if last else "│  "))

    yield instance.node_names[publisher]
    yield from branches(-1, "")
