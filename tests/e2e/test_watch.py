"""`meshwright watch` on the logs of real brokers: exit codes and what is printed."""

import json

import pytest

from tests.deploying import deployed, overlay_of
from tests.e2e.in_process import run_in_process
from tests.e2e.test_mosquitto_log import CLIENT, MOSQUITTO, make_log

pytestmark = pytest.mark.skipif(
    MOSQUITTO is None or CLIENT is None, reason="mosquitto and mosquitto_sub are not installed"
)

WANTED = {
    "press 7": ["plant2/line4/press/temperature", "plant2/+/press/#"],
    "größe": ["größe/数"],
    "worker": ["$share/pool/jobs/new"],
    "monitor": ["$SYS/broker/uptime"],
}
TOPICS = {"plant2/line4/press/temperature", "plant2/+/press/#", "größe/数", "jobs/new"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The log of a real broker, and a plan for what its clients want and another's."""
    made = tmp_path_factory.mktemp("watch")
    make_log(made / "edge-7.log", ["all"], WANTED)
    pairs = [(node, topic) for node in ("edge-7", "edge-8") for topic in sorted(TOPICS)]
    deployed(overlay_of(pairs), made / "conf")
    return made


def run(monkeypatch, capsys, place, *more):
    words = ("watch", str(place / "conf"), "--logs", str(place / "edge-*.log"), *more)
    return run_in_process(monkeypatch, capsys, *words)


def test_a_real_log_of_what_was_planned_exits_with_0(monkeypatch, capsys, place):
    code, out, err = run(monkeypatch, capsys, place)
    assert (code, err) == (0, "")
    assert "the plan brings what clients want, and nothing else" in out
    assert "no log is from edge-8" in out


def test_differences_are_listed_and_exit_with_1(monkeypatch, capsys, place):
    log = place / "edge-8.log"
    make_log(log, ["all"], {"new": ["lights/\u202eabc/" + "x" * 200, "größe/数"]})
    try:
        code, out, err = run(monkeypatch, capsys, place)
        assert code == 1
        assert all(len(line) <= 80 for line in out.splitlines())
        assert "\u202e" not in out  # no name turns the line around
        assert "wants, not brought" in out
        assert "no longer wants" in out
        assert "1 wanted and not brought, 2 no longer wanted" in err
        assert "deploy diff" in err
        code, out, _ = run(monkeypatch, capsys, place, "--json")
        found = json.loads(out)
        assert code == 1
        assert [one["broker"] for one in found["wanted"]] == ["edge-8"]
        assert [one["topic"] for one in found["ended"]] == ["jobs/new", "plant2/+/press/#"]
    finally:
        log.unlink()


def test_bad_input_exits_with_2(monkeypatch, capsys, place):
    words = ("watch", str(place), "--logs", str(place / "edge-*.log"))
    code, _, err = run_in_process(monkeypatch, capsys, *words)
    assert code == 2
    assert "plan.json" in err
