"""When the connection that follows a Mosquitto log forgets what clients want, and when not."""

import asyncio
import time

import mqtt5
import pytest

from meshwright.mesh.adapters.adapter import Endpoint, Surroundings
from meshwright.mesh.adapters.counting import Comparison
from meshwright.mesh.adapters.interests import NOTICE, SUBSCRIBED, UNSUBSCRIBED, Interests
from meshwright.mesh.adapters.log_connection import (
    COUNT,
    NAMES,
    UPTIME,
    Known,
    LogConnection,
    Mark,
)
from meshwright.mesh.adapters.log_file import catch_up
from meshwright.mesh.adapters.mosquitto import MOSQUITTO
from meshwright.mesh.shell.mqtt import Login
from meshwright.mesh.storage.packing import pack, unpack
from meshwright.workload.sessions import SessionState

AGENT_ID = "meshwright-agent.m.edge-1.log"
CLEAN = "New client connected from 127.0.0.1:4 as clean (p2, c1, k60)."
STAYS = "New client connected from 127.0.0.1:4 as stays (p2, c0, k60)."


class Followed(LogConnection):
    """The connection without a broker: `say` is what one would publish."""

    def __init__(self, known=Known()):  # noqa: B008
        self.kept, self.notes = {}, []
        super().__init__(
            Endpoint(Login("127.0.0.1", 1, "meshwright-agent.m.edge-1"), 2**20),
            lambda _: None,
            lambda what, why: self.notes.append(what),
            known,
            self.kept.__setitem__,
        )

    def say(self, topic, text):
        self.broker_message(mqtt5.PublishPacket(topic, text.encode()))
        return self

    def uptime(self, seconds):
        return self.say(UPTIME, f"{seconds} seconds")

    def subscriptions(self):
        for text in (CLEAN, STAYS):
            self.say(NOTICE, f"1: {text}")
        return self.say(SUBSCRIBED, "1: clean 1 x").say(SUBSCRIBED, "1: stays 1 y")


def run(scene):
    async def all_of_it():
        scene()

    asyncio.run(all_of_it())


@pytest.mark.parametrize("jump", [-86_400, 3_600, 10**9])
def test_a_clock_that_jumps_is_no_restart_of_the_broker(monkeypatch, jump):
    def scene():
        followed = Followed().uptime(100).subscriptions()
        real, steady = time.time, time.monotonic
        monkeypatch.setattr(time, "time", lambda: real() + jump)
        monkeypatch.setattr(time, "monotonic", lambda: steady() + abs(jump))
        followed.uptime(100).uptime(111).uptime(5_000_000)
        assert followed.wanted() == {"x", "y"}
        assert followed.notes == []

    run(scene)


def test_an_uptime_that_fell_ends_clean_sessions_and_no_others():
    def scene():
        followed = Followed().uptime(100).subscriptions().uptime(99)
        assert followed.wanted() == {"y"}
        assert followed.notes == ["broker_restarts"]
        followed.subscriptions().uptime(110)
        assert followed.wanted() == {"x", "y"}

    run(scene)


@pytest.mark.parametrize(("uptime", "wanted"), [(99, {"y"}), (100, {"x", "y"}), (900, {"x", "y"})])
def test_an_uptime_is_compared_with_the_one_that_an_earlier_process_read(uptime, wanted):
    def scene():
        before = Followed().uptime(100).subscriptions()
        states = list(before.interests.states().values())
        assert before.kept[""] == Mark(100)
        assert Followed(Known(states, before.kept[""])).uptime(uptime).wanted() == wanted

    run(scene)


def test_figures_that_are_none_change_nothing():
    def scene():
        followed = Followed().uptime(100).subscriptions()
        followed.say(UPTIME, "soon").say(UPTIME, "").say(UPTIME, "-1 seconds")
        assert followed.wanted() == {"x", "y"}

    run(scene)


def compared(*figures):
    """Return a comparison after figures (uptime and count): (known, counted)."""
    known, notes = [0], []
    made = Comparison(lambda: known[0], lambda what, why: notes.append((what, why)))
    for known[0], counted in figures:
        made.uptime()
        if counted is not None:  # the broker tells it only if it changed
            made.count(counted)
    made.uptime()
    return made, notes


def test_more_subscriptions_at_two_figures_were_missed_and_are_said_once():
    made, notes = compared((10, 13), (11, 13), (11, None), (12, 14))
    assert made.n_unknown == 2
    assert [what for what, _ in notes] == ["subscriptions_unknown"]
    assert "the broker has 13 subscriptions, 11 are known: 2 were made" in notes[0][1]
    assert compared((10, 13), (13, None))[0].n_unknown == 0  # one figure proves nothing


def test_fewer_subscriptions_than_known_are_no_finding():
    assert compared((10, 9), (10, 3), (10, None))[0].n_unknown == 0


def test_with_bridges_of_the_broker_nothing_is_compared():
    def scene():
        followed = Followed()
        followed.say("$SYS/broker/connection/to-the-cloud/state", "1")
        for seconds in (10, 20, 30, 40):
            followed.uptime(seconds).say(COUNT, "100")
        assert followed.n_unknown == 0
        followed.comparison.has_bridges = False
        followed.uptime(50).uptime(60)
        assert followed.n_unknown == 100 - len(NAMES)

    run(scene)


def test_records_of_an_agent_and_of_one_before_marks_are_understood():
    def scene():
        kept = {}
        around = Surroundings(Endpoint(Login("", 1, "agent"), 1), print, print, (), print)

        def follow_with(records):
            return MOSQUITTO.follow(around._replace(known=records, remember=kept.__setitem__))

        first = follow_with(())
        assert first._mark is None
        first._keep(Mark(7, is_settled=False))
        first._remember("a b", SessionState("a b", 4, True, True, ("x", "$SYS/#")))
        again = follow_with([(key, unpack(pack(value))) for key, value in kept.items()])
        assert again._mark == Mark(7, is_settled=False)
        assert again.wanted() == {"x"}
        assert again.interests.n_subscriptions() == 2
        old = follow_with([(("started",), (1e9,)), (("session", "c"), (5, None, True, ("y",)))])
        assert old._mark == Mark()  # it has followed the log
        assert old.wanted() == {"y"}

    run(scene)


def connected(client, *, clean=1):
    return f"New client connected from 127.0.0.1:4 as {client} (p2, c{clean}, k60)."


def dated(lines, start=1_000):
    return [f"{start + i}: {line}" for i, line in enumerate(lines)]


OWN = [connected(AGENT_ID, clean=0), f"{AGENT_ID} 2 $SYS/broker/log/M/subscribe"]
LIVE = [connected("a"), "a 1 x", "a 1 y", connected("b"), "b 1 z"]
MISSED = ["a x", connected("c"), "c 1 w", "Client b disconnected."]


def known_live():
    """Return what an agent knows that read LIVE."""
    made = Interests()
    for line in LIVE:
        made.read(SUBSCRIBED if " 1 " in line else NOTICE, f"1: {line}")
    return made


def caught_up(tmp_path, lines, line):
    path = tmp_path / "mosquitto.log"
    path.write_text("".join(f"{each}\n" for each in lines), encoding="utf-8")
    return asyncio.run(catch_up(known_live(), path, line, AGENT_ID))


def test_a_log_file_that_holds_the_connection_before_makes_up_for_all_that_was_missed(tmp_path):
    lines = dated([*OWN, *LIVE, *MISSED, *OWN, "a 1 not yet"])
    found, why = caught_up(tmp_path, lines, lines[-2])
    assert (found.wanted(), why) == ({"y", "w"}, "")


def test_a_log_file_that_begins_later_is_read_and_the_gap_stays(tmp_path):
    lines = dated([*MISSED[2:], *OWN])
    found, why = caught_up(tmp_path, lines, lines[-1])
    assert found.wanted() == {"x", "y", "w"}
    assert "begins later" in why


def test_a_log_file_that_ends_earlier_brings_nothing_back(tmp_path):
    lines = dated([*OWN, *LIVE, "a 1 ended since"])
    found, why = caught_up(tmp_path, lines, f"9999: {OWN[1]}")
    assert found.wanted() == {"x", "y", "z"}
    assert "does not write to it" in why


def test_a_log_without_times_is_not_used(tmp_path):
    found, why = caught_up(tmp_path, [*OWN, *LIVE, *MISSED, *OWN], OWN[1])
    assert found.wanted() == {"x", "y", "z"}
    assert "log_timestamp" in why


def test_a_log_file_that_is_not_there_is_said(tmp_path):
    line = f"9999: {OWN[1]}"
    found, why = asyncio.run(catch_up(known_live(), tmp_path / "none.log", line, AGENT_ID))
    assert found.wanted() == {"x", "y", "z"}
    assert "cannot be read: No such file" in why


def test_what_comes_while_the_log_file_is_read_counts_after_it(tmp_path):
    path = tmp_path / "mosquitto.log"
    lines = dated([*OWN, connected("a"), "a 1 x", *OWN])
    path.write_text("".join(f"{each}\n" for each in lines), encoding="utf-8")

    async def scene():
        followed = Followed(Known((), Mark(5, is_settled=False)))
        followed._log_file = path
        followed.say(SUBSCRIBED, lines[-1])
        followed.say(UNSUBSCRIBED, "2000: a x").say(SUBSCRIBED, "2001: a 1 y")
        assert followed.wanted() == set()
        await followed._catching
        assert followed.wanted() == {"y"}
        assert followed.notes == []
        assert followed.kept[""] == Mark(5)

    asyncio.run(scene())
