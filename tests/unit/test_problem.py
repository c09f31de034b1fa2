"""Problems as values and as datasets, without Spark."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from meshwright.content.problem import BrokerTree, Density, Problem, load_problem, write_problem
from meshwright.content.problem.dataset import in_time_counts, spread_of
from meshwright.errors import InputError
from meshwright.storage import open_dataset
from tests.naive import content as naive
from tests.problems import line_problem, random_problem, small_problems


def content_of(problem: Problem) -> list[object]:
    tree = problem.tree
    arrays = (problem.location, problem.low, problem.high, problem.max_delay)
    return [
        *[array.tolist() for array in arrays],
        tree.parent.tolist(),
        tree.location.tolist(),
        tree.capacity.tolist(),
        list(tree.names),
        list(problem.subscriber_names),
        [problem.alpha, problem.beta, problem.beta_max, problem.last_hop],
        problem.density and [problem.density.values.tolist(), *map(list, problem.density.edges)],
    ]


@settings(max_examples=40)
@given(small_problems(with_density=True))
def test_a_problem_comes_back_from_disk_as_it_was(tmp_path_factory, problem):
    path = tmp_path_factory.mktemp("problem") / "p"
    manifest = write_problem(path, problem)
    loaded = load_problem(path)
    assert content_of(loaded) == content_of(problem)
    assert manifest["digest"] == problem.digest == loaded.digest
    assert loaded.with_limits(alpha=loaded.alpha).digest == problem.digest  # computed anew


@given(small_problems())
def test_leaves_in_time_are_those_of_the_definition(problem):
    tree = problem.tree
    counts = [
        len(
            naive.leaves_in_time(
                tree.parent.tolist(), tree.location.tolist(), at, delay, problem.last_hop
            )
        )
        for at, delay in zip(problem.location.tolist(), problem.max_delay.tolist(), strict=True)
    ]
    expected = np.bincount(counts, minlength=len(tree.leaves) + 1)
    assert in_time_counts(problem).tolist() == expected.tolist()
    assert min(counts) >= 1


def test_every_part_of_a_problem_counts_in_its_digest():
    problem = random_problem(300, levels=2)
    tree = problem.tree
    density = Density([[-50, 150], [-50, 150]], [[1.0]])
    moved = problem.location.copy()
    moved[280, 1] += 1e-9
    wider = problem.high.copy()
    wider[0, 0] += 1e-9
    capacity = tree.capacity.copy()
    capacity[tree.leaves[:2]] += [0.01, -0.01]
    names = [*list(problem.subscriber_names)[:-1], "somebody"]
    others = [
        problem.with_limits(alpha=2),
        problem.with_limits(beta=1.4),
        problem.with_limits(beta_max=1.9),
        problem.with_limits(last_hop=True),
        problem.with_limits(max_delay=np.array(0.4)),
        problem.with_limits(density=density),
        problem.with_limits(location=moved),
        problem.with_limits(high=wider),
        problem.with_limits(subscriber_names=names),
        problem.with_limits(tree=BrokerTree(tree.parent, tree.location, capacity)),
        problem.with_limits(tree=BrokerTree(tree.parent, tree.location + 1e-9)),
    ]
    digests = {problem.digest, *[other.digest for other in others]}
    assert len(digests) == 1 + len(others)


def test_zero_and_minus_zero_are_one_number():
    problem = random_problem(3)
    zero = problem.with_limits(location=np.zeros((3, 2)))
    assert zero.digest == problem.with_limits(location=-np.zeros((3, 2))).digest


def test_a_problem_keeps_its_numbers_and_leaves_the_callers_alone():
    low = np.zeros((1, 1))
    problem = Problem(
        BrokerTree([-1, 0], [[0.0], [1.0]]), np.zeros((1, 1)), low, np.ones((1, 1)), np.array(0.3)
    )
    low[0, 0] = 9.0
    assert problem.low[0, 0] == 0.0
    assert problem.max_delay.tolist() == [0.3]
    with pytest.raises(ValueError, match="read-only"):
        problem.low[0, 0] = 1.0


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"low": [[2.0]], "high": [[1.0]]}, "low > high"),
        ({"low": [[np.nan]]}, "low has a value that is not a finite number"),
        ({"location": [[0.0, 1.0]]}, "located in 2 dimensions, brokers in 1"),
        ({"max_delay": np.array([-0.1])}, "max_delay must be 0 or more"),
        ({"alpha": 0}, "alpha is 0; give 1 to 10,000 boxes per filter"),
        ({"alpha": 10**30}, "give 1 to 10,000 boxes per filter"),
        ({"beta_max": float("inf")}, "beta_max inf; give 1 <= beta <= beta_max"),
        ({"beta": 2.0}, "1 <= beta <= beta_max"),
        ({"density": Density([[0, 1], [0, 1]], [[1.0]])}, "the density has 2 dimensions"),
        ({"low": [[0.0], [0.0]]}, "a row per subscriber"),
    ],
)
def test_a_problem_refuses_what_makes_no_sense(change, match):
    with pytest.raises(InputError, match=match):
        line_problem([1.0], [(0.0, 0.0, 1.0)]).with_limits(**change)


def test_a_dataset_with_missing_ids_or_ragged_boxes_is_called_damaged(tmp_path):
    write_problem(tmp_path / "p", random_problem(4))
    file = tmp_path / "p" / "subscribers.parquet"
    table = pq.read_table(file)
    ids = table.column_names.index("subscriber")
    pq.write_table(table.set_column(ids, "subscriber", pa.array([0, 1, 2, 2], pa.int32())), file)
    with pytest.raises(InputError, match=r"ids of table 'subscribers' are not 0\.\.3, each"):
        load_problem(tmp_path / "p")
    low = table.column_names.index("low")
    ragged = pa.array([[1.0, 2.0], [1.0], [1.0, 2.0, 3.0], [1.0, 2.0]])
    pq.write_table(table.set_column(low, "low", ragged), file)
    with pytest.raises(InputError, match="column 'low' are missing or differ in length"):
        load_problem(tmp_path / "p")


def test_rows_in_any_order_load_in_the_order_of_their_ids(tmp_path):
    problem = random_problem(50)
    write_problem(tmp_path / "p", problem)
    file = tmp_path / "p" / "subscribers.parquet"
    table = pq.read_table(file)
    pq.write_table(table.take(pa.array(np.arange(50)[::-1])), file)
    assert content_of(load_problem(tmp_path / "p")) == content_of(problem)


def test_the_manifest_tells_what_is_inside(tmp_path):
    manifest = write_problem(tmp_path / "p", random_problem(20, 7, levels=2), parameters={"a": 1})
    facts = open_dataset(tmp_path / "p", "problem")
    assert facts["digest"] == manifest["digest"]
    wanted = ("n_subscribers", "n_brokers", "n_leaves", "n_levels", "n_dimensions", "alpha")
    assert [facts[name] for name in wanted] == [20, 10, 7, 2, 2, 3]
    assert facts["parameters"] == {"a": 1}
    assert facts["max_delay"] == [0.5, 0.5]


def test_the_spread_of_counts():
    assert spread_of(np.array([0, 2, 0, 3])) == {"least": 1, "median": 3, "most": 3}
    assert spread_of(np.array([1, 1])) == {"least": 0, "median": 0, "most": 1}


def test_loading_a_problem_needs_no_spark_and_compiles_nothing(tmp_path):
    write_problem(tmp_path / "p", random_problem(5))
    code = (
        "import sys; from meshwright.content.problem import load_problem;"
        "load_problem(sys.argv[1]).digest;"
        "print([m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j', 'numba')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "p")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
