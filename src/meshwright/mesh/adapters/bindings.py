"""Bindings of RabbitMQ's topic exchange as topic filters of MQTT.

Its plugin for MQTT makes a queue for each session and binds it to the exchange, with ``/`` as
``.`` and ``+`` as ``*``. Queues of AMQP clients may be bound to the same exchange; they want
messages as well. AMQP allows more than MQTT, such as a ``#`` between other words: such a key is
widened to a filter that covers it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from meshwright.model.client_ids import AGENT
from meshwright.patterns.filters import topic_error

SESSIONS = "mqtt-subscription-"  # begins the names of queues of MQTT clients


def filter_of(key: str) -> str | None:
    """Return the filter that a routing key stands for, or one that covers it; None: there is none.

    Examples
    --------
    >>> filter_of("plant.*.temp"), filter_of("a.#"), filter_of("#")
    ('plant/+/temp', 'a/#', '#')
    >>> filter_of("a.#.b"), filter_of("a.b+c"), filter_of("$SYS.x")
    ('a/#', 'a/+', None)
    """
    levels: list[str] = []
    for word in key.split("."):
        if word == "#":
            levels.append("#")
            break
        # A word that MQTT reads as several levels, or as a wildcard: any level may be meant.
        if "/" in word:
            levels.append("#")
            break
        levels.append("+" if word == "*" or "+" in word or "#" in word else word)
    name = "/".join(levels)
    if name.startswith("$"):
        return None  # stays inside the broker
    return None if topic_error(name) else name


def wanted_by(bindings: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the filters of all bindings but those of agents."""
    keys = {
        str(row["routing_key"])
        for row in bindings
        if not str(row["destination"]).startswith(SESSIONS + AGENT)
    }
    return {name for key in keys if (name := filter_of(key)) is not None}
