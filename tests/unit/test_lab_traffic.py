"""Traffic of the lab without brokers: when it ends, and what counts as a storm."""

import pytest

from meshwright.deploy.lab import traffic
from meshwright.deploy.lab.clients import NUMBERED, Arrival
from meshwright.deploy.lab.traffic import Message, send


class FakeClients:
    """Clients at two brokers; broker b gets each message `copies` times, one at each reading."""

    def __init__(self, copies: int) -> None:
        self._left = copies
        self._sent: list[tuple[str, int]] = []

    def take_numbers(self, n: int) -> int:
        return 0

    def publish(self, node: str, topic: str, number: int) -> int:
        self._sent.append((topic, number))
        return 0

    def check(self) -> None:
        """Both brokers run."""

    def news(self):
        if self._sent and self._left:
            self._left -= 1
            for topic, number in self._sent:
                yield "b", Arrival(NUMBERED, number, topic, 1000)


MESSAGES = [Message("t", "a", i, frozenset("b")) for i in range(2)]


def test_messages_that_arrive_are_recorded_with_their_delay():
    found = send(FakeClients(1), MESSAGES, own=False, quiet=0.05)
    assert [dict(copies) for copies in found.copies] == [{"b": 1}, {"b": 1}]
    assert (found.delays, found.storm, found.n_renamed) == ([1000, 1000], False, 0)


def test_messages_that_do_not_arrive_end_the_wait():
    found = send(FakeClients(0), MESSAGES, own=False, patience=0.1, quiet=0.05)
    assert [dict(copies) for copies in found.copies] == [{}, {}]


@pytest.mark.parametrize("limit", ["STORM", "MAX_SETTLE_SECONDS"])
def test_a_network_that_is_never_quiet_is_a_storm_and_not_an_endless_wait(monkeypatch, limit):
    monkeypatch.setattr(traffic, limit, 0)
    found = send(FakeClients(10**9), MESSAGES, own=False, quiet=1.0)
    assert found.storm
