"""Retained messages in a simulated mesh: the newest wins, newcomers get it, copies go."""

from meshwright.mesh.core.events import PLANNER
from meshwright.mesh.core.values import Message
from meshwright.mesh.simulator.design import draw_design
from meshwright.mesh.simulator.mesh import Mesh, Options


def started(n_nodes=3, **wanted):
    mesh = Mesh(5, Options(n_nodes), draw_design(5, "tree"))
    for broker, pattern in wanted.items():
        mesh.brokers[int(broker[1:])].subscribe(pattern)
    for part in (PLANNER, *range(n_nodes)):
        mesh.start(part)
    mesh.clock.run(5.0)
    return mesh


def publish(mesh, node, payload, topic="a", *, wait=1.0):
    mesh.brokers[node].publish(Message(topic, payload, 1, retain=True))
    mesh.clock.run(mesh.clock.now + wait)


def kept(mesh, topic="a"):
    found = (broker.state.retained.get(topic) for broker in mesh.brokers)
    return [message and message.payload for message in found]


def test_a_retained_message_is_set_replaced_and_cleared_where_it_is_wanted():
    mesh = started(b1="a")
    publish(mesh, 0, b"one")
    assert kept(mesh) == [b"one", b"one", None]
    publish(mesh, 0, b"two")
    assert kept(mesh) == [b"two", b"two", None]
    publish(mesh, 0, b"")
    assert kept(mesh) == [None, None, None]


def test_a_broker_that_begins_to_want_a_topic_gets_its_retained_message_within_a_second():
    mesh = started(b1="a")
    publish(mesh, 0, b"old")
    mesh.brokers[2].subscribe("+")
    mesh.report_wants(2)
    mesh.clock.run(mesh.clock.now + 1.0)
    assert [arrival.message.payload for arrival in mesh.brokers[2].arrivals] == [b"old"]
    assert kept(mesh) == [b"old"] * 3


def test_of_two_writers_the_later_one_wins_everywhere():
    mesh = started(b0="a", b1="a", b2="a")
    publish(mesh, 0, b"first")
    publish(mesh, 2, b"second")
    assert kept(mesh) == [b"second"] * 3


def test_writers_at_the_same_moment_end_with_one_value_on_all_brokers():
    for gap in (0.0, 0.001, 0.002, 0.004, 0.008):
        mesh = started(b0="a", b1="a", b2="a")
        publish(mesh, 0, b"x", wait=gap)
        publish(mesh, 2, b"y", wait=2.0)
        assert len(set(kept(mesh))) == 1
        assert {a.message.payload for a in mesh.brokers[1].arrivals} == {b"x", b"y"}


def test_copies_are_cleared_when_the_interest_ends_and_originals_stay():
    mesh = started(b1="a")
    publish(mesh, 0, b"one")
    mesh.brokers[1].unsubscribe("a")
    mesh.report_wants(1)
    mesh.clock.run(mesh.clock.now + 1.0)
    assert kept(mesh) == [b"one", None, None]


def test_a_newcomer_is_served_though_the_origin_crashes_meanwhile():
    mesh = started(b1="a")
    publish(mesh, 0, b"old")
    mesh.kill(0)
    mesh.brokers[2].subscribe("a")
    mesh.report_wants(2)
    mesh.clock.run(mesh.clock.now + 3.0)
    mesh.start(0)
    mesh.clock.run(mesh.clock.now + 5.0)
    assert kept(mesh) == [b"old"] * 3


def test_what_was_cleared_does_not_come_back_from_a_broker_that_did_not_hear_of_it():
    """Seed 112: brokers that do not want a topic are not told that another one cleared it."""
    mesh = started(4, b1="a", b2="a")
    publish(mesh, 0, b"old")
    publish(mesh, 1, b"")
    assert kept(mesh) == [b"old", None, None, None]
    mesh.brokers[3].subscribe("+")
    mesh.report_wants(3)
    mesh.clock.run(mesh.clock.now + 2.0)
    assert kept(mesh) == [b"old", None, None, None]
    mesh.brokers[0].subscribe("a")
    mesh.report_wants(0)
    mesh.clock.run(mesh.clock.now + 2.0)
    assert kept(mesh) == [None] * 4


def test_a_newcomer_is_told_nothing_of_topics_that_were_cleared_before():
    mesh = started(b1="a")
    publish(mesh, 0, b"old")
    publish(mesh, 0, b"")
    mesh.brokers[2].subscribe("a")
    mesh.report_wants(2)
    mesh.clock.run(mesh.clock.now + 2.0)
    assert mesh.brokers[2].arrivals == []
