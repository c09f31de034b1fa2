"""What a report says: the same as the datasets, as JSON and as text, whatever names contain."""

import html
import json
import re
from functools import partial
from pathlib import Path

import networkx as nx
import pytest

from meshwright.cli.design import print_overlay
from meshwright.content.dataset import load_assignment
from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.dataset import load_overlay, write_overlay
from meshwright.report import make_report
from meshwright.report.overlay_facts import certificate
from meshwright.report.page import number, percent
from tests.datasets import write_instance
from tests.e2e.in_process import run_in_process
from tests.reports import (
    HOSTILE,
    HOSTILE_TOPIC,
    company,
    write_assignments,
    write_designs,
    write_run,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    here = tmp_path_factory.mktemp("report")
    write_designs(
        here,
        company(),
        gm={"method": "gm"},
        few={"method": "gpa", "max_edges": 20},
        world={"method": "sl"},
    )
    write_run(here / "world", here / "run", "pie", against="scribe")
    write_assignments(here, "gr", "closest")
    return here


@pytest.fixture(scope="module")
def whole(place):
    """One report on everything."""
    names = ("gm", "few", "world", "run", "gr", "closest")
    return make_report([place / name for name in names], place / "whole.html")


@pytest.fixture
def run(monkeypatch, capsys):
    return partial(run_in_process, monkeypatch, capsys)


def test_the_report_and_design_show_the_same_bound_where_exact_proved_it(tmp_path, capsys):
    # The certificate proves 9 links of 10.
    wants = ["cde", "adeg", "df", "bcf", "acfg", "aef", "de", "adf"]
    pairs = [(f"n{i}", topic) for i, topics in enumerate(wants) for topic in topics]
    overlay = design(Instance.from_pairs(pairs), "exact", certify_seconds=0)
    proved = overlay.parameters["proved_links"]
    assert overlay.bounds.edges < proved == overlay.n_edges
    facts = certificate(overlay)["rows"][0]
    assert facts == {"measure": "links", "value": proved, "bound": proved, "gap": 0.0}
    write_instance(overlay.instance, tmp_path / "w")
    print_overlay(tmp_path / "o", write_overlay(overlay, tmp_path / "o", tmp_path / "w"))
    assert re.search(rf"^links +{proved} +{proved} +0%", capsys.readouterr().out, re.M)


def relayed_and_cut_off(overlay) -> tuple[int, int]:
    """Count the topics in pieces that a path over other nodes joins, and those that none does."""
    graph = nx.Graph(overlay.edge_list())
    graph.add_nodes_from(range(overlay.instance.n_nodes))
    part = {v: i for i, nodes in enumerate(nx.connected_components(graph)) for v in nodes}
    parts: dict[int, set[int]] = {}
    for v in range(overlay.instance.n_nodes):
        for t in overlay.instance.topics_of(v).tolist():
            parts.setdefault(t, set()).add(part[v])
    cut_off = sum(len(found) > 1 for found in parts.values())
    return int((overlay.components > 1).sum()) - cut_off, cut_off


def test_what_relays_can_join_and_what_nothing_does_are_told_apart(tmp_path):
    from meshwright.model.instance import Instance

    # Two links, a - b - c: x needs b as a relay; d is alone, so y cannot be delivered.
    wants = {"a": "p1 p2 x y", "b": "p1 p2 q1 q2", "c": "q1 q2 x", "d": "y"}
    instance = Instance.from_pairs([(v, t) for v, topics in wants.items() for t in topics.split()])
    write_designs(tmp_path, instance, few={"method": "gpa", "max_edges": 2})
    made = make_report([tmp_path / "few"], tmp_path / "r.html")
    h = made.document["sections"][0]["overlays"][0]["headline"]
    assert (h["topics_connected"], h["topics_relayed"], h["topics_cut_off"]) == (4, 1, 1)
    text = visible(made.page.read_text())
    assert "cannot reach all subscribers" in text
    assert "cut off" in text


def test_the_numbers_of_an_overlay_are_those_of_its_dataset(place, whole):
    section = whole.document["sections"][0]
    for shown in section["overlays"]:
        overlay = load_overlay(place / shown["label"])
        h = shown["headline"]
        assert h["links"] == overlay.n_edges
        assert h["links_of_full_mesh"] == 33 * 32 // 2
        assert h["links_of_star"] == 32
        assert h["maximum_fan_out"] == overlay.max_degree
        assert shown["degree"]["of_node"] == overlay.degrees.tolist()
        assert shown["topics"]["components"] == overlay.components.tolist()
        assert h["topics_connected"] == h["topics_shared"] - int((overlay.components > 1).sum())
        assert (h["topics_relayed"], h["topics_cut_off"]) == relayed_and_cut_off(overlay)
        assert shown["support_curve"]["points"][-1] == [
            overlay.n_edges,
            pytest.approx(overlay.support, abs=1e-5),
        ]
        rows = {row["measure"]: row for row in shown["certificate"]["rows"]}
        assert rows["links"]["bound"] == (overlay.bounds.edges if overlay.connected else None)


def test_a_bound_on_links_is_not_claimed_for_an_overlay_that_leaves_topics_apart(whole):
    few = whole.document["sections"][0]["overlays"][1]
    assert few["certificate"]["n_disconnected"] > 0
    assert few["certificate"]["rows"][0] == {
        "measure": "links",
        "value": 20,
        "bound": None,
        "gap": None,
    }


def test_a_run_is_told_with_the_system_it_was_simulated_against(whole):
    pie, scribe = whole.document["sections"][0]["runs"]
    assert (pie["routing"], scribe["routing"]) == ("pie", "scribe")
    totals = pie["totals"]
    assert totals["overhead_per_delivery"] == pytest.approx(
        totals["overhead"] / totals["deliveries"], rel=1e-5
    )
    assert pie["load"]["most"] == totals["load_max"]
    assert "load" not in scribe


def test_the_numbers_of_an_assignment_are_those_of_its_dataset(place, whole):
    section = whole.document["sections"][1]
    for shown in section["assignments"]:
        answer = load_assignment(place / shown["label"])
        assert shown["bandwidth"] == pytest.approx(answer.bandwidth, rel=1e-5)
        assert shown["delay"]["box"]["most"] == pytest.approx(answer.measures.delay_max, rel=1e-5)
        assert sum(shown["loads"]) == section["problem"]["n_subscribers"]
        assert shown["load_box"]["most"] == max(shown["loads"])
    assert max(max(shares) for shares in section["triangle"]["shares"]) == 1.0


def test_an_answer_that_violates_a_limit_says_so_first(place, tmp_path):
    made = make_report([place / "closest"], tmp_path / "r.html")
    (shown,) = made.document["sections"][0]["assignments"]
    assert shown["feasible"] is False
    broken = {name: count for name, count in shown["violations"].items() if count}
    assert "load" in broken
    said = ", ".join(f"{name} {count} times" for name, count in broken.items())
    assert f"violates {said}" in " ".join(visible(made.page.read_text()).split())


def test_the_json_beside_the_page_is_the_document(whole):
    assert whole.numbers == whole.page.with_suffix(".json")
    assert json.loads(whole.numbers.read_text()) == whole.document


def visible(page: str) -> str:
    """The text of a page without its scripts, styles and pictures."""
    for tag in ("script", "style", "svg", "code", "footer"):
        page = re.sub(rf"<{tag}\b.*?</{tag}>", " ", page, flags=re.S)
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


def numbers_in(value) -> set[str]:
    """Every number of a document in the forms in which the page writes it."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return set().union(*map(numbers_in, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return set(re.findall(r"\d[\d,.]*%?", str(value)))
    return {percent(value), *[number(value, digits) for digits in (3, 4)]}


def test_every_number_of_the_page_is_in_the_document(whole):
    text = visible(whole.page.read_text())
    shown = {found.rstrip(".,") for found in re.findall(r"(?<![\w.])\d[\d,.]*%?", text)}
    said = {"1%", "0.3", "30%"}  # explanations: the busiest 1%, a delay of 0.3
    known = numbers_in(whole.document) | said
    known |= {"1", "100%", "2"}  # a full mesh and a star
    assert {n for n in shown if n not in known} == set()
    assert len(shown) > 60


def test_hostile_names_are_text_everywhere_in_the_page(whole):
    page = whole.page.read_text()
    for name in (HOSTILE, HOSTILE_TOPIC):
        assert name not in page
        assert name in visible(page) or name in json.dumps(whole.document, ensure_ascii=False)
    assert page.count("<script") == 2  # the data and ours
    assert page.count("</script") == 2
    assert "<img" not in page
    assert "49" not in re.findall(r"&amp;amp;\S*", page)


def test_the_page_may_load_and_run_nothing_but_itself(whole):
    page = whole.page.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page).group(1)
    assert "default-src 'none'" in html.unescape(policy)
    assert "unsafe" not in policy
    assert re.findall(r"""(?:src|href)=["'](?!#|data:,)""", page) == []


def test_a_page_that_would_be_too_large_leaves_lists_out_or_is_refused(
    place, tmp_path, monkeypatch
):
    from meshwright.report import document
    from meshwright.report.page import BUDGETS, render, trimmed

    whole = document([place / "gm"])
    sizes = [len(render(trimmed(whole, budget)).encode()) for budget in BUDGETS]
    assert sizes[0] > sizes[2]
    monkeypatch.setattr("meshwright.report.MOST_BYTES", sizes[2])
    made = make_report([place / "gm"], tmp_path / "r.html")
    section = made.document["sections"][0]
    assert section["overlays"][0]["edges"] is None
    assert set(section["workload"]["subscribers"]) == {None}
    monkeypatch.setattr("meshwright.report.MOST_BYTES", 1000)
    with pytest.raises(InputError, match=r"the page would have 0\.\d MB.*Report fewer datasets"):
        make_report([place / "gm"], tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


def test_the_largest_topics_are_left_out_first_and_none_is_cut(place):
    from meshwright.report import document
    from meshwright.report.page import Budget, trimmed

    fitting = trimmed(document([place / "gm"]), Budget(60, 10**6, 10**6))
    workload = fitting["sections"][0]["workload"]
    pairs = list(zip(workload["subscribers_of_topic"], workload["subscribers"], strict=True))
    assert sum(size for size, listed in pairs if listed) <= 60
    assert max(size for size, listed in pairs if listed) <= min(
        size for size, listed in pairs if listed is None
    )
    assert all(len(listed) == size for size, listed in pairs if listed is not None)


def test_what_a_run_measured_stands_in_the_headline_of_its_overlay(place, tmp_path):
    made = make_report([place / "world", place / "run", place / "gm"], tmp_path / "r.html")
    section = made.document["sections"][0]
    overhead = [run["totals"]["overhead_per_delivery"] for run in section["runs"]]
    assert [m["overhead_per_delivery"] for m in section["overlays"][0]["measured"]] == overhead
    assert section["overlays"][1]["measured"] == []
    assert f"{number(overhead[0], 3)} per delivery measured with pie" in " ".join(
        visible(made.page.read_text()).split()
    )


def test_datasets_of_different_workloads_get_sections_of_their_own(place, tmp_path):
    from meshwright.model.instance import Instance

    write_designs(tmp_path, Instance.from_pairs([("a", "x"), ("b", "x")]), gm={"method": "gm"})
    made = make_report([place / "gm", tmp_path / "gm", place / "few"], tmp_path / "r.html")
    shown = [[o["label"] for o in s["overlays"]] for s in made.document["sections"]]
    assert shown == [[str(place / "gm"), "few"], [str(tmp_path / "gm")]]


def test_a_workload_alone_and_a_run_alone_can_be_reported(place, tmp_path):
    made = make_report([place / "workload"], tmp_path / "w.html")
    assert made.document["sections"][0]["workload"]["n_nodes"] == 33
    made = make_report([place / "run"], tmp_path / "r.html")
    assert len(made.document["sections"][0]["runs"]) == 2


@pytest.mark.parametrize(
    "pairs", [[], [("a", "x")], [("a", "x"), ("b", "y")], [("a", "x"), ("b", "x"), ("c", "x")]]
)
def test_tiny_workloads_can_be_reported(tmp_path, pairs):
    from meshwright.model.instance import Instance

    instance = Instance.from_pairs(pairs, nodes=["alone"])
    write_designs(tmp_path, instance, gm={"method": "gm"}, star={"method": "star"})
    made = make_report([tmp_path / "gm", tmp_path / "star"], tmp_path / "r.html")
    gm, star = (one["headline"] for one in made.document["sections"][0]["overlays"])
    assert gm["support"] == 1.0
    assert gm["support_of_star"] == star["support"]


def test_nothing_to_join_is_said_in_words(tmp_path):
    from meshwright.model.instance import Instance

    write_designs(tmp_path, Instance.from_pairs([("a", "x"), ("b", "y")]), gm={"method": "gm"})
    text = visible(make_report([tmp_path / "gm"], tmp_path / "r.html").page.read_text())
    assert "No two nodes share a topic, so no link is needed." in " ".join(text.split())
    assert "2 nodes, 2 topics, 2 subscriptions" in text


def test_a_workload_alone_says_where_it_comes_from(tmp_path):
    write_designs(tmp_path, company())
    text = visible(make_report([tmp_path / "workload"], tmp_path / "r.html").page.read_text())
    origin = text[text.index("Where this comes from") :]
    assert f"{tmp_path.name}/workload" in origin


def test_the_star_beside_an_overlay_is_the_one_that_design_makes(tmp_path):
    write_designs(tmp_path, company(), gm={"method": "gm"}, star={"method": "star"})
    made = make_report([tmp_path / "gm", tmp_path / "star"], tmp_path / "r.html")
    gm, star = (one["headline"] for one in made.document["sections"][0]["overlays"])
    for name, beside in (
        ("links", "links_of_star"),
        ("support", "support_of_star"),
        ("topics_relayed", "topics_relayed_of_star"),
        ("share_connected", "share_connected_of_star"),
    ):
        assert gm[beside] == star[name], name
    assert 0 < star["support"] < 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gone"], "error: there is no dataset at 'gone'"),
        (["problem"], "has nothing to show yet. Run `meshwright assign`"),
        (["gm", "gm"], "error: 'gm' is named twice"),
        (["gm", "-o", "report.pdf"], "give -o a name such as report.pdf.html"),
        (["gm", "-o", "gm"], "'gm' is a directory; give -o a file name"),
        (["gm", "-o", "kept.html/r.html"], "'kept.html/r.html' cannot be written: '"),
        (["gm", "--workload", "gone"], "there is no workload at 'gone'; check --workload"),
        (["gm", "-o", "kept.html"], "'kept.html' exists. Pass --force"),
        (["gm", "-o", "taken.html"], "'taken.json' exists. Pass --force"),
        (["gm", "--workload", "problem"], "is a dataset of kind 'problem'; 'workload' is needed"),
        ([], "Missing argument 'DATASET...'"),
    ],
)
def test_what_cannot_be_reported_ends_with_2_and_keeps_every_file(
    place, run, monkeypatch, tmp_path, words, message
):
    for name in ("gm", "problem", "workload"):
        (tmp_path / name).symlink_to(place / name)
    monkeypatch.chdir(tmp_path)
    Path("kept.html").write_text("mine")
    Path("taken.json").write_text("mine")
    code, out, err = run("report", *words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.replace("│", " ").split())
    assert Path("kept.html").read_text() == Path("taken.json").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir() if not p.is_symlink()) == [
        "kept.html",
        "taken.json",
    ]


def test_the_verb_writes_the_page_and_says_where(place, run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("report", str(place / "gm"))
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "report report.html"
    assert "numbers   report.json" in out
    before = Path("report.html").read_text()
    code, out, _ = run("report", str(place / "gm"), "--force", "--json")
    assert code == 0
    assert json.loads(out) == json.loads(Path("report.json").read_text())
    assert Path("report.html").read_text() == before  # equal datasets, equal pages
