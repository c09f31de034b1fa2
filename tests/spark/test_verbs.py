"""The verbs as functions of `meshwright`, those that run on Spark."""

import json
from pathlib import Path

import meshwright as mw
from meshwright.content.dataset import write_assignment
from meshwright.storage import open_dataset


def test_workloads_are_generated_and_sampled(spark, tmp_path):
    made = mw.generate(
        "zipf", tmp_path / "z", nodes=30, topics=9, subscriptions=(1, 4), alpha=0.5, publishers=1
    )
    assert (made.n_nodes, made.n_topics, made.n_publications) == (30, 9, 9)
    assert made.digest == open_dataset(tmp_path / "z", "workload")["digest"]
    users = mw.generate("social", tmp_path / "s", nodes=200, mean_degree=8.0)
    few = mw.sample(tmp_path / "s", tmp_path / "few", nodes=50)
    assert users.n_nodes == 200
    assert few.n_nodes == 50
    assert set(few.node_names) <= set(users.node_names)


def test_a_run_is_written_and_equal_to_the_one_in_memory(spark, tmp_path):
    workload = mw.Instance.from_pairs([(f"n{i}", f"t{i % 3}") for i in range(12)])
    mw.write(workload, tmp_path / "w")
    overlay = mw.design(workload, "gm")
    mw.write(overlay, tmp_path / "o", workload=tmp_path / "w")
    manifest = mw.write_run(tmp_path / "o", tmp_path / "r", publications=40, seed=3)
    assert manifest["routing"] == "tree"  # it has no ring
    assert manifest["digest"] == mw.simulate(overlay, "tree", publications=40, seed=3).digest
    assert mw.check(tmp_path / "o").findings == ()


def test_problems_are_generated_and_assignments_checked(spark, tmp_path):
    problem = mw.generate_content(tmp_path / "p", subscribers=60, brokers=4)
    assert problem.digest == mw.load_problem(tmp_path / "p").digest
    write_assignment(mw.assign(problem, "closest"), tmp_path / "a", tmp_path / "p")
    assert mw.check(tmp_path / "a").findings == ()
    manifest = next(Path(tmp_path / "a").glob("**/manifest.json"))
    claims = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**claims, "feasible": not claims["feasible"]}))
    assert any("violations" in finding for finding in mw.check(tmp_path / "a").findings)


def test_tables_of_subscribers_and_brokers_become_a_problem(spark, tmp_path):
    (tmp_path / "s.csv").write_text("name,location_0,low_0,high_0\na,0,0,1\nb,1,0.5,2\n")
    (tmp_path / "b.csv").write_text("name,parent,location_0\nhq,,0\nx,hq,0\ny,hq,1\n")
    problem = mw.ingest_content(
        tmp_path / "s.csv", tmp_path / "b.csv", tmp_path / "p", alpha=2, beta=1.2, beta_max=2.0
    )
    assert problem.n_subscribers == 2
    assert (problem.alpha, problem.beta, problem.beta_max) == (2, 1.2, 2.0)
