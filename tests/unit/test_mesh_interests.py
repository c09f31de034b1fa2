"""The live reader of a broker's log, with lines that are made to confuse it."""

import pytest

from meshwright.mesh.adapters.interests import (
    AMBIGUOUS,
    CUT,
    NOTICE,
    SUBSCRIBED,
    UNSUBSCRIBED,
    Interests,
)
from meshwright.model.client_ids import AGENT, TRIAL

TIME = "1794982953: "


def reader(*lines):
    made = Interests()
    for topic, text in lines:
        made.read(topic, TIME + text)
    return made


def connected(client, *, version=2, clean=1):
    text = f"New client connected from 127.0.0.1:4 as {client} (p{version}, c{clean}, k60)."
    return NOTICE, text


def test_a_subscription_counts_until_it_is_ended():
    made = reader(connected("a"), (SUBSCRIBED, "a 1 x/#"), (SUBSCRIBED, "a 0 y"))
    assert made.wanted() == {"x/#", "y"}
    made.read(UNSUBSCRIBED, TIME + "a x/#")
    assert made.wanted() == {"y"}
    made.read(NOTICE, TIME + "Client a disconnected.")
    assert made.wanted() == set()


def test_client_ids_and_filters_may_hold_spaces_and_digits():
    made = reader(connected("a b 1 c"), (SUBSCRIBED, "a b 1 c 1 y 2 z"))
    assert made.pairs() == {("a b 1 c", "y 2 z")}
    made.read(UNSUBSCRIBED, TIME + "a b 1 c y 2 z")
    assert made.pairs() == set()
    assert not made.in_doubt


def test_a_client_id_may_end_with_a_digit_of_its_own():
    made = reader(connected("sensor 0"), (SUBSCRIBED, "sensor 0 2 $share/group/x"))
    assert made.wanted() == {"x"}
    assert not made.in_doubt


def test_a_client_that_calls_itself_like_a_line_of_the_log_is_heard():
    name = f"New connection from Client {AGENT}x"
    assert reader(connected(name), (SUBSCRIBED, f"{name} 1 x")).wanted() == {"x"}


def test_lines_about_agents_are_told_apart():
    made = reader()
    assert not made.read(SUBSCRIBED, f"{TIME}{AGENT}lab.a.data 1 x")
    for client, counts in ((f"{AGENT}lab.a.data", False), ("a", True)):
        topic, text = connected(client)
        assert made.read(topic, TIME + text) == counts


def test_a_session_of_mqtt_5_that_may_live_on_is_kept_and_counted():
    made = reader(connected("a", version=5), (SUBSCRIBED, "a 1 x"), (SUBSCRIBED, "a 1 y"))
    assert made.doubts() == {}
    made.read(NOTICE, TIME + "Client a disconnected.")
    assert made.wanted() == {"x", "y"}
    assert list(made.doubts().values()) == [2]


def test_a_line_with_two_readings_keeps_both_interests_and_is_counted():
    lines = connected("a"), connected("a 1 b"), (SUBSCRIBED, "a 1 b 1 x")
    made = reader(*lines)
    assert made.wanted() == {"b 1 x", "x"}
    assert made.in_doubt == {AMBIGUOUS: 1}


def test_a_client_that_connected_before_the_agent_is_read_too():
    assert reader((SUBSCRIBED, "old 1 x/+")).wanted() == {"x/+"}
    made = reader((SUBSCRIBED, "a 1 b 1 x"))
    assert made.wanted() == {"b 1 x", "x"}
    assert made.in_doubt == {AMBIGUOUS: 1}


def test_a_reading_that_is_no_filter_is_left_out():
    assert reader((SUBSCRIBED, "a 1 b# 1 x")).wanted() == {"x"}


def test_the_same_client_connecting_again_with_a_clean_session_ends_what_it_wanted():
    made = reader(connected("a"), (SUBSCRIBED, "a 1 x"), connected("a"), (SUBSCRIBED, "a 1 y"))
    assert made.wanted() == {"y"}


def test_a_session_that_is_taken_over_and_goes_on_keeps_its_filters():
    lines = connected("a", clean=0), (SUBSCRIBED, "a 1 x"), connected("a", clean=0)
    assert reader(*lines).wanted() == {"x"}


def test_a_persistent_session_stays_when_its_client_leaves():
    left = NOTICE, "Client a disconnected."
    assert reader(connected("a", clean=0), (SUBSCRIBED, "a 1 x"), left).wanted() == {"x"}


@pytest.mark.parametrize("client", [f"{AGENT}demo.edge-1.data", "mesh.edge-1.edge-2"])
def test_agents_and_bridges_are_no_interests(client):
    assert reader(connected(client), (SUBSCRIBED, f"{client} 1 x/#")).wanted() == set()


def test_clients_of_mesh_verify_are_interests_of_agents():
    client = f"{TRIAL}7f"
    assert reader(connected(client), (SUBSCRIBED, f"{client} 1 x/#")).wanted() == {"x/#"}


def test_what_stays_inside_the_broker_is_no_interest_but_shared_filters_are():
    lines = (SUBSCRIBED, "a 1 $SYS/#"), (SUBSCRIBED, "a 1 $own/x"), (SUBSCRIBED, "a 1 $share/g/b/#")
    assert reader(*lines).wanted() == {"b/#"}


def cut(text):
    return (TIME + text).encode()[:999].decode()


def test_a_filter_that_the_log_cut_is_widened_and_kept():
    made = Interests()
    made.read(SUBSCRIBED, cut("a 1 plant/line/" + "x" * 2000))
    assert made.wanted() == {"plant/line/#"}
    made.read(UNSUBSCRIBED, cut("a plant/line/" + "x" * 2000))
    assert made.wanted() == {"plant/line/#"}
    assert made.in_doubt == {CUT: 2}


def test_a_client_id_that_fills_the_line_may_want_anything():
    made = Interests()
    made.read(SUBSCRIBED, cut("c" * 2000 + " 1 x"))
    assert made.wanted() == {"#"}


def test_clean_sessions_end_when_the_broker_starts_again():
    made = reader(connected("a"), (SUBSCRIBED, "a 1 x"))
    made.read(NOTICE, TIME + connected("b", clean=0)[1])
    made.read(SUBSCRIBED, TIME + "b 1 y")
    made.restarted()
    assert made.wanted() == {"y"}


def test_what_was_known_before_is_restored_with_how_sessions_end():
    lines = connected("a b"), (SUBSCRIBED, "a b 1 x"), connected("c", clean=0)
    before = reader(*lines, (SUBSCRIBED, "c 1 $share/g/y"))
    made = Interests()
    made.restore(before.states().values())
    assert made.wanted() == {"x", "y"}
    for client in ("a b", "c"):
        made.read(NOTICE, f"{TIME}Client {client} disconnected.")
    assert made.wanted() == {"y"}
