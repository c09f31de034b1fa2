"""`generate content` and `ingest content`: the same answer on any partitioning, and refusals."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meshwright.content.problem import Problem, load_problem
from meshwright.content.problem.dataset import in_time_counts, spread_of
from meshwright.content.problem.generate import generate
from meshwright.content.problem.ingest import ingest, wanted_columns
from meshwright.content.problem.synthetic import content_arguments, draw_problem
from meshwright.content.problem.user_tables import Table
from meshwright.errors import InfeasibleError, InputError
from meshwright.storage import open_dataset
from tests.e2e.in_process import run_in_process
from tests.naive import content as naive
from tests.problems import random_problem

LIMITS = {"alpha": 3, "beta": 1.5, "beta_max": 1.8, "last_hop": False}
HEADER = "name,location_0,location_1,low_0,low_1,high_0,high_1"
BROKERS = "name,parent,location_0,location_1\nhq,,0,0\neast,hq,5,5\nwest,hq,-5,0\n"


def anew(problem: Problem) -> Problem:
    """Return the same problem without the digest that the manifest claims."""
    return problem.with_limits(alpha=problem.alpha)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_digest_does_not_depend_on_partitions(spark, tmp_path, number):
    arguments = content_arguments(set=number, subscribers=2000, brokers=12, seed=4)
    digests = {
        generate(spark, tmp_path / "p", arguments, partitions=n, force=True)["digest"]
        for n in (1, 5)
    }
    loaded = load_problem(tmp_path / "p")
    assert digests == {anew(loaded).digest, draw_problem(arguments).digest}
    other = content_arguments(set=number, subscribers=2000, brokers=12, seed=5)
    assert generate(spark, tmp_path / "q", other)["digest"] not in digests


def test_a_generated_problem_is_what_its_manifest_says(spark, tmp_path):
    arguments = content_arguments(
        subscribers=700, brokers=30, levels="many", max_out_degree=5, latency="tight"
    )
    manifest = generate(spark, tmp_path / "p", arguments)
    problem = load_problem(tmp_path / "p")
    assert (problem.n_subscribers, problem.tree.n_brokers - 1) == (700, 30)
    assert manifest["n_leaves"] == len(problem.tree.leaves)
    assert manifest["n_levels"] == problem.tree.depth.max()
    assert manifest["in_time"] == spread_of(in_time_counts(problem))
    assert (problem.beta, problem.beta_max, set(problem.max_delay)) == (7.0, 8.0, {0.2})
    assert problem.subscriber_names[7] == "subscriber-007"
    assert list(problem.tree.names) == sorted(problem.tree.names)
    assert open_dataset(tmp_path / "p")["parameters"]["max_out_degree"] == 5
    location, low, high = naive.set_1(1, 699, "high", "low")
    np.testing.assert_allclose(problem.location[699], location)
    np.testing.assert_allclose(problem.low[699], low)
    np.testing.assert_allclose(problem.high[699], high)


def parquet_of(problem: Problem, place, order) -> tuple[str, str]:
    """Write a problem as a user would: rows in some order, lists in Parquet."""
    tree = problem.tree
    subscribers = {
        "name": pa.array([problem.subscriber_names[i] for i in order]),
        "location": pa.array(problem.location[order].tolist()),
        "low": pa.array(problem.low[order].tolist()),
        "high": pa.array(problem.high[order].tolist()),
        "max_delay": pa.array(problem.max_delay[order]),
    }
    above = [None if p < 0 else tree.names[p] for p in tree.parent.tolist()]
    brokers = {
        "name": pa.array(tree.names),
        "parent": pa.array(above, pa.string()),
        "location": pa.array(tree.location.tolist()),
        "capacity": pa.array(tree.capacity),
    }
    (place / "s").mkdir()
    half = len(order) // 2
    table = pa.table(subscribers)
    pq.write_table(table.slice(0, half), place / "s" / "one.parquet")
    pq.write_table(table.slice(half), place / "s" / "two.parquet")
    pq.write_table(pa.table(brokers), place / "b.parquet")
    return str(place / "s"), str(place / "b.parquet")


def test_rows_in_any_order_give_the_problem_they_describe(spark, tmp_path):
    problem = random_problem(1000, 7, levels=2, seed=3)
    order = np.random.default_rng(1).permutation(1000)
    files = parquet_of(problem, tmp_path, order)
    for partitions in (1, 3):
        manifest = ingest(
            spark, *files, tmp_path / "p", max_delay=0.3, limits=LIMITS,
            partitions=partitions, force=True,
        )  # fmt: skip
        assert manifest["digest"] == problem.digest == anew(load_problem(tmp_path / "p")).digest
        assert manifest["in_time"] == spread_of(in_time_counts(problem))


def csv_of(place, subscribers: str, brokers: str = BROKERS, header: str = HEADER):
    (place / "s.csv").write_text(f"{header}\n{subscribers}")
    (place / "b.csv").write_text(brokers)
    return str(place / "s.csv"), str(place / "b.csv")


def test_tables_that_spark_skips_are_read_too(spark, tmp_path):
    problem = random_problem(20, 3, seed=3)
    parquet_of(problem, tmp_path, np.arange(20))
    whole = pa.concat_tables(pq.read_table(path) for path in sorted((tmp_path / "s").iterdir()))
    pq.write_table(whole, tmp_path / "_s.parquet")
    (tmp_path / "b.parquet").rename(tmp_path / ".b.parquet")
    files = str(tmp_path / "_s.parquet"), str(tmp_path / ".b.parquet")
    manifest = ingest(spark, *files, tmp_path / "p", max_delay=0.3, limits=LIMITS)
    assert manifest["digest"] == problem.digest


def test_a_csv_with_bounds_of_every_kind(spark, tmp_path):
    rows = "cy,5,5,0,0,1,1,,\nann,5,5,0,0,1,1,0.5,\n'bob, jr',5,5,0,0,1,1,,10\n".replace("'", '"')
    files = csv_of(tmp_path, rows, header=f"{HEADER},max_delay,max_latency")
    ingest(spark, *files, tmp_path / "p", max_delay=0.3, limits=LIMITS)
    problem = load_problem(tmp_path / "p")
    assert list(problem.subscriber_names) == ["ann", "bob, jr", "cy"]
    assert problem.max_delay.tolist() == pytest.approx([0.5, 10 / 50**0.5 - 1, 0.3])
    assert list(problem.tree.names) == ["east", "hq", "west"]
    assert problem.leaf_capacity.tolist() == [0.5, 0.5]


WRONG = {
    "ann,1,2,5,0,1,1": "'ann' wants (5.0, 0.0) to (1.0, 1.0): low is above high.",
    "bob,1,2,0,nan,1,1": "'bob': low is (0.0, NaN); give finite numbers.",
    "cy,1,inf,0,0,1,1": "'cy': location is (1.0, Infinity); give finite numbers.",
    "dee,1,2,0,0,1,": "'dee': high is (1.0, missing); give finite numbers.",
    "eve,1,2,0,0,1,x": "'eve': high_1 is 'x', not a number.",
    "fay,1,2,0,0,1": "'fay': its row does not have one cell per column.",
    "gus,1,2,0,0,1,1,9": "'gus': its row does not have one cell per column.",
    ",1,2,0,0,1,1": "a subscriber with the box (0.0, 0.0) to (1.0, 1.0) has no name.",
    "ian,1,2,0,0,1,1\nian,1,2,0,0,1,1": "the name 'ian' is given to 2 subscribers.",
}


def test_bad_subscribers_are_refused_one_by_one_and_nothing_is_written(spark, tmp_path):
    files = csv_of(tmp_path, "good,1,2,0,0,1,1\n" + "\n".join(WRONG) + "\n")
    with pytest.raises(InputError, match="nothing was written") as refused:
        ingest(spark, *files, tmp_path / "p", max_delay=0.3, limits=LIMITS)
    reported = [line.strip() for line in str(refused.value).splitlines()[1:-1]]
    assert sorted(reported) == sorted(WRONG.values())
    assert not (tmp_path / "p").exists()


def test_a_table_without_rows_is_refused(spark, tmp_path):
    with pytest.raises(InputError, match="has no rows; give at least one subscriber"):
        ingest(spark, *csv_of(tmp_path, ""), tmp_path / "p", max_delay=0.3, limits=LIMITS)


def test_all_complaints_are_gathered_and_the_rest_counted(spark, tmp_path):
    rows = "".join(f"s{i:02d},1,2,5,0,1,1\n" for i in range(30))
    with pytest.raises(InputError, match="nothing was written") as refused:
        ingest(spark, *csv_of(tmp_path, rows), tmp_path / "p", max_delay=0.3, limits=LIMITS)
    lines = str(refused.value).splitlines()
    assert lines[1] == "  's00' wants (5.0, 0.0) to (1.0, 1.0): low is above high."
    assert lines[-2] == "  and 10 more"


def test_brokers_that_cannot_be_read_are_refused(spark, tmp_path):
    brokers = "name,parent,location_0,location_1,capacity\nhq,,0,0,\na,hq,1,x,much\nb,hq,1\n"
    files = csv_of(tmp_path, "ann,1,2,0,0,1,1\n", brokers)
    with pytest.raises(InputError, match="nothing was written") as refused:
        ingest(spark, *files, tmp_path / "p", max_delay=0.3, limits=LIMITS)
    assert [line.strip() for line in str(refused.value).splitlines()[1:-1]] == [
        "'a': location_1 is 'x', not a number.",
        "'b': its row does not have one cell per column.",
    ]


@pytest.mark.parametrize(
    ("header", "match"),
    [
        ("who,location_1,location_2,low_1,low_2,high_1,high_2", "has no column 'name'"),
        ("name,location_1,location_3,low_1,low_2,high_1,high_2", "but not location_2"),
        ("name,location_1,location_2,low_1,low_2,high_1,top_2", "2 columns of low and 1 of high"),
        ("name,location_1,location_2,low_1,low_2,top_1,top_2", "has no columns high_0, high_1"),
        ("name,location_1,location_2,low_1,low_2,low_3,high_1", "3 columns of low and 1 of high"),
    ],
)
def test_headers_that_do_not_fit_are_told(spark, header, match):
    schema = ", ".join(f"{name} string" for name in header.split(","))
    table = Table(spark.createDataFrame([], schema), "s.csv")
    with pytest.raises(InputError, match=match):
        wanted_columns(table, 0.3)


def test_boxes_and_places_of_other_dimensions_are_refused(spark, tmp_path):
    problem = random_problem(6, 2)
    subscribers, brokers = parquet_of(problem, tmp_path, np.arange(6))
    table = pq.read_table(subscribers)
    low, place = table.column("low").to_pylist(), table.column("location").to_pylist()
    low[4], place[5] = [1.0], [1.0, 2.0, 3.0]
    columns = {**dict(zip(table.column_names, table.columns, strict=True)), "low": low}
    pq.write_table(pa.table({**columns, "location": place}), tmp_path / "s.parquet")
    with pytest.raises(InputError, match="nothing was written") as refused:
        ingest(
            spark, str(tmp_path / "s.parquet"), brokers, tmp_path / "p",
            max_delay=0.3, limits=LIMITS,
        )  # fmt: skip
    assert "'subscriber-4': low has 1 dimensions, the event space 2." in str(refused.value)
    assert "'subscriber-5': location has 3 dimensions, the brokers' 2." in str(refused.value)


def test_subscribers_no_broker_can_serve_are_named(spark, tmp_path):
    rows = "ann,5,5,0,0,1,1,7\nbob,5,5,0,0,1,1,7.2\ncy,0,9,0,0,1,1,1\n"
    files = csv_of(tmp_path, rows, header=f"{HEADER},max_latency")
    with pytest.raises(InfeasibleError, match="no broker can serve 2 of 3 subscribers") as refused:
        ingest(spark, *files, tmp_path / "p", max_delay=0.3, limits=LIMITS)
    assert "ann: 7 is the limit, 7.07107 the least possible" in str(refused.value)
    assert "cy: 1 is the limit" in str(refused.value)
    assert "bob" not in str(refused.value)
    # Of the last hop alone, ann and bob need nothing.
    files = csv_of(tmp_path, rows.replace("cy,0,9", "cy,5,5"), header=f"{HEADER},max_latency")
    ingest(spark, *files, tmp_path / "p", max_delay=0.3, limits={**LIMITS, "last_hop": True})
    assert load_problem(tmp_path / "p").last_hop


def test_the_command_line_makes_and_takes_problems(spark, tmp_path, monkeypatch, capsys):
    run = lambda *words: run_in_process(monkeypatch, capsys, *words)  # noqa: E731
    made = str(tmp_path / "made")
    code, out, err = run("generate", "content", "-o", made, "--subscribers", "500", "--set", "2")
    assert (code, err) == (0, "")
    assert "brokers         100, all leaves, one level" in out
    assert "limits          alpha 3, beta 2.3 to 2.5, max delay 0.3" in out
    assert f"next: meshwright assign {made} -o A --method gr-star" in out
    brokers = "name,parent,location_0,location_1,capacity\nhq,,0,0,\ne,hq,5,5,1\nw,hq,-5,0,3\n"
    subscribers, brokers = csv_of(tmp_path, "ann,1,2,0,0,1,1\n", brokers)
    files = ("--subscribers", subscribers, "--brokers", brokers)
    taken = str(tmp_path / "taken")
    code, out, err = run("ingest", "content", *files, "-o", taken, "--json", "--alpha", "2")
    assert code == 0
    assert err == "warning: the capacities of the leaves sum to 4; they were scaled to sum to 1.\n"
    assert json.loads(out)["alpha"] == 2
    assert load_problem(taken).leaf_capacity.tolist() == [0.25, 0.75]
    code, _, err = run("ingest", "content", *files, "-o", taken)
    assert (code, "exists. Pass --force" in err) == (2, True)
    code, _, err = run("ingest", "content", "--subscribers", "s.txt", "--brokers", "b", "-o", "x")
    assert (code, "--subscribers is 's.txt'; give a CSV" in err) == (2, True)
    (tmp_path / "pairs.csv").write_text("node,topic\na,t\n")
    code, out, _ = run("ingest", str(tmp_path / "pairs.csv"), "-o", str(tmp_path / "w"))
    assert (code, "workload" in out) == (0, True)
    assert "ingest content --help" in run("ingest", "--help")[1]
    assert "--brokers FILE" in run("ingest", "content", "--help")[1]
