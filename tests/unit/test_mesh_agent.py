"""An agent alone: planners it must not obey, a disk that is full, clocks that jump."""

import pytest

from meshwright.mesh.core import events as ev
from meshwright.mesh.core.agent import Agent
from meshwright.mesh.core.events import JOURNAL, MAILBOX, PLANNER, STATE
from meshwright.mesh.core.frames import Drained, Hello, Log
from meshwright.mesh.core.settings import AgentSettings
from meshwright.mesh.core.values import (
    Entry,
    Health,
    Joined,
    Leaving,
    Left,
    Message,
    Snapshot,
    Topology,
    Version,
)

SNAPSHOT = Snapshot(
    (Joined(0, "a", "h:1"), Joined(1, "b", "h:2")),
    Topology("tree", ((0, 1),)),
    Health((), ()),
    (("x", (1,)),),
)


class Driver:
    """Hands events to an agent, stores what it puts, and keeps what it does."""

    def __init__(self, records=None, *, wall=1_000.0, fails=()):
        self.agent = Agent(AgentSettings("mesh", 0), records)
        self.now, self.done, self.fails = 0.0, [], fails
        self.stores = {STATE: [], JOURNAL: [], MAILBOX: []}
        self.tell(ev.Start(wall))

    def tell(self, event):
        waiting = [event]
        while waiting:
            for action in self.agent.handle(waiting.pop(0), self.now):
                self.done.append(action)
                if isinstance(action, ev.Put) and action.store in self.fails:
                    waiting.append(ev.NotStored(action.token, "no space left on device"))
                elif isinstance(action, ev.Put):
                    self.stores[action.store].append((action.key, action.value))
                    waiting.append(ev.Stored(action.token))

    def run(self, seconds):
        """Let time pass, in small steps."""
        for _ in range(int(seconds * 10)):
            self.now += 0.1
            self.tell(ev.Tick())

    def follow_planner(self, *, mesh="mesh", term=1):
        self.tell(ev.LinkUp(PLANNER))
        self.tell(ev.Received(PLANNER, Hello(mesh, PLANNER, 0, Version(term, 1), term)))
        self.tell(ev.Received(PLANNER, Log((Entry(Version(term, 1), (SNAPSHOT,)),))))

    def notes(self):
        return {action.what for action in self.done if isinstance(action, ev.Note)}

    def accepted(self):
        return [action.packet for action in self.done if isinstance(action, ev.Accept)]


def test_the_log_of_a_planner_of_another_mesh_is_not_taken():
    driver = Driver()
    driver.follow_planner(mesh="other")
    assert driver.agent.log.newest == Version(0, 0)
    assert "wrong_mesh" in driver.notes()


def test_a_planner_of_a_lower_term_is_not_obeyed():
    driver = Driver()
    driver.follow_planner(term=5)
    driver.tell(ev.LinkLost(PLANNER))
    driver.follow_planner(term=4)
    assert driver.agent.log.newest == Version(5, 1)
    assert "old_planner" in driver.notes()


@pytest.mark.parametrize(("fails", "accepted"), [((), [7]), ((JOURNAL,), [])])
def test_on_a_full_disk_the_broker_keeps_what_the_journal_cannot(fails, accepted):
    driver = Driver(fails=fails)
    driver.follow_planner()
    driver.tell(ev.BrokerUp(False))
    driver.tell(ev.Published(Message("x", b"1"), 7, False))
    driver.run(3)
    assert driver.accepted() == accepted
    assert ("journal_failed" in driver.notes()) == bool(fails)


@pytest.mark.parametrize(
    ("wall", "seconds", "is_there"),
    [
        (1_010.0, 1, True),
        (1_100.0, 1, False),  # it was away for longer than the message lives
        (-90_000.0, 30, True),  # the clock was set back by a day ...
        (-90_000.0, 70, False),  # ... and the message lives no longer than its expiry for that
    ],
)
def test_expiry_goes_on_over_a_restart_and_a_clock_that_jumps(wall, seconds, is_there):
    first = Driver()
    first.follow_planner()
    first.tell(ev.BrokerUp(False))
    first.tell(ev.Published(Message("x", b"1", expiry=60.0), 7, False))
    first.run(2)
    assert first.stores[JOURNAL]
    second = Driver(first.stores, wall=wall)
    second.run(seconds)
    assert bool(second.agent.origin.pending) == is_there
    assert ("expired" in second.notes()) != is_there


def test_an_agent_whose_broker_was_removed_ends_and_ends_again_when_it_is_started():
    driver = Driver()
    driver.follow_planner()
    driver.tell(ev.Received(PLANNER, Log((Entry(Version(1, 2), (Left(0),)),))))
    assert [action.is_failure for action in driver.done if isinstance(action, ev.End)] == [False]
    again = Driver({STATE: driver.stores[STATE]})
    assert any(isinstance(action, ev.End) for action in again.done)


def test_an_agent_that_a_planner_does_not_list_ends_but_one_of_a_first_empty_entry_does_not():
    driver = Driver()
    driver.tell(ev.LinkUp(PLANNER))
    driver.tell(ev.Received(PLANNER, Hello("mesh", PLANNER, 0, Version(1, 1), 1)))
    nothing = SNAPSHOT._replace(joined=(), interests=())
    driver.tell(ev.Received(PLANNER, Log((Entry(Version(1, 1), (nothing,)),))))
    assert not any(isinstance(action, ev.End) for action in driver.done)
    others = SNAPSHOT._replace(joined=SNAPSHOT.joined[1:])
    driver.tell(ev.Received(PLANNER, Log((Entry(Version(1, 2), (others,)),))))
    assert any(isinstance(action, ev.End) for action in driver.done)


def test_while_it_leaves_an_agent_waits_for_its_broker_before_it_says_that_it_is_done():
    driver = Driver()
    driver.follow_planner()
    driver.tell(ev.Received(PLANNER, Log((Entry(Version(1, 2), (Leaving(0),)),))))
    said = lambda: ev.Send(PLANNER, Drained(0)) in driver.done  # noqa: E731
    driver.run(20.0)
    assert not said()  # the broker may hold messages of clients
    driver.tell(ev.BrokerUp(True))
    driver.run(1.0)
    assert not said()
    driver.run(5.0)
    assert said()
