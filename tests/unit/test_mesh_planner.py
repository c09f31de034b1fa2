"""A planner alone: lists that change, files that were lost, agents that know more than it does."""

from meshwright.mesh.core import events as ev
from meshwright.mesh.core.events import PLANNER, STATE
from meshwright.mesh.core.frames import Confirm, Drained, Hello, Log, NeedLog, Wants
from meshwright.mesh.core.planner import Planner
from meshwright.mesh.core.settings import PlannerSettings
from meshwright.mesh.core.values import (
    Entry,
    Health,
    Interests,
    Joined,
    Snapshot,
    Topology,
    Version,
)

A, B, C = (Joined(i, name, f"h:{i}") for i, name in enumerate("abc"))
HELD = Snapshot((A, B), Topology("tree", ((0, 1),)), Health((), ()), (("x", (1,)),))


class Driver:
    """Hands events to a planner, stores what it puts, and keeps what it does."""

    def __init__(self, members, records=None, **settings):
        self.planner = Planner(PlannerSettings("mesh", **settings), members, records)
        self.now, self.done, self.records = 0.0, [], {}
        self.is_full = False  # the disk
        self.tell(ev.Start())

    def tell(self, event):
        waiting = [event]
        while waiting:
            for action in self.planner.handle(waiting.pop(0), self.now):
                self.done.append(action)
                if isinstance(action, ev.Put) and self.is_full:
                    waiting.append(ev.NotStored(action.token, "no space left on device"))
                elif isinstance(action, ev.Put):
                    self.records[action.key] = action.value
                    waiting.append(ev.Stored(action.token))
                elif isinstance(action, ev.Drop):
                    for key in action.keys:
                        self.records.pop(key, None)

    def run(self, seconds):
        for _ in range(int(seconds * 10)):
            self.now += 0.1
            self.tell(ev.Tick())

    def greet(self, node, version=(0, 0), term=0):
        """Let an agent connect; return what the planner sends to it."""
        before = len(self.done)
        self.tell(ev.LinkUp(node))
        self.tell(ev.Received(node, Hello("mesh", node, 1, Version(*version), term)))
        self.tell(ev.Received(node, Confirm(node, self.planner.term)))
        return [a.frame for a in self.done[before:] if isinstance(a, ev.Send) and a.peer == node]

    def ends(self):
        return [action for action in self.done if isinstance(action, ev.End)]

    def stored(self):
        return {STATE: list(self.records.items())}


TWO = ev.Members((A, B))


def running(members=TWO, **settings):
    driver = Driver(members, **settings)
    driver.greet(0)
    driver.greet(1)
    driver.run(2.0)
    return driver


def test_a_planner_without_files_refuses_to_begin_where_agents_hold_a_log():
    driver = Driver(ev.Members((A, B)))
    driver.run(5.0)
    assert driver.planner.log.entries == []  # it waits for the first agent
    driver.greet(0, (3, 40), 3)
    (end,) = driver.ends()
    assert end.is_failure
    assert end.why.startswith("the agent of 'a' holds version 3.40 of the mesh's log")
    assert "--restore" in end.why
    driver.run(5.0)
    assert driver.planner.log.entries == []


def test_so_does_one_that_has_only_its_term_left():
    driver = Driver(ev.Members((A, B)), {STATE: [(("term",), (9,))]})
    driver.greet(0, (3, 40), 3)
    assert driver.ends()


def test_it_also_refuses_when_it_has_begun_with_agents_that_hold_nothing():
    driver = running()
    assert driver.planner.log.joined.keys() == {0, 1}
    driver.tell(ev.LinkLost(1))
    driver.greet(1, (1, 3), 1)  # one that it knows comes back
    assert driver.ends() == []
    driver.tell(ev.Members((A, B, C)))
    driver.greet(2, (7, 90), 7)
    assert driver.ends()


def test_it_is_not_deceived_by_a_version_that_has_the_number_of_one_of_its_own():
    driver = running(ev.Members((A, B, C)))
    known = driver.planner.log.newest
    driver.greet(2, known, known.term)  # from the first planner of this mesh, as this one is
    assert driver.ends()


def test_an_agent_that_has_the_log_from_its_neighbours_only_is_welcome():
    driver = running(ev.Members((A, B, C)))
    driver.greet(2, driver.planner.log.newest, 0)
    assert driver.ends() == []


def test_agents_of_a_new_mesh_are_welcome():
    driver = Driver(ev.Members((A, B)))
    driver.run(3.0)
    driver.greet(1)
    driver.run(2.0)
    assert driver.ends() == []
    assert driver.planner.log.joined == {0: A, 1: B}


def test_with_restore_it_takes_the_newest_log_and_a_term_above_all():
    driver = Driver(ev.Members((A, B)), restores=True)
    sent = driver.greet(0, (1, 40), 1)  # the first planner of a mesh has term 1
    assert NeedLog(Version(0, 0)) in sent
    assert driver.planner.term == 2
    old = HELD._replace(interests=())
    driver.tell(ev.Received(0, Log((Entry(Version(1, 40), (old,)),))))
    driver.run(3.0)
    assert driver.planner.log.newest == (1, 40)  # agent 1 has not answered
    assert "restoring" in {a.what for a in driver.done if isinstance(a, ev.Note)}
    driver.greet(1, (3, 41), 4)
    assert driver.planner.term == 5
    driver.run(1.0)
    assert not driver.planner._active  # it knows that there is more than it has
    driver.tell(ev.Received(1, Log((Entry(Version(3, 41), (HELD,)),))))
    driver.run(2.0)
    assert driver.planner.log.joined == {0: A, 1: B}
    assert driver.planner.log.filters_of[1] == {"x"}
    driver.tell(ev.Received(0, Wants(0, True, ("y",), ())))
    driver.run(1.0)
    assert driver.planner.log.newest.term == 5
    assert driver.planner.log.filters_of[0] == {"y"}


def test_a_restore_does_not_wait_for_ever_for_agents_that_are_gone():
    driver = Driver(ev.Members((A, B)), restores=True)
    driver.run(60.0)
    assert not driver.planner._active  # nobody has answered
    driver.greet(0, (3, 40), 3)
    driver.tell(ev.Received(0, Log((Entry(Version(3, 40), (HELD,)),))))
    driver.run(20.0)
    assert driver.planner._active
    notes = {a.what: a.detail for a in driver.done if isinstance(a, ev.Note)}
    assert notes["restored_without"] == "agents that do not answer: b"


def test_numbers_are_those_of_the_list_and_removed_brokers_keep_theirs():
    driver = running(ev.Members((A, B, C)))
    driver.tell(ev.Members((A, B), leaving=(2,)))
    assert driver.planner.log.leaving == {2}
    driver.tell(ev.Received(2, Drained(2)))
    assert driver.planner.log.joined == {0: A, 1: B}
    new = Joined(3, "c", "h:9")  # the name again, with another number
    driver.tell(ev.Members((A, B, new), removed=(2,)))
    assert driver.planner.log.joined == {0: A, 1: B, 3: new}
    again = Driver(ev.Members((A, B, new), removed=(2,)), driver.stored())
    again.run(2.0)
    assert again.planner.log.joined == {0: A, 1: B, 3: new}


def test_who_leaves_wants_nothing_any_more_and_a_design_leaves_it_out():
    driver = running(ev.Members((A, B, C)))
    driver.greet(2)
    driver.tell(ev.Received(2, Wants(2, True, ("x",), ())))
    driver.run(1.0)
    assert driver.planner.log.filters_of[2] == {"x"}
    driver.tell(ev.Members((A, B), leaving=(2,)))
    driver.tell(ev.Received(2, Wants(2, True, ("x", "y"), ())))
    driver.run(1.0)
    assert driver.planner.log.filters_of[2] == set()
    assert driver.planner.request(1, fresh=True).nodes == (0, 1)
    assert any(2 in edge for edge in driver.planner.log.shape.topology.edges)  # still linked


def test_a_broker_that_vanished_from_the_list_stays_and_is_said():
    driver = running(ev.Members((A, B, C)))
    driver.tell(ev.Members((A, B)))
    assert driver.planner.log.joined == {0: A, 1: B, 2: C}
    assert ev.Note("members_in_conflict", "'c' takes part but is not in mesh.toml") in driver.done


def test_a_broker_whose_number_was_changed_by_hand_keeps_the_old_one_and_is_said():
    driver = running()
    driver.tell(ev.Members((A, B._replace(node=5))))
    assert driver.planner.log.joined == {0: A, 1: B}
    words = "'b' is number 1 in the log and 5 in mesh.toml"
    assert ev.Note("members_in_conflict", words) in driver.done
    assert PLANNER not in driver.planner.log.joined


def designs(driver):
    return [action for action in driver.done if isinstance(action, ev.Design)]


def want(driver, node, *patterns):
    driver.tell(ev.Received(node, Wants(node, False, patterns, ())))


def test_what_changes_during_a_slow_design_is_designed_for_after_it():
    driver = running()
    want(driver, 1, "x")
    driver.run(10.0)
    (slow,) = designs(driver)
    want(driver, 0, "x")
    driver.run(20.0)
    assert designs(driver) == [slow]
    driver.tell(ev.Designed(slow.token, None))
    driver.run(3.0)
    last = designs(driver)[-1]
    assert last.interests == ((0, ("x",)), (1, ("x",)))
    driver.tell(ev.Designed(last.token, None))
    driver.run(60.0)
    assert designs(driver) == [slow, last]  # nothing has changed since


def test_a_replan_during_a_slow_design_follows_it_and_is_from_scratch():
    driver = running()
    driver.run(10.0)
    (slow,) = designs(driver)
    driver.tell(ev.Replan())
    driver.run(20.0)
    driver.tell(ev.Designed(slow.token, None))
    driver.run(3.0)
    assert [design.fresh for design in designs(driver)] == [False, True]


def back(first):
    """Start a planner from the files of one that was killed, with the same agents."""
    driver = Driver(TWO, first.stored())
    for node in (0, 1):
        driver.greet(node, first.planner.log.newest, first.planner.term)
    return driver


def test_a_replan_is_not_forgotten_by_a_planner_that_still_listens():
    first = running()
    first.run(10.0)
    second = Driver(TWO, first.stored())
    second.tell(ev.Replan())
    second.run(0.5)
    assert designs(second) == []
    second.run(3.0)
    assert [design.fresh for design in designs(second)] == [True]


def test_what_changed_before_a_planner_stopped_is_designed_for_when_it_is_back():
    first = running()
    first.run(10.0)
    want(first, 1, "x")
    first.run(1.0)
    assert len(designs(first)) == 1  # for the first entry; the one for "x" is under way
    second = back(first)
    second.run(8.0)
    (design,) = designs(second)
    assert design.interests == ((0, ()), (1, ("x",)))
    assert second.planner.log.shape.topology.edges == ((0, 1),)
    second.tell(ev.Designed(design.token, Topology("tree", ((0, 1),), ring=(0, 1))))
    third = back(second)
    third.run(30.0)
    assert designs(third) == []  # all is as designed


def told(driver):
    frames = (action.frame for action in driver.done if isinstance(action, ev.Send))
    return [frame for frame in frames if isinstance(frame, Log)]


def test_an_entry_that_the_disk_refuses_is_told_when_it_takes_it_and_the_old_ones_stay():
    driver = running()
    driver.is_full = True
    driver.done.clear()
    want(driver, 1, "x")
    driver.run(3.0)
    assert told(driver) == []
    assert "state_failed" in {a.what for a in driver.done if isinstance(a, ev.Note)}
    again = Driver(TWO, driver.stored())
    assert again.planner.log.joined == {0: A, 1: B}  # what was on disk is there
    driver.is_full = False
    driver.run(1.2)
    assert Interests(1, ("x",), ()) in told(driver)[0].entries[0].changes
    assert Driver(TWO, driver.stored()).planner.log.filters_of[1] == {"x"}
