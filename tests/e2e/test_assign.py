"""``meshwright assign``: what it prints, writes and ends with."""

import json

import pytest

import meshwright as mw
from meshwright.content.problem.dataset import write_problem
from tests.e2e.in_process import run_in_process
from tests.problems import line_problem, random_problem


@pytest.fixture
def run(monkeypatch, capsys):
    return lambda *words: run_in_process(monkeypatch, capsys, *map(str, words))


@pytest.fixture
def problem(tmp_path):
    write_problem(tmp_path / "P", random_problem(200, 5, max_delay=1.0, beta=1.5, beta_max=2.0))
    return tmp_path / "P"


def test_a_feasible_answer_is_shown_against_its_limits_and_written(run, problem, tmp_path):
    code, out, err = run("assign", problem, "-o", tmp_path / "A", "--method", "gr-star")
    assert (code, err) == (0, "")
    assert "method    gr-star (seed 1)" in out
    assert "feasible  yes" in out
    assert "x" in out.split("bandwidth")[1].splitlines()[0]
    assert "beta 1.5 kept, beta_max 2" in out
    assert all(len(line) <= 80 for line in out.splitlines()[1:])
    assignment = mw.load_assignment(tmp_path / "A")
    assert assignment.feasible
    assert assignment.bandwidth >= assignment.bound.value > 0


def test_an_infeasible_answer_to_a_feasible_problem_ends_with_1(run, problem, tmp_path):
    code, out, err = run("assign", problem, "-o", tmp_path / "A", "-m", "gr-no-latency")
    assert code == 1
    assert "feasible  no" in out
    assert "subscribers served too late: " in out
    assert "but others are: try --method slp or gr-star" in err
    assert not mw.load_assignment(tmp_path / "A").feasible


def test_an_infeasible_problem_names_the_limit_that_could_be_kept(run, tmp_path):
    rows = [(1.0, 0.0, 1.0)] * 3 + [(9.0, 0.0, 1.0)]
    write_problem(
        tmp_path / "P", line_problem([1.0, 9.0], rows, max_delay=0.0, beta=1.0, beta_max=1.0)
    )
    code, out, err = run("assign", tmp_path / "P", "-o", tmp_path / "A", "-m", "gr-star", "--json")
    assert code == 1
    manifest = json.loads(out)
    assert manifest["feasible"] is False
    assert manifest["violations"]["load"]["count"] == 1
    assert manifest["obstacle"]["beta_max"] == 1.5
    assert "no assignment is feasible: load within latency cannot hold" in err
    assert "beta_max 1.5" in err
    # The limit it names is one that can be kept.
    code, _, _ = run(
        "assign", tmp_path / "P", "-o", tmp_path / "B", "-m", "gr-star", "--beta-max", "1.5"
    )
    assert code == 0


def test_limits_and_a_density_can_be_given(run, problem, tmp_path):
    (tmp_path / "d.csv").write_text("low_1,high_1,low_2,high_2,density\n-50,200,-50,200,0\n")
    words = ("--density", tmp_path / "d.csv", "--alpha", 1, "--max-delay", 3, "--last-hop")
    code, out, _ = run(
        "assign", problem, "-o", tmp_path / "A", "-m", "gr", *words, "--json", "--seed", 5
    )
    manifest = json.loads(out)
    assert code == (0 if manifest["feasible"] else 1)
    assert manifest["bandwidth"] == 0.0
    assert manifest["alpha"] == 1
    assert manifest["overrides"]["last_hop"] is True
    assert manifest["parameters"]["seed"] == 5
    assert mw.load_assignment(tmp_path / "A").problem.last_hop


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-m", "gr-stat"), "did you mean 'gr-star'"),
        (("-m", "gr", "--alpha", "0"), "alpha is 0"),
        (("-m", "gr", "--beta", "5"), "give 1 <= beta <= beta_max"),
        (("-m", "gr", "--density", "nowhere.csv"), "cannot be read"),
        (("-m", "gr", "--seed", "-1"), "seed is -1"),
        (["-m", "gr", "--threshold", "0.5"], "--threshold belongs to slp, not to gr."),
        (["-m", "slp", "--threshold", "7"], "--threshold is 7.0; give a share of leaves"),
    ],
)
def test_bad_input_ends_with_2_and_writes_nothing(run, problem, tmp_path, words, message):
    code, out, err = run("assign", problem, "-o", tmp_path / "A", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "A").exists()


def test_what_is_there_is_kept_unless_forced(run, problem, tmp_path):
    assert run("assign", problem, "-o", tmp_path / "A", "-m", "gr-star")[0] == 0
    code, _, err = run("assign", problem, "-o", tmp_path / "A", "-m", "gr-star")
    assert code == 2
    assert "Pass --force" in err
    assert run("assign", problem, "-o", tmp_path / "A", "-m", "gr-star", "--force")[0] == 0
    code, _, err = run("assign", tmp_path / "A", "-o", tmp_path / "B", "-m", "gr")
    assert code == 2
    assert "'problem' is needed" in err


def test_check_recomputes_what_an_assignment_claims(run, problem, tmp_path):
    run("assign", problem, "-o", tmp_path / "A", "-m", "gr-no-latency")
    code, out, _ = run("check", tmp_path / "A")
    assert code == 0  # infeasible, and says so
    assert "feasible  no" in out
    assert "all claims of the manifest hold" in out
    file = tmp_path / "A/manifest.json"
    claims = json.loads(file.read_text())
    file.write_text(json.dumps({**claims, "feasible": True, "violations": {}, "lbf": 1.0}))
    code, out, err = run("check", tmp_path / "A", "--problem", problem, "--json")
    assert code == 1
    assert len(json.loads(out)["findings"]) == 2
    assert "violations: {'latency': " in err
    assert "claimed 1.0" in err


def test_the_yardstick_is_shown_beside_the_bound(run, problem, tmp_path):
    words = ("assign", problem, "-o", tmp_path / "A", "-m", "gr-star", "--yardstick")
    code, out, _ = run(*words)
    assert code == 0
    assert "fractional (" in out
    _, out, _ = run(*words, "--force", "--json")
    manifest = json.loads(out)
    assert manifest["fractional"] > 0
    assert manifest["n_candidate_boxes"] > 0
    assert mw.load_assignment(tmp_path / "A").fractional == manifest["fractional"]
