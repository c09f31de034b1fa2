"""Sessions followed through logs that are drawn, against the naive twin."""

from hypothesis import given
from hypothesis import strategies as st

from meshwright.workload.sessions import follow
from tests.naive import logs as naive

CLIENTS = (
    "a",
    "b 1",
    "panel 7",
    "mesh.x.y",
    "meshwright-agent.m.x.data",
    "meshwright-verify.1",
    "v5",
)
TOPICS = ("t", "t/1", "t 1/x", "$SYS/load", "$share/g/t")


@st.composite
def broker_logs(draw):
    """Draw what happens at a broker, as Mosquitto 2.0.11 writes it with `log_type all`."""
    lines, now = [], 1000
    actions = st.tuples(
        st.sampled_from(("connect", "subscribe", "subscribe", "unsubscribe", "leave", "publish")),
        st.sampled_from(CLIENTS),
        st.sampled_from(TOPICS),
        st.booleans(),
        st.integers(0, 3),
    )
    for what, client, topic, flag, number in draw(st.lists(actions, max_size=14)):
        now += number
        lines += [f"{now}: {text}" for text in _written(what, client, topic, flag, number)]
    return lines


def _written(what, client, topic, flag, number):
    if what == "connect":
        version = 5 if client == "v5" else 2
        yield f"New client connected from 127.0.0.1:9 as {client} (p{version}, c{int(flag)}, k60)."
        yield "No will message specified."
        yield f"Sending CONNACK to {client} ({0 if flag else int(number > 0)}, 0)"
    elif what == "subscribe":
        yield f"Received SUBSCRIBE from {client}"
        yield f"\t{topic} (QoS 1)"
        if number:  # or it is denied
            yield f"{client} 1 {topic}"
        yield f"Sending SUBACK to {client}"
    elif what == "unsubscribe":
        yield f"Received UNSUBSCRIBE from {client}"
        yield f"\t{topic}"
        yield f"{client} {topic}"
        yield f"Sending UNSUBACK to {client}"
    elif what == "publish":
        yield f"Received PUBLISH from {client} (d0, q1, r0, m1, '{topic}', ... ({number} bytes))"
    elif flag:
        yield f"Client {client} closed its connection."
    else:
        yield (
            f"Expiring client {client} due to timeout.",
            "mosquitto version 2.0.11 starting",
            f"Client {client} already connected, closing old connection.",
            f"Client {client} has exceeded timeout, disconnecting.",
        )[number]


GRANTED = ["1: Received SUBSCRIBE from z", "1: z 1 z", "1: Sending SUBACK to z"]
times = st.none() | st.integers(1000, 1040)


@given(broker_logs(), times, times)
def test_sessions_are_followed_as_by_the_naive_twin(lines, since, until):
    lines = GRANTED + lines  # the broker logs what it grants
    found = follow(map(naive.split, lines), since, until)
    assert set(found.wanted) == naive.wanted(lines, since, until)
    assert len(found.wanted) == len(set(found.wanted))


@given(broker_logs())
def test_every_subscription_is_wanted_or_its_end_has_a_reason(lines):
    lines = GRANTED + lines
    found = follow(map(naive.split, lines))
    asked = naive.requests([naive.split(line)[1] for line in lines])
    n_asked = len({(c, n) for _, c, n, subscribes in asked if subscribes})
    assert len(found.wanted) + found.skipped.total() >= n_asked
