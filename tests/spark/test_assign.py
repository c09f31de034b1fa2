"""`slp` on Spark: every question about all subscribers has the answer that it has in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from meshwright.assignment import flow
from meshwright.assignment.dataset import certificate, check_claims, load_answer
from meshwright.assignment.flow import place
from meshwright.assignment.slp import Settings, on_spark_tasks, slp, slp_leaves
from meshwright.assignment.slp.audience import Choice, pack
from meshwright.assignment.slp.candidates import Boxes, candidate_boxes
from meshwright.assignment.slp.clusters import grow_cuts
from meshwright.assignment.slp.levels import _InMemory
from meshwright.assignment.slp.on_spark_crowd import SparkCrowd
from meshwright.assignment.slp.on_spark_repair import repair_on_spark
from meshwright.assignment.slp.on_spark_rows import ROWS
from meshwright.assignment.slp.on_spark_run import assign_on_spark
from meshwright.assignment.slp.repair import repair
from meshwright.datasets import staging
from meshwright.errors import InputError
from meshwright.problem import BrokerTree, Problem, load_problem
from meshwright.problem.arguments import content_arguments
from meshwright.problem.dataset import write_problem
from meshwright.problem.latency import marks_in_time
from meshwright.problem.sets import draw_problem
from meshwright.spark.paths import read_parquet
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


def audience_arrays(audience):
    return audience.ids, audience.location, audience.low, audience.high, audience.marks


@pytest.fixture(scope="module")
def both(spark, problem_path, tmp_path_factory):
    """Those at the publisher, in memory and on Spark in three partitions."""
    problem = load_problem(problem_path)
    targets = np.arange(len(problem.tree.leaves))
    rows = read_parquet(spark, problem_path / "subscribers.parquet").select(*ROWS.names)
    with staging(tmp_path_factory.mktemp("scratch") / "a", "assignment") as stage:
        crowd = SparkCrowd(spark, problem, rows.repartition(3), stage)
        publisher = problem.tree.publisher
        yield (
            problem,
            _InMemory(problem).gather(publisher, targets),
            crowd.gather(publisher, targets),
        )


def some_choice(problem, members):
    """Return a box around half of what everyone wants for each target, another for some."""
    reference = members.draw(100, 3)
    boxes = candidate_boxes(
        members.super_subscriptions(grow_cuts(reference.location, reference.low, reference.high, 8))
    )
    random = np.random.default_rng(2)
    taken = random.random((len(boxes.low), len(problem.tree.leaves))) < 0.5
    return Choice(boxes, pack(taken))


def test_samples_are_the_same_as_in_memory(both):
    _, here, there = both
    assert there.size == here.size
    for count, seed in ((10, 1), (100, 2), (10_000, 3)):
        ours, theirs = here.draw(count, seed), there.draw(count, seed)
        assert same(audience_arrays(ours), audience_arrays(theirs))


def test_clusters_have_the_same_boxes(both):
    _, here, there = both
    reference = here.draw(100, 3)
    for count in (1, 7, 40):
        cuts = grow_cuts(reference.location, reference.low, reference.high, count)
        assert same(here.super_subscriptions(cuts), there.super_subscriptions(cuts))


def test_the_same_are_uncovered(both):
    problem, here, there = both
    choice = some_choice(problem, here)
    small = Choice(Boxes(choice.boxes.low[:3], choice.boxes.high[:3]), choice.marks[:3])
    for chosen, most in ((choice, 5), (small, 5), (small, 1000)):
        n_ours, ours = here.uncovered(chosen, most, 9)
        n_theirs, theirs = there.uncovered(chosen, most, 9)
        assert n_ours == n_theirs
        assert same(audience_arrays(ours), audience_arrays(theirs))
    assert n_ours > 0
    everything = Choice(
        Boxes(here.low.min(axis=0)[None], here.high.max(axis=0)[None]),
        pack(np.ones((1, len(problem.tree.leaves)), np.bool_)),
    )
    assert there.uncovered(everything, 5, 9)[0] == 0
    assert there.uncovered(everything, 5, 9)[1].size == 0


@pytest.mark.parametrize("most_cells", [1 << 21, 64])
@pytest.mark.parametrize("room", [1.0, 0.7])
def test_everyone_goes_to_the_same_target(both, monkeypatch, most_cells, room):
    monkeypatch.setattr(flow, "MOST_CELLS", most_cells)
    problem, here, there = both
    choice = some_choice(problem, here)
    masks, counts = here.groups(choice)
    assert same((masks, counts), there.groups(choice))
    limits = np.floor(problem.load_limits(problem.beta) * room).astype(np.int64)
    placement = place(masks, counts, limits)
    target = here.settle(choice, placement)
    children = list(range(len(limits)))
    rows = there.settled(choice, placement, children).select("subscriber", "at").toArrow()
    rows = rows.sort_by("subscriber")
    assert rows.column("subscriber").to_pylist() == list(range(here.size))
    assert rows.column("at").to_pylist() == target.tolist()
    density = problem.density_table
    (boxes, owner), (other, other_owner) = (
        everyone.fit(choice, placement, problem.alpha, density) for everyone in (here, there)
    )
    assert same((*boxes, owner), (*other, other_owner))


def test_too_many_boxes_of_a_target_are_coarsened_soundly(monkeypatch):
    random = np.random.default_rng(4)
    low = random.random((1000, 2))
    boxes = np.stack((low, low + random.random((1000, 2)) / 8), axis=1)
    monkeypatch.setattr(on_spark_tasks, "MOST_BOXES", 40)
    coarse = on_spark_tasks.coarser(boxes)
    assert len(coarse) == 40
    held = (coarse[None, :, 0] <= boxes[:, None, 0]) & (coarse[None, :, 1] >= boxes[:, None, 1])
    assert held.all(axis=2).any(axis=1).all()
    assert on_spark_tasks.coarser(boxes[:40]) is not coarse
    assert np.array_equal(on_spark_tasks.coarser(boxes[:40]), boxes[:40])


FEW = Settings(load_sample=4, sample=30, clusters=3, roundings=2, tightenings=1)


def assert_equal_answers(path, ours, manifest):
    """Assert that what Spark wrote is the answer in memory, its claims included."""
    theirs = load_answer(path)
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
    limits, marks = problem.load_limits(beta_max), marks_in_time(problem)
    n, leaves = problem.n_subscribers, problem.tree.leaves
    # Everyone in turn at the last leaf in time that has room: too late for some.
    leaf_of, room = np.full(n, -1, np.int32), limits.copy()
    for j in range(n):
        for i in range(len(limits)):
            if (int(marks[j, 0]) >> i) & 1 and room[i] > 0:
                leaf_of[j] = i
        if leaf_of[j] >= 0:
            room[leaf_of[j]] -= 1
    n_without = int((leaf_of < 0).sum())
    ours, n_over = repair(problem, marks, leaf_of)
    assert n_over < n_without
    assert ((ours != leaf_of) & (leaf_of >= 0)).any()
    at = np.where(leaf_of >= 0, leaves[leaf_of], -1)
    pairs = pa.table({"subscriber": np.arange(n, dtype=np.int32), "at": at.astype(np.int32)})
    rows = read_parquet(spark, problem_path / "subscribers.parquet").select(*ROWS.names)
    rows = rows.join(spark.createDataFrame(pairs), "subscriber")
    with staging(tmp_path / "a", "assignment") as stage:
        repaired, n_theirs = repair_on_spark(spark, problem, rows, n_without, stage)
        theirs = repaired.select("subscriber", "at").toArrow().sort_by("subscriber")
    assert n_theirs == n_over
    assert theirs.column("at").to_pylist() == leaves[ours].tolist()


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
    with pytest.raises(InputError, match="gr-star goes from subscriber to subscriber"):
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
    assert load_answer(tmp_path / "a").broker.tolist() == [1] * 9


def test_the_command_line_assigns_on_spark(spark, tmp_path, monkeypatch, capsys):
    make_problem(tmp_path / "p", subscribers=60, brokers=2)
    words = ("assign", str(tmp_path / "p"), "-o", str(tmp_path / "a"), "--engine", "spark")
    code, out, errors = run_in_process(monkeypatch, capsys, *words, "--max-delay", "0.4")
    assert (code, errors) == (0, "")
    assert "60 subscribers, 2 leaves, 2 brokers" in out
    assert "max_delay 0.4" in out
    assert check_claims(tmp_path / "a")[1] == ()
