"""What clients sent and got, and what that says about the mesh's promises.

Only clients' own records decide. A fault that kills a broker may lose what that broker had taken
from its clients or held for them, so messages from and to it do not count while it is down. After
a fault at an agent or its broker, a message may arrive there twice; such copies are counted apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from meshwright.mesh.clients import Got

GRACE = 1.0  # seconds before a broker's death in which it may have taken what nobody else has


class Sent(NamedTuple):
    """A message of a client; its number is its place in the list of all."""

    node: str
    topic: str
    at: float


class Outage(NamedTuple):
    """A fault, from its first moment until everything is as before."""

    what: str
    apart: frozenset[str]  # the brokers that it cuts off from the others; none for a single link
    start: float
    healed: float  # when the cause was removed
    end: float
    loses: bool = False  # a broker was killed: what only it had is lost

    def touches(self, sent: Sent, receiver: str) -> bool:
        """Return whether a message has to cross to or from the brokers that were cut off."""
        return (sent.node in self.apart) != (receiver in self.apart)


class Wait(NamedTuple):
    """How long messages waited because of a fault, in seconds; None: none was under way."""

    what: str
    brokers: tuple[str, ...]
    others: float | None  # the longest way of a message between brokers that were not cut off
    held: float | None  # after healing, until the last message for or from the others arrived


@dataclass(slots=True)
class Verdict:
    """What became of the messages."""

    n_published: int = 0
    n_expected: int = 0
    n_delivered: int = 0
    n_lost: int = 0
    n_doubled: int = 0
    n_possibly_doubled: int = 0  # at brokers whose agent or broker failed
    n_out_of_order: int = 0
    n_unwanted: int = 0
    waits: list[Wait] = field(default_factory=list)


class Records:
    """Messages by number, and who got which."""

    def __init__(self, interests: Mapping[str, Sequence[str]]) -> None:
        self.wanting: dict[str, list[str]] = {}
        for node, topics in interests.items():
            for topic in dict.fromkeys(topics):
                self.wanting.setdefault(topic, []).append(node)
        self.sent: list[Sent] = []
        self.unsure: set[int] = set()  # sent, but their broker did not acknowledge them
        self.got: dict[str, list[Got]] = {node: [] for node in interests}
        self.seen: dict[str, list[Got]] = {}  # by those who watch a broker without wanting anything
        self.visits: list[tuple[str, str]] = []  # broker and topic of clients that came and went
        self.outages: list[Outage] = []

    def publish(self, node: str, topic: str, at: float) -> bytes:
        """Note a message and return its payload."""
        self.sent.append(Sent(node, topic, at))
        return b"%d" % (len(self.sent) - 1)

    def missing(self) -> int:
        """Return how many deliveries that must come have not."""
        arrived = {node: {int(g.payload) for g in got} for node, got in self.got.items()}
        return sum(number not in arrived[node] for number, node in self._due())

    def judge(self) -> Verdict:
        """Compare what arrived with what had to."""
        found = Verdict(n_published=len(self.sent))
        due = set(self._due())
        found.n_expected = len(due)
        first: dict[tuple[int, str], float] = {}
        for node, arrived in self.got.items():
            last: dict[tuple[str, str], int] = {}
            for got in arrived:
                number = int(got.payload)
                sent = self.sent[number]
                if (number, node) in first:
                    if self._may_repeat(node, got.at):
                        found.n_possibly_doubled += 1
                    else:
                        found.n_doubled += 1
                    continue
                first[number, node] = got.at
                key = sent.topic, sent.node
                found.n_out_of_order += number < last.get(key, -1)
                last[key] = max(number, last.get(key, -1))
        found.n_delivered = len(due & first.keys())
        found.n_lost = len(due) - found.n_delivered
        found.n_unwanted = self._count_unwanted()
        found.waits = [self._wait(outage, first) for outage in self.outages]
        return found

    def _due(self) -> Iterable[tuple[int, str]]:
        """Yield each delivery that must come: number and broker."""
        for number, sent in enumerate(self.sent):
            if number not in self.unsure:
                for node in self.wanting[sent.topic]:
                    if not any(self._is_excused(o, sent, node) for o in self.outages):
                        yield number, node

    @staticmethod
    def _is_excused(outage: Outage, sent: Sent, receiver: str) -> bool:
        return (
            outage.loses
            and outage.start - GRACE <= sent.at <= outage.end
            and (sent.node in outage.apart or receiver in outage.apart)
        )

    def _may_repeat(self, node: str, at: float) -> bool:
        return any(node in outage.apart and at >= outage.start for outage in self.outages)

    def _count_unwanted(self) -> int:
        visited = set(self.visits)
        return sum(
            self.sent[int(got.payload)].node != node
            and node not in self.wanting[got.topic]
            and (node, got.topic) not in visited
            for node, seen in self.seen.items()
            for got in seen
        )

    def _wait(self, outage: Outage, first: Mapping[tuple[int, str], float]) -> Wait:
        others, held = [], []
        for (number, node), at in first.items():
            sent = self.sent[number]
            if sent.node == node or not outage.start <= sent.at <= outage.end:
                continue  # what stays at one broker needs no mesh
            if outage.touches(sent, node):
                held.append(max(0.0, at - outage.healed))
            else:
                others.append(at - sent.at)
        longest = max(others, default=None)
        return Wait(outage.what, tuple(sorted(outage.apart)), longest, max(held, default=None))
