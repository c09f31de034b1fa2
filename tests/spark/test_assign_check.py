"""The checker, the measures and the bound on Spark: what they are in memory."""

import numpy as np
import pyarrow as pa
import pytest

from meshwright.content.bound import MOST_LINES, bound_of, lower_bound
from meshwright.content.check import check_tables
from meshwright.content.filters import fit_filters
from meshwright.content.measures import measure
from meshwright.content.problem import load_problem
from meshwright.content.problem.dataset import write_problem
from meshwright.content.problem.synthetic import content_arguments, draw_problem
from meshwright.content.slp.spark_backend import SparkBackend, check_on_spark
from meshwright.content.stored import open_problem
from meshwright.runtime.paths import read_parquet
from meshwright.storage import staging


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    place = tmp_path_factory.mktemp("check") / "p"
    arguments = content_arguments(
        subscribers=300, brokers=8, levels="many", max_out_degree=3, seed=6
    )
    write_problem(place, draw_problem(arguments))
    return place


def test_every_fault_is_found_counted_and_exampled_as_in_memory(spark, path, tmp_path):
    problem = load_problem(path)
    n, leaves = problem.n_subscribers, problem.tree.leaves
    random = np.random.default_rng(1)
    subscriber = np.arange(n)
    broker = random.choice(leaves, n)  # too late for many
    broker[100:] = leaves[1]  # too many there
    filters = fit_filters(problem, broker.astype(np.int32))
    broker[:40] = np.roll(broker[:40], 1)  # outside of their leaf's filter, some of them
    broker[50:53] = problem.tree.publisher
    # Nobody has row 60, 61 is there twice, and someone is not among the subscribers.
    subscriber = np.concatenate((np.delete(subscriber, 60), [61, n + 5]))
    broker = np.concatenate((np.delete(broker, 60), [leaves[0], leaves[0]]))
    rows = pa.table({"subscriber": subscriber.astype(np.int32), "broker": broker.astype(np.int32)})
    table = read_parquet(spark, path / "subscribers.parquet")
    frame = spark.createDataFrame(rows).repartition(3)
    stored = open_problem(path)
    with staging(tmp_path / "a", "assignment") as stage:
        report, measures = check_on_spark(stored, table.repartition(3), frame, filters, stage)
    boxes = filters.broker, filters.low, filters.high
    ours = check_tables(problem, subscriber, broker, *boxes)
    found = {one.constraint: one for one in ours.violations}
    assert {"strays", "assigned", "latency", "covered", "load"} <= set(found)
    assert [one.constraint for one in report.violations] == list(found)
    for one in report.violations:
        assert one.count == found[one.constraint].count
        if one.constraint != "strays":  # rows of a table on Spark have no number
            assert one.examples == found[one.constraint].examples
    assert report.within_beta == ours.within_beta
    # The measures in memory are of a row per subscriber.
    attached = np.full(n, -1, np.int32)
    once = np.isin(subscriber, np.flatnonzero(np.bincount(subscriber) == 1)) & (subscriber < n)
    attached[subscriber[once]] = broker[once]
    theirs = measure(problem, attached, filters)
    assert measures.loads.tolist() == theirs.loads.tolist()
    assert measures.bandwidths.tolist() == theirs.bandwidths.tolist()
    for name in ("lbf", "delay_max", "load_stdev"):
        assert getattr(measures, name) == getattr(theirs, name)
    assert measures.delay_rms == pytest.approx(theirs.delay_rms, rel=1e-11)


def test_the_bound_is_that_in_memory_and_stays_sound_on_fewer_lines(spark, path, tmp_path):
    exact = lower_bound(load_problem(path))
    stored = open_problem(path)
    with staging(tmp_path / "a", "assignment") as stage:
        rows = SparkBackend(spark, stored, stage, 3).subscribers([stored.tree.publisher])
        found = [bound_of(stored, rows, most_lines=most) for most in (MOST_LINES, 30)]
    assert found[0] == exact
    assert exact.is_exact
    assert not found[1].is_exact
    assert found[1].lines < exact.lines
    assert 0 < found[1].value <= exact.value
