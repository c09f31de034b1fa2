"""Experiments on Spark: cells in tasks, resumed, shared, failing, and on samples of a graph."""

import gzip
import itertools
import random

import pyarrow.parquet as pq
import pytest
from papers.chart import Panel, Series, draw
from papers.findings import mean, number
from papers.ledger import read_ledger
from papers.ledger_page import BEGIN, END
from papers.model import Cell, Claim, Experiment, Kind, Sample
from papers.run import CELLS, WORKLOADS, run_experiments
from papers.samples import GRAPHS
from papers.workloads import draw_instance, family

from meshwright.model.instance import Instance
from meshwright.runtime.progress import no_progress
from meshwright.workload.generate import TopicModel, generate
from meshwright.workload.sample import sample


def overlay_cells(full: bool) -> list[Cell]:
    return [
        Cell(
            "measure_overlay:overlay",
            {"workload": family("unif", 30, 20, (2, 5), seed), "method": method, "seed": seed},
            group=str(seed),
        )
        for seed in range(1, 5 if full else 3)
        for method in ("gm", "minmax")
    ]


def picture(rows, title: str) -> str:
    points = [(float(row["seed"]), float(row["edges"])) for row in rows]
    return draw(title, "", [Panel("", "seed", "edges", [Series("edges", points)])])


def experiment(name: str = "ton11-fig2", cells=overlay_cells, **more) -> Experiment:
    claims = [
        Claim("support", "1", lambda rows: number(mean(rows, "support"), 1.0), kind=Kind.SYNTHETIC)
    ]
    return Experiment(name, "a trial", cells, picture, "small", "large", claims, **more)


def run(spark, experiments, out, **more):
    given = {"data": None, "full": False, "progress": no_progress(), **more}
    return run_experiments(spark, experiments, out, **given)


def without_seconds(path) -> list[dict]:
    rows = pq.read_table(path).to_pylist()
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_cells_become_a_table_a_figure_and_a_ledger(spark, tmp_path):
    (tmp_path / "README.md").write_text(f"{BEGIN}\n{END}\n")
    (outcome,) = run(spark, [experiment()], tmp_path, docs=tmp_path / "docs")
    assert (outcome.problem, outcome.n_cells, outcome.n_measured) == ("", 4, 4)
    rows = pq.read_table(tmp_path / "ton11-fig2" / "cells.parquet").to_pylist()
    assert [(row["seed"], row["method"]) for row in rows] == [
        (1, "gm"), (1, "minmax"), (2, "gm"), (2, "minmax"),
    ]  # fmt: skip
    assert (tmp_path / "ton11-fig2" / "figure.svg").read_text().startswith("<svg")
    assert "below the paper's size" in (tmp_path / "ledger.md").read_text()
    assert "figures/reproduce/ton11-fig2.svg" in (tmp_path / "docs" / "ledger.md").read_text()
    assert (tmp_path / "docs" / "figures" / "reproduce" / "ton11-fig2.svg").is_file()
    assert "of 1 numbers on synthetic workloads, 1 is close" in (tmp_path / "README.md").read_text()


def test_the_pages_keep_the_rows_of_runs_made_elsewhere(spark, tmp_path):
    docs = tmp_path / "docs"
    run(spark, [experiment("ton11-fig3")], tmp_path / "one", docs=docs)
    run(spark, [experiment("ton11-fig2")], tmp_path / "other", docs=docs)
    names = [entry.experiment for entry in read_ledger(docs / "ledger.json")]
    assert names == ["ton11-fig2", "ton11-fig3"]
    assert [name in (docs / "ledger.md").read_text() for name in names] == [True, True]
    assert "ton11-fig3" not in (tmp_path / "other" / "ledger.md").read_text()


def test_finished_cells_are_not_measured_again(spark, tmp_path):
    run(spark, [experiment()], tmp_path)
    files = sorted((tmp_path / CELLS).glob("*.parquet"))
    stamps = {file.name: file.stat().st_mtime_ns for file in files}
    files[0].unlink()
    (outcome,) = run(spark, [experiment()], tmp_path)
    assert (outcome.n_cells, outcome.n_measured) == (4, 1)
    after = {file.name: file.stat().st_mtime_ns for file in files}
    assert [name for name in stamps if stamps[name] != after[name]] == [files[0].name]
    (outcome,) = run(spark, [experiment()], tmp_path, full=True)
    assert (outcome.n_cells, outcome.n_measured) == (8, 4)


def test_experiments_share_cells(spark, tmp_path):
    first, second = run(spark, [experiment(), experiment("ton11-fig4")], tmp_path)
    assert (first.n_measured, second.n_measured) == (4, 0)
    tables = [
        without_seconds(tmp_path / o.experiment.id / "cells.parquet") for o in (first, second)
    ]
    assert tables[0] == tables[1]


def test_the_rows_are_the_same_however_cells_are_split_over_tasks(spark, tmp_path):
    found = []
    for alone in (True, False):
        out = tmp_path / str(alone)
        run(spark, [experiment(alone=alone)], out)
        found.append(without_seconds(out / "ton11-fig2" / "cells.parquet"))
    assert found[0] == found[1]


def test_a_cell_that_fails_is_told_and_the_rest_is_kept(spark, tmp_path):
    def with_a_bad_one(full: bool) -> list[Cell]:
        bad = {"workload": family("unif", 5, 3, (9, 9), 1), "method": "gm", "seed": 1}
        return [*overlay_cells(full), Cell("measure_overlay:overlay", bad)]

    failed, good = run(
        spark, [experiment(cells=with_a_bad_one), experiment("ton11-fig4")], tmp_path
    )
    assert failed.problem.startswith("1 cells failed, the first: measure_overlay:overlay")
    assert "a node cannot want 9 of 3 topics" in failed.problem
    assert not (tmp_path / "ton11-fig2").exists()
    assert (good.problem, good.n_measured) == ("", 0)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a data directory with a small ego-Facebook."""
    place = tmp_path_factory.mktemp("data")
    draw_from = random.Random(3)
    pairs = [p for p in itertools.combinations(range(40), 2) if draw_from.random() < 0.12]
    file = place / GRAPHS["ego"].file
    file.parent.mkdir()
    with gzip.open(file, "wt") as lines:
        lines.writelines(f"{u} {v}\n" for u, v in pairs)
    return place


def sample_cells(full: bool) -> list[Cell]:
    one = Sample("ego", 15, 2)
    given = {"workload": {"sample": one.name}, "method": "gm", "seed": 2}
    return [Cell("measure_overlay:overlay", given, graph=one)]


def test_samples_are_those_of_the_verb_and_are_kept(spark, tmp_path, data):
    trial = experiment(cells=sample_cells)
    (outcome,) = run(spark, [trial], tmp_path, data=data)
    assert outcome.problem == ""
    sample(spark, tmp_path / WORKLOADS / "ego", tmp_path / "again", nodes=15, seed=2)
    kept = Instance.load(tmp_path / WORKLOADS / "ego-15-2")
    assert kept.digest == Instance.load(tmp_path / "again").digest
    assert kept.n_nodes == 15
    (outcome,) = run(spark, [trial], tmp_path, data=data)
    assert outcome.n_measured == 0


def test_without_its_graph_an_experiment_is_told_and_others_run(spark, tmp_path):
    missing, other = run(
        spark, [experiment(cells=sample_cells), experiment("ton11-fig4")], tmp_path
    )
    assert missing.problem == f"needs {GRAPHS['ego'].file}; give their directory with --data DIR."
    assert other.problem == ""


def test_workloads_in_memory_are_those_that_generate_writes(spark, tmp_path):
    sizes = {"nodes": 300, "topics": 40, "subscriptions": (2, 9)}
    written = generate(spark, tmp_path / "w", TopicModel(family="zipf", **sizes, alpha=2.0, seed=5))
    assert draw_instance("zipf", 300, 40, 2, 9, 2.0, "successive", 5).digest == written["digest"]
