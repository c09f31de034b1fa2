"""Own publishes that come back: left out as often as they were published, and not once more."""

from hypothesis import given
from hypothesis import strategies as st

from meshwright.mesh.adapters.echo import AGAIN_FOR, FENCE_EVERY, EchoFilter


class Kept(dict):
    """What is on disk."""

    def remember(self, name, n_due, n_back):
        self[name] = (n_due, n_back)
        if not n_due and not n_back:
            del self[name]

    def known(self):
        return [(name, *counts) for name, counts in self.items()]


def made(kept=None):
    kept = Kept() if kept is None else kept
    return EchoFilter(kept.known(), kept.remember), kept


def echo(filter_, payload=b"x", *, now=1.0, duplicate=False):
    return filter_.is_echo("a", payload, now, duplicate=duplicate)


def test_a_genuine_equal_message_is_not_swallowed():
    echoes, _ = made()
    assert not echo(echoes)  # of a client, before ours
    echoes.published("a", b"x")
    assert echo(echoes)  # ours, or an equal one of a client: one of the two passes
    assert not echo(echoes)
    assert not echo(echoes, b"other")


def test_what_is_due_after_a_reconnect_still_comes_back_and_then_is_forgotten():
    echoes, _ = made()
    echoes.published("a", b"came")
    echoes.published("a", b"never reached the broker")
    assert echoes.connect(resumed=True)  # a fence is needed
    fence = echoes.fence(1, 2.0)
    echoes.published("a", b"again")
    assert echo(echoes, b"came")
    echoes.returned(fence)
    assert not echo(echoes, b"never reached the broker")  # a client's
    assert echo(echoes, b"again")
    assert echoes.n_due == 0


def test_a_new_session_brings_nothing_back():
    echoes, kept = made()
    echoes.published("a", b"x")
    assert not echoes.connect(resumed=False)
    assert not echo(echoes)
    assert kept == {}


def test_a_killed_process_goes_on_with_what_was_due():
    echoes, kept = made()
    echoes.published("a", b"x")
    echoes.published("a", b"x")
    again, _ = made(kept)
    assert again.connect(resumed=True)
    fence = again.fence(2, 1.0)
    assert echo(again)
    assert echo(again)
    assert not echo(again)
    again.returned(fence)
    assert again.n_due == 0


def test_what_came_back_may_come_again_as_a_duplicate_until_the_fence():
    echoes, kept = made()
    echoes.published("a", b"x")
    assert echo(echoes)  # its acknowledgement is lost
    again, _ = made(kept)
    assert again.connect(resumed=True)
    fence = again.fence(2, 1.0)
    assert not echo(again)  # a client's: the broker has not sent it before
    assert echo(again, duplicate=True)
    assert not echo(again, duplicate=True)
    again.returned(fence)
    assert again.connect(resumed=True)  # it was left out just now, and may come once more
    again.returned(again.fence(2, 3.0))
    assert kept == {}


def test_what_was_acknowledged_long_ago_is_forgotten():
    echoes, kept = made()
    for now in (1.0, 2.0 + AGAIN_FOR, 3.0 + 2 * AGAIN_FOR, 4.0 + 3 * AGAIN_FOR):
        echoes.published("a", b"%f" % now)
        assert echo(echoes, b"%f" % now, now=now)
    assert len(kept) == 2


def test_a_fence_is_due_when_something_does_not_come_back():
    echoes, _ = made()
    assert not echoes.needs_fence(100.0)
    echoes.published("a", b"dropped by the broker")
    assert not echoes.needs_fence(100.0 + FENCE_EVERY)
    assert echoes.needs_fence(101.0 + FENCE_EVERY)
    fence = echoes.fence(1, 200.0)
    assert not echoes.needs_fence(300.0)  # one is on its way
    echoes.returned(b"of an earlier life")
    assert echoes.n_due == 1
    echoes.returned(fence)
    assert echoes.n_due == 0
    assert not echoes.needs_fence(400.0)


# What happens to a session: each step is a client's message, one of ours, or a cut of the
# connection after which the first so many unacknowledged packets come again.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("client"), st.sampled_from([b"x", b"y"])),
        st.tuples(st.just("own"), st.sampled_from([b"x", b"y"])),
        st.tuples(st.just("lost"), st.sampled_from([b"x", b"y"])),  # it never reaches the broker
        st.tuples(st.just("read"), st.integers(1, 4)),
        st.tuples(st.just("cut"), st.booleans()),
    ),
    max_size=40,
)


@given(STEPS)
def test_clients_messages_pass_and_own_ones_do_not(steps):
    """A broker with one queue; what the filter lets pass has the contents that clients sent.

    Publishes of ours that are lost come right before a cut, as they do on a connection, and then
    nothing equal of a client is in the queue: the one case in which nobody could tell.
    """
    echoes, kept = made()
    queue, passed, sent = [], [], []
    life = 1

    def read(n):
        for _ in range(min(n, len(queue))):
            kind, payload = queue.pop(0)
            if kind == "fence":
                echoes.returned(payload)
            elif not echoes.is_echo("a", payload, 1.0, duplicate=False):
                passed.append(payload)

    def cut(kill):
        nonlocal echoes, life
        if kill:
            life += 1
            echoes = EchoFilter(kept.known(), kept.remember)
        if echoes.connect(resumed=True):
            queue.append(("fence", echoes.fence(life, 0.0)))

    for what, value in steps:
        if what == "client":
            sent.append(value)
            queue.append((what, value))
        elif what == "own":
            echoes.published("a", value)
            queue.append((what, value))
        elif what == "lost" and ("client", value) not in queue:
            echoes.published("a", value)
            cut(kill=False)
        elif what == "read":
            read(value)
        elif what == "cut":
            cut(value)
    read(len(queue))
    assert sorted(passed) == sorted(sent)
