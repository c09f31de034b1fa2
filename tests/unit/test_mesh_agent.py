"""An agent alone: planners it must not obey, a disk that is full, clocks that jump."""

import pytest

from meshwright.mesh.core import events as ev
from meshwright.mesh.core.agent import Agent
from meshwright.mesh.core.events import JOURNAL, MAILBOX, PLANNER, STATE
from meshwright.mesh.core.frames import (
    Acks,
    Ask,
    Confirm,
    Data,
    Drained,
    Hello,
    Log,
    NeedLog,
    Previous,
)
from meshwright.mesh.core.settings import AgentSettings
from meshwright.mesh.core.values import (
    Entry,
    Health,
    Interests,
    Joined,
    Leaving,
    Left,
    Message,
    MessageId,
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

    def __init__(self, records=None, *, wall=1_000.0, fails=(), **settings):
        self.agent = Agent(AgentSettings("mesh", 0, **settings), records)
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

    def sent(self, kind):
        frames = (action.frame for action in self.done if isinstance(action, ev.Send))
        return [frame for frame in frames if isinstance(frame, kind)]

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
    driver.fails = ()
    driver.run(2)
    assert driver.accepted() == [7]  # the disk takes it now


def test_a_term_is_confirmed_and_obeyed_only_when_it_is_on_disk():
    driver = Driver(fails=(STATE,))
    driver.follow_planner()
    driver.run(3)
    assert driver.sent(Confirm) == []
    assert driver.agent.log.newest == Version(0, 0)
    assert "state_failed" in driver.notes()
    driver.fails = ()
    driver.run(2)
    assert driver.sent(Confirm) == [Confirm(0, 1)]
    assert driver.sent(NeedLog)[-1] == NeedLog(Version(0, 0))  # what was told before is asked for
    driver.tell(ev.Received(PLANNER, Log((Entry(Version(1, 1), (SNAPSHOT,)),))))
    assert driver.agent.log.newest == Version(1, 1)


def test_a_term_that_waits_for_the_disk_is_not_confirmed_on_a_new_connection_either():
    driver = Driver()
    driver.follow_planner(term=1)
    driver.fails = (STATE,)
    for _ in range(2):
        driver.tell(ev.LinkLost(PLANNER))
        driver.follow_planner(term=2)
    assert driver.sent(Confirm) == [Confirm(0, 1)]
    driver.tell(ev.LinkLost(PLANNER))
    driver.tell(ev.LinkUp(PLANNER))  # to which planner is not known yet
    driver.fails = ()
    driver.run(2)
    assert driver.sent(Confirm) == [Confirm(0, 1)]


def linked(driver):
    """Give an agent the log, a broker and its neighbour, on a disk that takes everything."""
    driver.follow_planner()
    driver.tell(ev.BrokerUp(False))
    driver.tell(ev.LinkUp(1))
    driver.done.clear()
    return driver


def test_a_message_is_not_sent_before_its_identity_is_on_disk():
    driver = linked(Driver())
    driver.fails = (STATE,)
    driver.tell(ev.Published(Message("x", b"1"), 7, False))
    driver.run(3)
    assert driver.sent(Data) == []
    assert "state_failed" in driver.notes()
    driver.fails = ()
    driver.run(1.2)
    assert [frame.message.payload for frame in driver.sent(Data)] == [b"1"]


def test_the_identities_of_a_life_that_is_not_on_disk_are_not_used():
    driver = Driver(fails=(STATE,))
    driver.tell(ev.BrokerUp(False))
    driver.tell(ev.LinkUp(1))
    driver.tell(ev.Received(1, Hello("mesh", 1, 1, Version(1, 1), 0)))
    driver.tell(ev.Received(1, Log((Entry(Version(1, 1), (SNAPSHOT,)),))))
    (fetch,) = (action for action in driver.done if isinstance(action, ev.Fetch))
    driver.tell(ev.Fetched(fetch.token, (Message("x", b"kept", retain=True),)))
    assert driver.sent(Data) == []
    driver.fails = ()
    driver.run(2)
    assert [frame.message.payload for frame in driver.sent(Data)] == [b"kept"]


def to_own_broker(number):
    """Return a message of broker 1 for a client of broker 0."""
    version = Version(1, 2)
    return Data(
        MessageId(1, 1, number), Message("y", b"%d" % number), version, 1, 0, (), None, (1, 0), ()
    )


def wanting(driver):
    """Let a client of the agent's broker want y."""
    driver.tell(ev.Received(PLANNER, Log((Entry(Version(1, 2), (Interests(0, ("y",), ()),)),))))
    driver.done.clear()
    return driver


def published(driver):
    return [action for action in driver.done if isinstance(action, ev.Publish)]


def test_a_delivery_is_acknowledged_when_it_is_on_disk_and_a_crash_repeats_a_window_at_most():
    driver = wanting(linked(Driver(window=3)))
    driver.fails = (STATE,)
    for number in range(1, 6):
        driver.tell(ev.Received(1, to_own_broker(number)))
    for publish in published(driver):
        driver.tell(ev.Taken(publish.token))
    driver.run(3)
    assert len(published(driver)) == 3
    told = {id_ for frame in driver.sent(Acks) for id_ in frame.have}
    assert told == {MessageId(1, 1, 4), MessageId(1, 1, 5)}  # they are in the mailbox
    driver.fails = ()
    driver.run(1.2)
    assert [publish.message.payload for publish in published(driver)] == [
        b"1",
        b"2",
        b"3",
        b"4",
        b"5",
    ]
    told = {id_ for frame in driver.sent(Acks) for id_ in frame.have}
    assert {id_.counter for id_ in told} >= {1, 2, 3}


def test_a_message_in_the_mailbox_waits_after_a_crash_for_the_one_before_it():
    """That one was on its way to the broker when the agent was killed."""
    first = wanting(linked(Driver(window=1)))
    one, two = to_own_broker(1), to_own_broker(2)
    two = two._replace(previous=Previous(one.id, one.version))
    first.tell(ev.Received(1, one))
    first.tell(ev.Received(1, two))
    assert [key for key, _ in first.stores[MAILBOX]] == [(1, 1, 2)]
    second = Driver(first.stores)
    second.tell(ev.BrokerUp(True))
    second.tell(ev.LinkUp(1))
    second.run(1)
    assert published(second) == []
    assert [frame.id for frame in second.sent(Ask)] == [one.id]
    second.tell(ev.Received(1, one))
    for publish in published(second):
        second.tell(ev.Taken(publish.token))
    assert [publish.message.payload for publish in published(second)] == [b"1", b"2"]


def test_exactly_once_publishes_nothing_before_its_packet_id_is_on_disk():
    driver = wanting(linked(Driver(exactly_once=True)))
    driver.fails = (MAILBOX,)
    driver.tell(ev.Received(1, to_own_broker(1)))
    driver.tell(ev.BrokerLost())
    driver.tell(ev.BrokerUp(True))
    driver.run(3)
    assert published(driver) == []
    assert "mailbox_failed" in driver.notes()
    driver.fails = ()
    driver.run(1.2)
    assert [(p.packet, p.duplicate) for p in published(driver)] == [(1, False)]


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
