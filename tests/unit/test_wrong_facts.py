"""Facts of the wrong type in the manifests of runs, problems and assignments are named."""

import json
import shutil

import pytest

from meshwright.content.dataset import check_claims, write_assignment
from meshwright.content.methods.registry import assign
from meshwright.content.problem import load_problem
from meshwright.content.problem.dataset import write_problem
from meshwright.content.problem.synthetic import content_arguments, draw_problem
from meshwright.content.stored import open_problem
from meshwright.errors import InputError
from meshwright.report import document
from meshwright.storage import open_dataset, read_manifest
from meshwright.storage.kinds import KINDS, check_facts

LOADS = {
    f"{what}_{fact}": 1
    for what in ("sent", "received", "load")
    for fact in ("mean", "stdev", "max")
}
COUNTS = {"publications": 5, "deliveries": 4, "missed": 0, "overhead": 1, "messages": 5}
TOTALS = {**COUNTS, **LOADS, "hops_mean": 1.0, "hops_max": None, "busiest_share": 0.5}
RUN = {
    "parameters": {"publications": 5, "weighted": False},
    "totals": TOTALS,
    "against": {"routing": "scribe", "totals": TOTALS},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A problem and an assignment."""
    place = tmp_path_factory.mktemp("facts")
    problem = draw_problem(content_arguments(set=2, subscribers=40, brokers=3))
    write_problem(place / "problem", problem)
    write_assignment(assign(problem, "gr"), place / "assignment", place / "problem")
    return place


@pytest.fixture
def copy(made, tmp_path):
    shutil.copytree(made, tmp_path / "copy", symlinks=True)
    return tmp_path / "copy"


def replace_facts(path, **facts):
    file = path / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **facts}))


WRONG = [
    ("problem", "max_delay", 0.3, "a JSON array of two numbers"),
    ("problem", "max_delay", [0.3], "a JSON array of two numbers"),
    ("problem", "max_delay", [0.3, None], "a JSON array of two numbers"),
    ("problem", "last_hop", 0, "true or false"),
    ("problem", "n_dimensions", "2", "a whole number of 0 or more"),
    ("problem", "beta", 10**400, "a number"),
    ("problem", "density", [1], "a JSON object"),
    ("assignment", "bound", "49.6", "a number"),
    ("assignment", "bound", [], "a number"),
    ("assignment", "fractional", {}, "a number"),
    ("assignment", "lbf", "x", "a number"),
    ("assignment", "notes", None, "a JSON object"),
    ("assignment", "within_beta", 1, "true or false"),
    ("assignment", "violations", {"latency": 1}, "a JSON object with a count for each constraint"),
    ("assignment", "violations", {"latency": {"count": -1}}, "a JSON object with a count for each"),
    ("assignment", "overrides", {"gamma": 1}, "a JSON object of limits (alpha, beta, "),
    ("assignment", "overrides", {"alpha": None}, "a JSON object of limits (alpha, beta, "),
]


@pytest.mark.parametrize(("kind", "fact", "value", "words"), WRONG)
def test_a_fact_of_a_problem_or_an_assignment_is_checked(copy, kind, fact, value, words):
    replace_facts(copy / kind, **{fact: value})
    with pytest.raises(InputError, match="cannot be read as a manifest") as caught:
        open_dataset(copy / kind)
    assert f"'{fact}' must be {words}" in str(caught.value)


@pytest.mark.parametrize("kind", ["problem", "assignment"])
def test_every_fact_that_is_written_has_a_type(made, kind):
    known = {fact.split(" ")[0] for fact in KINDS[kind].facts.split(", ")}
    assert set(read_manifest(made / kind).facts) <= known


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("parameters", {}),
        ("parameters", {"publications": "5", "weighted": False}),
        ("totals", {**TOTALS, "overhead": None}),
        ("totals", {**TOTALS, "hops_mean": "x"}),
        ("totals", COUNTS),
        ("busiest", [{"node": "a", "sent": 1}]),
        ("against", {"routing": "scribe"} | {"totals": {}}),
        ("against", {"routing": None, "totals": TOTALS}),
        ("against", []),
    ],
)
def test_the_facts_inside_those_of_a_run_are_checked(fact, value):
    check_facts("run", RUN)
    check_facts("run", {**RUN, "against": None})
    with pytest.raises(InputError, match=rf"'{fact}[.\w]*' (must be|is missing)"):
        check_facts("run", {**RUN, fact: value})


@pytest.mark.parametrize("text", ['"\\ud800"', "NaN", "1e999"])
def test_what_no_report_can_show_is_refused_in_a_manifest(copy, text):
    file = copy / "assignment" / "manifest.json"
    file.write_text(file.read_text().replace('"seed": 1', f'"seed": {text}'))
    with pytest.raises(InputError, match="cannot be read as a manifest"):
        document([copy / "assignment"])


@pytest.mark.parametrize("missing", ["bound", "notes", "within_beta"])
def test_a_fact_that_a_report_needs_and_does_not_find_is_named(copy, missing):
    file = copy / "assignment" / "manifest.json"
    content = json.loads(file.read_text())
    del content[missing]
    file.write_text(json.dumps(content))
    with pytest.raises(InputError, match=f"this assignment has no '{missing}'"):
        document([copy / "assignment"])


def test_a_false_number_of_subscribers_is_damage(copy):
    replace_facts(copy / "problem", n_subscribers=41)
    with pytest.raises(
        InputError, match="'n_subscribers' is 41, and table 'subscribers' has 40 ro"
    ):
        open_problem(copy / "problem")


def test_limits_that_were_replaced_are_read_again(made, tmp_path):
    limits = {"alpha": 2, "max_delay": 0.5}
    problem = load_problem(made / "problem").with_limits(**limits)
    write_assignment(assign(problem, "gr"), tmp_path / "a", made / "problem", overrides=limits)
    report, findings = check_claims(tmp_path / "a", made / "problem")
    assert findings == ()
    assert report.violations == ()
