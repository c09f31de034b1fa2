"""How many messages the own broker's clients publish, by topic: counted here, told to the planner.

Only what others want is taken, so only that is counted. A report carries the time that it counts
over. If one is lost its time is lost with it, and rates stay right.
"""

from meshwright.mesh.core.frames import Took
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.values import Message

MOST_TOPICS = 1_000  # that a report names: some 50 kB; at half, more messages count as others
TRAFFIC = "traffic"  # the part that asks to be woken


class Traffic:
    """The messages of one broker's clients since the last report."""

    def __init__(self, node: int, out: Outbox, every: float) -> None:
        self._node, self._out, self._every = node, out, every
        self._since = 0.0
        self._counts: dict[str, list[int]] = {}  # by topic: messages, and bytes of payload
        self._others = 0

    def start(self) -> None:
        """Begin to count."""
        self._since = self._out.now

    def count(self, message: Message) -> None:
        """Count a message that was taken."""
        if not self._counts and not self._others:
            self._out.wake(TRAFFIC, max(self._out.now, self._since + self._every))
        found = self._counts.get(message.topic)
        if found is not None:
            found[0] += 1
            found[1] += len(message.payload)
        elif len(self._counts) < MOST_TOPICS:
            self._counts[message.topic] = [1, len(message.payload)]
        else:
            self._others += 1

    def tick(self) -> None:
        """Report, if the planner is there; else later."""
        now = self._out.now
        if not self._out.is_planner_up:
            self._out.wake(TRAFFIC, now + self._every)
            return
        rows = tuple((topic, n, size) for topic, (n, size) in sorted(self._counts.items()))
        self._out.to_planner(Took(self._node, now - self._since, rows, self._others))
        self._counts.clear()
        self._since, self._others = now, 0
