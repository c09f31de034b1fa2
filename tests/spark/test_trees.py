"""The trees of the one-pass bound on Spark: the same edges as in this process."""

import numpy as np
import pytest

from meshwright.model.instance import Instance
from meshwright.model.kernels.components import new_components
from meshwright.overlay.bounds.one_pass import histogram_here
from meshwright.overlay.greedy import spark_trees
from meshwright.overlay.greedy.rule import rank_nodes, reorder_nodes
from meshwright.overlay.greedy.spark_scans import ScanRounds


@pytest.fixture(scope="module")
def instance():
    rng = np.random.default_rng(5)
    pairs = {(f"n{v:03}", f"t{t:02}") for v in range(300) for t in rng.choice(40, 5)}
    return Instance.from_pairs(pairs)


@pytest.mark.parametrize("task_positions", [2_000, 20_000])
def test_tasks_find_the_trees_that_this_process_finds(
    spark, tmp_path, instance, monkeypatch, task_positions
):
    rounds = ScanRounds(spark, tmp_path, task_positions=task_positions, local_positions=3_000)
    ids = rank_nodes(instance)
    rounds.open_scan(new_components(*reorder_nodes(instance, ids), instance.n_topics), 1)
    here, n_here = spark_trees.pick_here, 0

    def counted(c, picks):
        nonlocal n_here
        n_here += 1
        here(c, picks)

    monkeypatch.setattr(spark_trees, "pick_here", counted)
    found = spark_trees.histogram_on_spark(rounds, instance)
    assert found.tolist() == histogram_here(instance).tolist()
    assert found.sum() == instance.n_subscriptions - instance.n_topics
    places = [path for path in tmp_path.iterdir() if path.name.startswith("trees-")]
    assert places
    assert n_here  # the last round looks at few nodes
    assert not any(file for place in places for file in place.iterdir())  # nothing is left
