"""Clients' records decide about a mesh: lost, doubled, out of order, unwanted, and how long."""

import pytest

from meshwright.mesh.clients import Got
from meshwright.mesh.lab.records import Outage, Records

WANTED = {"a": ["x"], "b": ["x", "y"], "c": ["y"]}


def records(*sent):
    """Return records of messages (broker, topic, time) that nobody has got yet."""
    made = Records(WANTED)
    for node, topic, at in sent:
        made.publish(node, topic, at)
    return made


def arrive(made, node, number, at):
    made.got[node].append(Got(made.sent[number].topic, b"%d" % number, at, False))


def test_each_broker_that_wants_a_topic_must_get_its_messages_its_own_included():
    made = records(("a", "x", 1.0))
    arrive(made, "b", 0, 1.1)
    found = made.judge()
    assert (found.n_expected, found.n_delivered, found.n_lost) == (2, 1, 1)
    assert made.missing() == 1


def test_a_second_copy_is_doubled_and_an_older_message_after_a_newer_one_out_of_order():
    made = records(("a", "x", 1.0), ("a", "x", 1.1), ("b", "x", 1.2))
    for number in (1, 0, 1, 2):
        arrive(made, "b", number, 2.0)
    found = made.judge()
    assert (found.n_doubled, found.n_out_of_order) == (1, 1)


def test_at_a_broker_whose_agent_failed_copies_are_counted_apart():
    made = records(("a", "x", 1.0))
    made.outages = [Outage("agent", frozenset("b"), 0.9, 2.0, 3.0)]
    for node, at in (("a", 1.0), ("a", 1.1), ("b", 2.1), ("b", 2.2)):
        arrive(made, node, 0, at)
    found = made.judge()
    assert (found.n_doubled, found.n_possibly_doubled, found.n_lost) == (1, 1, 0)


@pytest.mark.parametrize(("loses", "lost"), [(True, 0), (False, 2)])
def test_only_the_death_of_a_broker_excuses_what_its_clients_lack(loses, lost):
    made = records(("a", "x", 1.0), ("b", "x", 1.5), ("b", "x", 9.0))
    made.outages = [Outage("broker", frozenset("b"), 1.2, 3.0, 4.0, loses)]
    for node, number in (("a", 0), ("a", 2), ("b", 1), ("b", 2)):
        arrive(made, node, number, 9.5)
    assert made.judge().n_lost == lost


def test_what_a_broker_did_not_acknowledge_need_not_arrive():
    made = records(("a", "x", 1.0))
    made.unsure.add(0)
    assert made.judge().n_expected == 0


def test_what_is_seen_where_nobody_wants_it_is_unwanted_unless_somebody_visited():
    made = records(("a", "x", 1.0), ("a", "x", 1.1), ("c", "y", 1.2))
    made.seen["c"] = [Got("x", b"0", 1.1, False), Got("y", b"2", 1.3, False)]
    assert made.judge().n_unwanted == 1
    made.visits.append(("c", "x"))
    assert made.judge().n_unwanted == 0


def test_waits_are_told_apart_by_who_was_cut_off():
    made = records(("a", "x", 1.0), ("b", "y", 1.0), ("b", "x", 1.0))
    made.outages = [Outage("agent", frozenset("a"), 0.5, 3.0, 5.0)]
    for node, number, at in (("b", 0, 3.5), ("c", 1, 1.25), ("b", 2, 4.0), ("a", 2, 4.5)):
        arrive(made, node, number, at)
    (wait,) = made.judge().waits
    assert (wait.others, wait.held) == (0.25, 1.5)
