"""Agents count the messages of their broker's clients, and the planner has them written down."""

from meshwright.mesh.core import events as ev
from meshwright.mesh.core import traffic
from meshwright.mesh.core.events import PLANNER
from meshwright.mesh.core.frames import Confirm, Took
from meshwright.mesh.core.planner import Planner
from meshwright.mesh.core.settings import PlannerSettings
from meshwright.mesh.core.values import Message
from meshwright.mesh.shell.codec import LENGTH, decode, encode
from tests.unit.test_mesh_agent import Driver


def reports(driver) -> list[Took]:
    sent = [action.frame for action in driver.done if isinstance(action, ev.Send)]
    return [frame for frame in sent if isinstance(frame, Took)]


def publish(driver, topic, payload=b"12", *, packet=0, duplicate=False):
    message = Message(topic, payload, qos=1 if packet else 0)
    driver.tell(ev.Published(message, packet, duplicate))


def test_messages_are_counted_by_topic_and_told_with_the_time():
    driver = Driver()
    driver.follow_planner()
    driver.run(50)
    publish(driver, "x")
    publish(driver, "x", b"1234")
    publish(driver, "ü", b"")
    assert reports(driver) == []
    driver.run(20)
    (found,) = reports(driver)
    assert found._replace(seconds=0) == Took(0, 0, (("x", 2, 6), ("ü", 1, 0)), 0)
    assert abs(found.seconds - 60) < 0.2
    driver.run(600)  # silence is not told
    assert len(reports(driver)) == 1
    publish(driver, "x")
    driver.run(1)
    (_, later) = reports(driver)
    assert abs(later.seconds - 610) < 1  # but it counts


def test_what_a_broker_sends_again_is_counted_once():
    driver = Driver()
    driver.follow_planner()
    driver.tell(ev.BrokerUp(resumed=True))
    publish(driver, "x", packet=7)
    publish(driver, "x", packet=7, duplicate=True)
    driver.run(61)
    assert reports(driver)[0].topics == (("x", 1, 2),)


def test_without_the_planner_counts_wait():
    driver = Driver()
    publish(driver, "x")
    driver.run(130)
    assert reports(driver) == []
    driver.follow_planner()
    publish(driver, "x")
    driver.run(61)
    (found,) = reports(driver)
    assert found.topics == (("x", 2, 4),)
    assert found.seconds > 130


def test_further_topics_are_counted_together(monkeypatch):
    monkeypatch.setattr(traffic, "MOST_TOPICS", 2)
    driver = Driver()
    driver.follow_planner()
    for topic in "abcada":
        publish(driver, topic)
    driver.run(61)
    assert reports(driver)[0][2:] == ((("a", 3, 6), ("b", 1, 2)), 2)


def test_a_report_keeps_its_form_on_the_way():
    took = Took(3, 60.5, (("ü", 2, 10),), 1)
    data = encode(took)
    _, kind = LENGTH.unpack_from(data)
    assert decode(kind, data[LENGTH.size :]) == took


def test_the_planner_has_reports_written_under_the_number_of_their_link():
    planner = Planner(PlannerSettings("mesh"), [("a", "h:1"), ("b", "h:2")])
    planner.handle(ev.Start(0.0), 0.0)
    planner.handle(ev.LinkUp(1), 0.1)
    planner.handle(ev.Received(1, Confirm(1, 1)), 0.2)
    took = Took(1, 60.0, (("x", 1, 1),), 0)
    for frame in (took, took._replace(node=0)):  # another's number
        done = planner.handle(ev.Received(1, frame), 0.3)
        assert [action for action in done if isinstance(action, ev.Record)] == [ev.Record(took)]
    assert PLANNER not in planner.log.joined
