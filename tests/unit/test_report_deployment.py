"""The report on a deployment: who dials whom, loads, failures, restarts."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

from meshwright.deploy import plan, read_plan, write_conf
from meshwright.deploy.failures import failures
from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.report import document, make_report
from meshwright.report.page import MOST_ROWS, MOST_TOPICS, Budget, trimmed
from tests.deploying import brokers_of, deployed, overlay_of
from tests.e2e.in_process import run_in_process
from tests.reports import HOSTILE, HOSTILE_TOPIC, company, deployment, write_designs
from tests.unit.test_report import numbers_in, visible


@pytest.fixture(scope="module")
def conf(tmp_path_factory) -> Path:
    return deployment(tmp_path_factory.mktemp("deployment") / "conf")


@pytest.fixture(scope="module")
def made(conf):
    return make_report([conf], conf.parent / "report.html")


def test_the_facts_are_those_of_the_plan(conf, made):
    (section,) = made.document["sections"]
    assert section["kind"] == "deployment"
    planned = json.loads((conf / "plan.json").read_text())
    links = {(row["from"], row["to"]) for row in section["links"]}
    assert links == {(link["from"], link["to"]) for link in planned["links"]}
    for row in section["links"]:
        over = [t["name"] for t in planned["topics"] if [row["from"], row["to"]] in t["edges"]]
        assert sorted(name for name, _ in row["topics"]) == sorted(over)
        assert row["n_topics"] == len(over)
    assert (section["n_findings"], section["findings"]) == (0, [])
    assert section["rates_known"]
    costs = [row["failure"]["deliveries"] for row in section["brokers"]]
    assert costs == sorted(costs, reverse=True)
    assert section["worst"]["deliveries"] == costs[0]
    assert json.loads(made.numbers.read_text()) == made.document


def test_every_number_and_name_of_the_page_is_in_the_document(made):
    text = visible(made.page.read_text())
    shown = {found.rstrip(".,") for found in re.findall(r"(?<![\w.])\d[\d,.]*%?", text)}
    section = made.document["sections"][0]
    known = numbers_in(made.document) | numbers_in(
        [len(row[way]) for row in section["brokers"] for way in ("dials", "dialled_by")]
    )
    assert {n for n in shown if n not in known} == set()
    assert HOSTILE not in made.page.read_text()
    assert HOSTILE in text
    assert HOSTILE_TOPIC in text
    assert "The costliest failure is that of" in text


def test_a_deployment_that_fails_its_check_says_so_first(tmp_path):
    overlay = overlay_of([(node, "t") for node in "abc"])
    conf = deployed(overlay, tmp_path / "conf")
    file = next(f for f in conf.glob("*/mosquitto.conf") if "\ntopic t both" in f.read_text())
    file.write_text(file.read_text().replace("topic t both", "topic t out"))
    made = make_report([conf], tmp_path / "r.html")
    section = made.document["sections"][0]
    assert section["n_findings"] > 0
    assert "must not be used" in made.page.read_text()
    assert section["findings"][0] in visible(made.page.read_text())


def test_the_restarts_from_what_runs_now_are_listed(tmp_path):
    before = deployed(
        overlay_of([(node, "t") for node in "abc"], [("a", "b"), ("b", "c")]), tmp_path / "old"
    )
    after = deployed(
        overlay_of([(node, "t") for node in "abc"], [("a", "b"), ("a", "c")]), tmp_path / "new"
    )
    made = make_report([after], tmp_path / "r.html", before=before)
    restart = made.document["sections"][0]["restart"]
    assert restart["before"] == "old"
    assert {step["node"] for step in restart["steps"]} <= set("abc")
    assert "Order of restarts" in made.page.read_text()
    same = document([after], before=after)["sections"][0]["restart"]
    assert same["steps"] == []


def test_before_needs_one_deployment(conf, tmp_path):
    write_designs(tmp_path, company(), gm={"method": "gm"})
    with pytest.raises(InputError, match="--before says what runs instead of one deployment; 0"):
        document([tmp_path / "gm"], before=conf)


def test_without_rates_and_costs_the_page_says_so(tmp_path):
    made = make_report(
        [deployed(overlay_of([("a", "t"), ("b", "t")]), tmp_path / "c")], tmp_path / "r.html"
    )
    section = made.document["sections"][0]
    assert (section["rates_known"], section["worst"]) == (False, None)
    text = visible(made.page.read_text())
    assert "No broker's failure costs the others anything." in text
    assert "no rates are known" in text


def test_many_links_and_topics_are_cut_in_the_page_and_whole_in_the_numbers(tmp_path):
    pairs = [("hub", f"t/{i}") for i in range(MOST_ROWS + 5)]
    pairs += [(f"leaf-{i}", f"t/{i}") for i in range(MOST_ROWS + 5)]
    pairs += [(f"leaf-{0}", f"t/{i}") for i in range(MOST_TOPICS + 5)]
    overlay = design(Instance.from_pairs(pairs), "gm", certify=False)
    conf = tmp_path / "conf"
    write_conf(plan(overlay, brokers_of(overlay.instance.node_names)), conf)
    made = make_report([conf], tmp_path / "r.html")
    section = made.document["sections"][0]
    assert len(section["links"]) == section["n_links"] > MOST_ROWS
    page = made.page.read_text()
    assert f"These are the first {MOST_ROWS}" in page
    assert "and others, in the JSON file" in page
    small = trimmed(made.document, Budget(0, 0, 10))["sections"][0]
    assert {row["topics"] for row in small["links"]} == {None}


def test_the_verb_reports_a_configuration(conf, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    run = partial(run_in_process, monkeypatch, capsys)
    code, out, err = run("report", str(conf))
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "report report.html"
    code, _, err = run("report", str(conf), "--before", "gone", "--force")
    assert code == 2
    assert "gone' holds no plan.json" in err


def test_a_failure_costs_what_the_plan_says(conf, made):
    cost = failures(read_plan(conf))
    for row in made.document["sections"][0]["brokers"]:
        assert row["failure"]["subscribers"] == cost[row["node"]].subscribers
