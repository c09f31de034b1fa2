"""design --from: what it keeps, prints, writes and refuses."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

import meshwright as mw
from meshwright.cli.demo import find_example
from meshwright.cli.replan import MOST_TO_DEPLOY, count_restarts
from meshwright.deploy import Broker, compare_confs, plan, write_conf
from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.check import check
from meshwright.overlay.dataset import load_overlay, write_overlay
from meshwright.report import make_report
from meshwright.storage import open_dataset, read_table
from tests.datasets import write_instance
from tests.e2e.in_process import run_in_process

PAIRS = [(f"edge-{i:02}", f"plant/{t}") for i in range(14) for t in (i % 7, (3 * i + 1) % 7)]
TODAY = [pair for pair in PAIRS if pair[0] != "edge-03"]
TODAY += [("aaa-new", "plant/1"), ("aaa-new", "plant/2"), ("edge-00", "plant/6")]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run `design` in this process, beside the workloads of yesterday and today."""
    monkeypatch.chdir(tmp_path)
    write_instance(Instance.from_pairs(PAIRS), Path("w1"))
    write_instance(Instance.from_pairs(TODAY), Path("w2"))
    write_instance(Instance.from_pairs([("p", "plant/1"), ("q", "plant/1")]), Path("other"))
    run = partial(run_in_process, monkeypatch, capsys, "design")
    assert run("w1", "-o", "o1")[0] == 0
    return run


def links(path):
    return {frozenset(link) for link in load_overlay(path).edge_list(names=True)}


def fresh_design():
    """Design for the workload of today from scratch, as the command does to compare."""
    write_overlay(design(Instance.load("w2"), "gm"), "fresh", "w2")
    return Path("fresh")


def count_deployed_restarts(path):
    """Deploy the overlay of yesterday and another one, and count what `deploy diff` restarts."""
    confs = []
    inventory = {name: i for i, (name, _) in enumerate(dict.fromkeys([*PAIRS, *TODAY]))}
    for overlay in (load_overlay("o1"), load_overlay(path)):
        brokers = [
            Broker(node, "127.0.0.1", 20_000 + inventory[node])
            for node in overlay.instance.node_names
        ]
        confs.append(Path(f"conf-{len(confs)}-{path.name}"))
        write_conf(plan(overlay, brokers), confs[-1])
    return len(compare_confs(*confs).restarted)


def test_links_are_kept_counted_and_written_in_order(spark, run):
    code, out, err = run("w2", "-o", "o2", "--from", "o1")
    assert (code, err) == (0, "")
    assert all(len(line.rstrip()) <= 80 for line in out.splitlines())
    manifest = open_dataset(Path("o2"), "overlay")
    facts = manifest["replanned"]
    before, after = links("o1"), links("o2")
    assert load_overlay("o2").connected
    assert (facts["kept"], facts["added"]) == (len(before & after), len(after - before))
    assert facts["removed"] == len(before - after)
    assert facts["kept"] > facts["added"]
    kept = f"links kept {facts['kept']}, added {facts['added']}, removed {facts['removed']};"
    assert kept in out
    assert "mended" in out
    assert "from scratch" in out
    restarts = [count_deployed_restarts(path) for path in (Path("o2"), fresh_design())]
    assert [facts["restarts"], facts["fresh"]["restarts"]] == restarts
    assert 0 < restarts[0] < len(TODAY)
    assert f"Deployed as bridges, {restarts[0]} brokers restart" in out
    assert re.search(rf"brokers to restart +{restarts[0]} +{restarts[1]}", out)
    steps = read_table(manifest, "steps").to_pylist()
    assert [step["step"] for step in steps] == list(range(len(steps)))
    actions = [step["action"] for step in steps]
    assert actions == ["add"] * facts["added"] + ["remove"] * facts["removed"]
    now = set(before)
    for step in steps:
        (now.add if step["action"] == "add" else now.remove)(frozenset((step["a"], step["b"])))
    assert now == after
    assert check(spark, "o2").findings == ()


def test_moves_are_limited_and_what_is_left_apart_is_listed(run):
    code, out, err = run("w2", "-o", "o2", "--from", "o1", "--moves", "1")
    assert (code, err) == (0, "")
    assert "topics cannot be joined within 1 moves:" in out
    code, out, _ = run("w2", "-o", "o3", "--from", "o1", "--moves", "0", "--json")
    facts = json.loads(out)["replanned"]
    assert (code, facts["added"]) == (0, 0)
    assert "plant/2" in facts["unjoined"]


def test_the_report_has_a_row_for_a_replanned_overlay(run):
    assert run("w2", "-o", "o2", "--from", "o1")[0] == 0
    facts = open_dataset(Path("o2"), "overlay")["replanned"]
    page = make_report(["o2"]).page.read_text(encoding="utf-8")
    assert "<h2>Replanned</h2>" in page
    row = "".join(f'<td class="n">{facts[name]}</td>' for name in ("kept", "added", "removed"))
    assert row in page
    again = make_report(["o1"], "o1.html").page.read_text(encoding="utf-8")
    assert "<h2>Replanned</h2>" not in again


def test_a_small_world_is_repaired(run):
    assert run("w1", "-o", "s1", "-m", "sl")[0] == 0
    code, out, err = run("w2", "-o", "s2", "--from", "s1")
    assert (code, err) == (0, "")
    assert "a ring, and 4 fingers per node" in out
    assert len(links("s1") & links("s2")) > len(links("s2")) / 2


def test_an_overlay_that_survives_a_loss_still_does(spark, run):
    assert run("w1", "-o", "k1", "--survive", "1")[0] == 0
    code, out, err = run("w2", "-o", "k2", "--from", "k1")
    assert (code, err) == (0, "")
    assert "survives the loss of any one node" in out
    assert "The price:" in out
    manifest = open_dataset(Path("k2"), "overlay")
    assert (manifest["parameters"]["survive"], manifest["n_not_surviving"]) == (1, 0)
    assert manifest["n_edges"] >= manifest["bounds"]["edges"] > load_overlay("o1").n_edges / 2
    assert len(links("k1") & links("k2")) > len(links("k2")) / 2
    assert check(spark, "k2").findings == ()


def test_a_small_world_is_repaired_within_moves(run):
    assert run("w1", "-o", "s1", "-m", "sl")[0] == 0
    assert run("w2", "-o", "s2", "--from", "s1", "--moves", "500")[0] == 0
    code, _, err = run("w2", "-o", "s3", "--from", "s1", "--moves", "1")
    assert code == 1
    assert "moves is 1, and the ring and its fingers take" in err


def test_an_overlay_of_an_unrelated_workload_is_refused_with_both_digests(run):
    code, out, err = run("other", "-o", "o2", "--from", "o1")
    assert (code, out) == (2, "")
    for workload in ("w1", "other"):
        assert open_dataset(Path(workload), "workload")["digest"] in err
    assert not Path("o2").exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--moves", "3"), "--moves 3 goes with --from"),
        (("--from", "o1", "--moves", "-1"), "moves is -1"),
        (("--from", "o1", "-m", "low"), "is by gm, and --method is 'low'"),
        (("--from", "o1", "--k", "3"), "leave out --k."),
        (("--from", "nowhere"), "nowhere"),
        (("--from", "w1"), "overlay"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, words, reason):
    code, out, err = run("w2", "-o", "o2", *words)
    assert (code, out) == (2, "")
    assert reason in err


def test_the_restarts_that_the_docs_say_are_those_of_the_figure():
    rows = [row.split(",") for row in find_example().read_text(encoding="utf-8").splitlines()[1:]]
    before = design(Instance.from_pairs((row[0], row[1]) for row in rows), certify=False)
    changes = [
        mw.Subscribe("plant1-line1", "plant3/line1/robot/alarm"),
        mw.Subscribe("plant1-line5", "plant2/line5/oven/energy"),
        mw.Leave("plant2-line3"),
    ]
    mended = mw.replan(before, changes).overlay
    restarts = count_restarts(before, mended, design(mended.instance, certify=False))
    page = Path(__file__).parents[2] / "docs" / "replanning.md"
    said = re.search(
        r"restarts (\d+) brokers with the mended\s+overlay and (\d+) with one from scratch",
        page.read_text(encoding="utf-8"),
    )
    assert said is not None
    assert restarts == [int(number) for number in said.groups()]


def test_restarts_are_left_out_where_they_would_cost_more_than_the_mending():
    pairs = [(f"n{i}", "x") for i in range(MOST_TO_DEPLOY + 1)]
    overlay = design(Instance.from_pairs(pairs), "star", certify=False)
    assert count_restarts(overlay, overlay) == [None]


def test_restarts_are_unknown_where_an_overlay_cannot_be_deployed():
    instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")])
    apart, whole = design(instance, "gpa", max_edges=1), design(instance)
    assert count_restarts(whole, apart, whole) == [None, 0]
