"""The same publications over full mesh, hub and plan, on real brokers."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from meshwright.deploy import read_plan
from meshwright.deploy.lab.compare import LAYOUTS, Measured, compare, hub, verdicts
from meshwright.deploy.lab.processes import Process, wait_until
from meshwright.overlay.dependence import Dependence
from meshwright.runtime.progress import no_progress
from tests.e2e.in_process import run_in_process
from tests.e2e.lab_confs import needs_mosquitto, write_conf
from tests.e2e.lab_deployed import deploy
from tests.patience import SECONDS

pytestmark = needs_mosquitto
# a - b - c - d; 't' on all of it, 'u' and 'größe 4/数' at one end.
TOPICS = {
    "t": [("b", "a"), ("c", "b"), ("d", "c")],
    "u": [("b", "a")],
    "größe/数": [("b", "a"), ("c", "b")],
}


def test_each_layout_delivers_everything_once_and_costs_what_it_must(tmp_path):
    conf = write_conf(tmp_path / "conf", TOPICS)
    assert hub(read_plan(conf)) == "a"
    found = {m.name: m for m in compare(conf, publishers=None, step=no_progress().step)}
    assert list(found) == [*(layout.name for layout in LAYOUTS), "plan"]
    for measured in found.values():
        assert (measured.n_missing, measured.n_extra) == (0, 0)
        # 4 publishers to 3 others, 2 to 1, 3 to 2
        assert (measured.n_messages, measured.n_deliveries) == (9, 20)
        assert 0 < measured.median_ms <= measured.percentile_99_ms
    links = {name: (m.n_links, m.max_degree) for name, m in found.items()}
    assert links == {
        "full mesh": (6, 3),
        "full mesh by topic": (6, 3),
        "hub": (3, 3),
        "hub by topic": (3, 3),
        "plan": (3, 2),
    }
    # Without b, a is cut off: of 12 deliveries of t those from and to a, but for its own.
    depends = found["plan"].dependence
    assert (depends.node, depends.topics, depends.of_topics) == ("b", 2, 3)
    assert (depends.deliveries, depends.of_deliveries) == (4 + 2, 12 + 2 + 6)
    assert verdicts(list(found.values()))[-1] == (
        "Most depends on: 'b'. Without it 30% of the deliveries fail, besides its own, in 2 of 3 "
        "topics."
    )
    # Everything everywhere: 9 messages over 3 links each. By topic: only where it is wanted, and
    # the hub wants all three.
    crossings = {name: (m.n_crossings, m.n_unwanted) for name, m in found.items()}
    assert crossings == {
        "full mesh": (27, 7),
        "full mesh by topic": (20, 0),
        "hub": (27, 7),
        "hub by topic": (20, 0),
        "plan": (20, 0),
    }


def test_a_hub_carries_topics_it_does_not_want(tmp_path):
    topics = {"x": [("b", "a")], "y": [("c", "a")], "z": [("c", "b")]}
    conf = write_conf(tmp_path / "conf", topics)
    found = {m.name: m for m in compare(conf, publishers=None, step=no_progress().step)}
    # 'z' goes from b to c and back through the hub a: two links each, one of them unwanted.
    by_topic = found["hub by topic"]
    assert (by_topic.n_deliveries, by_topic.n_crossings, by_topic.n_unwanted) == (6, 8, 2)
    assert by_topic.crossings_per_delivery == 8 / 6


def test_a_secured_plan_with_filters_and_a_mere_publisher_is_compared_too(tmp_path):
    (tmp_path / "secrets").mkdir()
    conf = deploy(
        tmp_path / "conf",
        {"w/+": "bc", "w/3": "abc"},
        ("ab", "bc"),
        publishers=[("a", "w/9")],
        secrets=tmp_path / "secrets",
        tls=True,
    )
    found = compare(conf, publishers=None, step=no_progress().step)
    for measured in found:
        assert (measured.n_missing, measured.n_extra) == (0, 0), measured.name
        # w/+: 2 to 1; w/3: 3 to 2; w/9: b and c to each other, a to both
        assert (measured.n_messages, measured.n_deliveries) == (8 + 3, 2 + 6 + 4)
    assert found[-1].n_crossings == 12


def test_the_command_line_prints_a_row_for_each_layout(monkeypatch, capsys, tmp_path):
    conf = write_conf(tmp_path / "conf", {"t": [("b", "a")]})
    words = ("lab", "compare", str(conf), "--json")
    code, out, _ = run_in_process(monkeypatch, capsys, *words)
    assert code == 0
    rows = json.loads(out)
    assert [row["name"] for row in rows][-2:] == ["hub by topic", "plan"]
    assert rows[-1]["crossings_per_delivery"] == 1.0
    assert rows[-1]["dependence"]["of_deliveries"] == 2
    assert rows[0]["dependence"] is None


def test_the_table_fits_and_names_what_went_wrong(capsys):
    from meshwright.cli.lab import print_comparison

    row = Measured("full mesh", 1770, 59, 386, 2316, 22697, 20381, 0, 0, 1.25, 41.5)
    plan = Measured("plan", 65, 10, 386, 2315, 2315, 0, 1, 0, 0.5, 4.25)
    print_comparison(Path("conf"), [row, plan], 1)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "full mesh  1,770    59           9.8    20,381       1.25    41.5" in out
    assert "plan: 1 deliveries missing, 0 duplicates" in out


def test_a_star_is_called_a_star_and_a_hub_that_did_as_well_is_named():
    hub = Measured("hub by topic", 5, 5, 10, 20, 20, 0, 0, 0, 1.0, 2.0)
    star = Measured("plan", 5, 5, 10, 20, 20, 0, 0, 0, 1.0, 2.0)
    tree = Measured("plan", 5, 3, 10, 20, 20, 0, 0, 0, 1.0, 2.0)
    assert verdicts([hub, star]) == [
        "The plan is a star: every link ends at one broker, and all fail with it.",
        "A hub by topic did as well: no more links, messages or unwanted ones.",
    ]
    assert verdicts([hub, tree]) == []


def test_a_single_point_of_failure_is_named_with_what_depends_on_it():
    depends = Dependence("gate", 4, 5, 12, 20, star="", hub="")
    plan = Measured("plan", 5, 3, 10, 20, 20, 0, 0, 0, 1.0, 2.0, depends)
    assert verdicts([plan]) == [
        "Single point of failure: 'gate'. Without it 60% of the deliveries fail, besides its own, "
        "in 4 of 5 topics."
    ]


def test_a_comparison_that_is_told_to_end_stops_its_brokers(tmp_path):
    conf = write_conf(tmp_path / "conf", TOPICS)
    (tmp_path / "tmp").mkdir()
    command = subprocess.Popen(
        [sys.executable, "-m", "meshwright", "lab", "compare", str(conf)],
        env=dict(os.environ, TMPDIR=str(tmp_path / "tmp")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    started: list[Process] = []

    def four_run() -> bool:
        for state in (tmp_path / "tmp").glob("*/lab-*/lab.json"):
            processes = json.loads(state.read_text())["processes"].values()
            started[:] = [Process(pid, at) for pid, at in processes]
        return len(started) == 4

    try:
        assert wait_until(four_run)
        command.terminate()
        assert command.wait(timeout=SECONDS) == 128 + signal.SIGTERM
        assert not any(process.runs() for process in started)
        assert list((tmp_path / "tmp").iterdir()) == []
    finally:
        command.kill()
        command.communicate()
