"""`slp` on Spark: every question about all subscribers has the same answer as in memory."""

from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest

from meshwright.content.boxes import Boxes, coarser
from meshwright.content.dataset import certificate, check_claims, load_assignment
from meshwright.content.methods import flow
from meshwright.content.methods.flow import place
from meshwright.content.problem import BrokerTree, Problem, load_problem
from meshwright.content.problem.dataset import write_problem
from meshwright.content.problem.synthetic import content_arguments, draw_problem
from meshwright.content.slp import Settings, slp, slp_leaves
from meshwright.content.slp.backend import MemoryBackend
from meshwright.content.slp.candidates import candidate_boxes, grow_splits
from meshwright.content.slp.members import (
    TargetFilters,
    count_cells,
    draw,
    partition_by,
    super_subscriptions,
    uncovered,
)
from meshwright.content.slp.repair import repair
from meshwright.content.slp.spark_backend import SparkBackend, assign_on_spark
from meshwright.content.stored import open_problem
from meshwright.content.subscribers import leaves_of, pack, subscribers_of
from meshwright.errors import InputError
from meshwright.runtime.paths import read_parquet, uri
from meshwright.storage import staging
from tests.e2e.in_process import run_in_process


def make_problem(path, **more):
    arguments = content_arguments(**{"subscribers": 400, "brokers": 6, "seed": 5, **more})
    write_problem(path, draw_problem(arguments))
    return load_problem(path)


@pytest.fixture(scope="module")
def problem_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("assign") / "p"
    make_problem(path)
    return path


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def arrays(members):
    return [getattr(members, field.name) for field in fields(members)]


@pytest.fixture(scope="module")
def both(spark, problem_path, tmp_path_factory):
    """The subscribers at the publisher, in memory and on Spark in three partitions."""
    problem, stored = load_problem(problem_path), open_problem(problem_path)
    publisher, leaves = [problem.tree.publisher], np.arange(len(problem.tree.leaves))
    with staging(tmp_path_factory.mktemp("scratch") / "a", "assignment") as stage:
        on_spark = SparkBackend(spark, stored, stage, 3).members(publisher, leaves)
        yield problem, MemoryBackend(problem).members(publisher, leaves), on_spark


def some_filters(problem, table):
    """Return candidate boxes, each in the filters of about half of the targets."""
    reference = draw(table, 100, 3)
    splits = grow_splits(reference.location, reference.low, reference.high, 8)
    boxes = candidate_boxes(super_subscriptions(table, splits))
    random = np.random.default_rng(2)
    taken = random.random((boxes.size, len(problem.tree.leaves))) < 0.5
    return TargetFilters(boxes, pack(taken))


def test_samples_are_the_same_as_in_memory(both):
    _, here, there = both
    assert there.size == here.size
    for count, seed in ((10, 1), (100, 2), (10_000, 3)):
        assert same(arrays(draw(here, count, seed)), arrays(draw(there, count, seed)))


def test_clusters_have_the_same_boxes(both):
    _, here, there = both
    reference = draw(here, 100, 3)
    for count in (1, 7, 40):
        splits = grow_splits(reference.location, reference.low, reference.high, count)
        assert same(super_subscriptions(here, splits), super_subscriptions(there, splits))


def test_the_same_are_uncovered(both):
    problem, here, there = both
    filters = some_filters(problem, here)
    small = TargetFilters(filters.boxes.pick(slice(3)), filters.owners[:3])
    for chosen, most in ((filters, 5), (small, 5), (small, 1000)):
        n_ours, ours = uncovered(here, chosen, most, 9)
        n_theirs, theirs = uncovered(there, chosen, most, 9)
        assert n_ours == n_theirs
        assert same(arrays(ours), arrays(theirs))
    assert n_ours > 0
    low, high = here.rows.low.min(axis=0), here.rows.high.max(axis=0)
    all_targets = pack(np.ones((1, len(problem.tree.leaves)), np.bool_))
    everything = TargetFilters(Boxes(low[None], high[None]), all_targets)
    count, nobody = uncovered(there, everything, 5, 9)
    assert (count, nobody.size) == (0, 0)


@pytest.mark.parametrize("most_cells", [1 << 21, 64])
@pytest.mark.parametrize("room", [1.0, 0.7])
def test_everyone_goes_to_the_same_target(both, monkeypatch, most_cells, room):
    monkeypatch.setattr(flow, "MOST_CELLS", most_cells)
    problem, here, there = both
    filters = some_filters(problem, here)
    limits = np.floor(problem.load_limits(problem.beta) * room).astype(np.int64)
    found = []
    for table in (here, there):
        cells = count_cells(table, filters.covering, problem.n_dimensions)
        placement = place(cells.masks, cells.members, limits)
        partition = partition_by(table, cells, placement, len(limits))
        fitted = table.fit(
            partition.target_of, partition.loads, problem.alpha, problem.density_table
        )
        found.append((cells, partition, fitted))
    (cells, ours, (boxes, owner)), (other_cells, theirs, (other_boxes, other_owner)) = found
    assert same(cells[1:], other_cells[1:])
    assert same((ours.shares, ours.target), (theirs.shares, theirs.target))
    assert same((*boxes, owner), (*other_boxes, other_owner))
    target = ours.target_of(here.rows)
    # The order is that of `spread`, by which other methods divide groups.
    group_of = flow.group_rows(filters.covering(here.rows))[1]
    reference = flow.spread(placement, group_of, here.rows.low, here.rows.high, len(limits))
    assert target.tolist() == reference.tolist()
    assert np.bincount(target[target >= 0], minlength=len(limits)).tolist() == ours.loads.tolist()


def test_too_many_boxes_of_a_target_are_coarsened_soundly():
    random = np.random.default_rng(4)
    low = random.random((1000, 2))
    boxes = np.stack((low, low + random.random((1000, 2)) / 8), axis=1)
    coarse = coarser(boxes, 40)
    assert len(coarse) == 40
    held = (coarse[None, :, 0] <= boxes[:, None, 0]) & (coarse[None, :, 1] >= boxes[:, None, 1])
    assert held.all(axis=2).any(axis=1).all()
    assert np.array_equal(coarser(boxes[:40], 40), boxes[:40])


FEW = Settings(load_sample=4, sample=30, clusters=3, roundings=2, tightenings=1)


def assert_equal_answers(path, ours, manifest):
    """Assert that what Spark wrote is the answer in memory, its claims included."""
    theirs = load_assignment(path)
    assert theirs.broker.tolist() == ours.broker.tolist()
    for name in ("broker", "low", "high"):
        assert np.array_equal(getattr(theirs.filters, name), getattr(ours.filters, name))
    claimed = certificate(ours)
    # A mean over all is a sum of the tasks' sums.
    assert manifest["delay_rms"] == pytest.approx(claimed.pop("delay_rms"), rel=1e-11)
    assert manifest["fractional"] == pytest.approx(claimed.pop("fractional"), rel=1e-12)
    assert {name: manifest[name] for name in claimed} == claimed
    assert check_claims(path)[1] == ()


@pytest.mark.parametrize("partitions", [2, 3])
def test_the_answer_is_that_in_memory(spark, problem_path, tmp_path, partitions):
    _, manifest = assign_on_spark(
        spark, problem_path, tmp_path / "a", seed=3, settings=FEW, partitions=partitions
    )
    ours = slp(load_problem(problem_path), seed=3, settings=FEW)
    assert ours.feasible
    assert_equal_answers(tmp_path / "a", ours, manifest)


def test_the_answer_is_that_in_memory_down_several_levels(spark, tmp_path):
    problem = make_problem(
        tmp_path / "p", subscribers=300, brokers=14, levels="many", max_out_degree=3
    )
    assert problem.tree.depth.max() >= 3
    few = Settings(load_sample=4, sample=20, clusters=3, roundings=1, tightenings=1)
    _, manifest = assign_on_spark(spark, tmp_path / "p", tmp_path / "a", seed=2, settings=few)
    assert_equal_answers(tmp_path / "a", slp(problem, seed=2, settings=few), manifest)


@pytest.mark.parametrize("beta_max", [1.1, 1.0])
def test_the_same_move_so_that_others_find_room(spark, problem_path, tmp_path, beta_max):
    problem = load_problem(problem_path).with_limits(beta=1.0, beta_max=beta_max)
    limits = problem.load_limits(beta_max)
    marks = leaves_of(problem).in_time(subscribers_of(problem))
    n, leaves = problem.n_subscribers, problem.tree.leaves
    # Everyone in turn at the last leaf in time that has room: too late for some.
    leaf_of, room = np.full(n, -1, np.int32), limits.copy()
    for j in range(n):
        for i in range(len(limits)):
            if (int(marks[j, 0]) >> i) & 1 and room[i] > 0:
                leaf_of[j] = i
        if leaf_of[j] >= 0:
            room[leaf_of[j]] -= 1
    at = np.where(leaf_of >= 0, leaves[leaf_of], -1).astype(np.int32)
    here = MemoryBackend(problem)
    here.broker[:] = at
    n_over = repair(problem, here)
    assert n_over < (at < 0).sum()
    assert ((here.broker != at) & (at >= 0)).any()
    pairs = pa.table({"subscriber": np.arange(n, dtype=np.int32), "broker": at})
    rows = read_parquet(spark, problem_path / "subscribers.parquet").drop("name")
    rows = rows.join(spark.createDataFrame(pairs), "subscriber")
    stored = open_problem(problem_path, {"beta": 1.0, "beta_max": beta_max})
    with staging(tmp_path / "a", "assignment") as stage:
        there = SparkBackend(spark, stored, stage, 3)
        rows.write.partitionBy("broker").parquet(uri(stage.scratch("moved") / "step=0"))
        there._steps, there._n_moves = {broker: [0] for broker in set(at.tolist())}, 1
        assert repair(stored, there) == n_over
        theirs = there.subscribers(leaves.tolist()).frame.toArrow().sort_by("subscriber")
    assert theirs.column("broker").to_pylist() == here.broker.tolist()


def test_who_finds_no_room_is_told_and_served_as_in_memory(spark, problem_path, tmp_path):
    # Not everyone fits at a load factor of 1 within such delays.
    overrides = {"beta": 1.0, "beta_max": 1.02, "max_delay": 0.05}
    answer, manifest = assign_on_spark(
        spark,
        problem_path,
        tmp_path / "a",
        method="slp-leaves",
        seed=3,
        settings=FEW,
        overrides=overrides,
    )
    ours = slp_leaves(load_problem(problem_path).with_limits(**overrides), seed=3, settings=FEW)
    assert ours.notes["overloaded"] > 0
    assert ours.obstacle is not None
    assert str(answer.obstacle) == str(ours.obstacle)
    assert_equal_answers(tmp_path / "a", ours, manifest)


def test_other_methods_run_in_memory_alone(spark, problem_path, tmp_path):
    with pytest.raises(InputError, match="gr-star does not run on Spark; slp, slp-leaves do"):
        assign_on_spark(spark, problem_path, tmp_path / "a", method="gr-star")
    assert not (tmp_path / "a").exists()


def test_one_broker_and_boxes_that_are_all_equal(spark, tmp_path):
    tree = BrokerTree(parent=[-1, 0], location=[[0.0], [1.0]])
    low = np.zeros((9, 1))
    write_problem(tmp_path / "one", Problem(tree, low, low, low + 1, 0.5))
    _, manifest = assign_on_spark(spark, tmp_path / "one", tmp_path / "a")
    ours = slp(load_problem(tmp_path / "one"))
    assert ours.fractional is None
    assert manifest["fractional"] is None
    assert manifest["bandwidth"] == ours.bandwidth == manifest["bound"]
    assert load_assignment(tmp_path / "a").broker.tolist() == [1] * 9


def test_the_command_line_assigns_on_spark(spark, tmp_path, monkeypatch, capsys):
    make_problem(tmp_path / "p", subscribers=60, brokers=2)
    words = ("assign", str(tmp_path / "p"), "-o", str(tmp_path / "a"), "--engine", "spark")
    code, out, errors = run_in_process(monkeypatch, capsys, *words, "--max-delay", "0.4")
    assert (code, errors) == (0, "")
    assert "60 subscribers, 2 leaves, 2 brokers" in out
    assert "max_delay 0.4" in out
    assert check_claims(tmp_path / "a")[1] == ()
