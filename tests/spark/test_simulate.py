"""Simulation on Spark: the same run as in memory, for any partitioning."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from meshwright.errors import InputError
from meshwright.model.small_world import small_world
from meshwright.overlay import design
from meshwright.overlay.dataset import write_overlay
from meshwright.smallworld.methods import chord_fingers, random_ring
from meshwright.smallworld.routing.simulate import BLOCK, simulate
from meshwright.smallworld.routing.spark_simulation import simulate_on_spark
from meshwright.storage import open_dataset
from tests.datasets import read_table, write_instance
from tests.strategies import instance_of

WAY = {"direction": "both", "match": "neighbours"}
MANY = 4 * BLOCK + 5  # five blocks, the last one short


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(5)
    interest = {v: set(rng.choice(12, size=4, replace=False).tolist()) for v in range(60)}
    instance = instance_of(interest, 13)  # topic 12 has no subscriber
    return small_world(instance, random_ring(60, 2), chord_fingers(60), method="none", seed=2)


def test_a_run_is_the_one_in_memory_for_any_partitioning(spark, tmp_path, world):
    ref = simulate(world, "pie", publications=MANY, seed=7)
    for partitions in (1, 2, 5):
        out = tmp_path / str(partitions)
        manifest = simulate_on_spark(
            spark, world, out, routing="pie", publications=MANY, seed=7, partitions=partitions
        )
        assert manifest["digest"] == ref.digest
        assert manifest["totals"] == ref.totals
        assert len(list((out / "publications.parquet").glob("*.parquet"))) == partitions
        assert read_table(out, "publications").equals(ref.publications)
        assert read_table(out, "load").equals(ref.load)
        assert open_dataset(out, "run").rows == {"publications": MANY, "load": 60}
        assert not list(out.glob("_*"))


def test_weights_and_another_routing_on_the_same_publications(spark, tmp_path, world):
    names = world.instance.topic_names
    weights = {names[0]: 3.0, names[5]: 1.0}
    manifest = simulate_on_spark(
        spark,
        world,
        tmp_path / "run",
        routing="po",
        publications=BLOCK + 1,
        weights=weights,
        against="scribe",
        **WAY,
    )
    ref = simulate(world, "po", publications=BLOCK + 1, weights=weights, **WAY)
    other = simulate(world, "scribe", publications=BLOCK + 1, weights=weights, **WAY)
    assert manifest["digest"] == ref.digest
    assert manifest["parameters"] == ref.parameters
    assert manifest["against"]["totals"] == other.totals
    ratios = manifest["against"]["ratios"]
    assert ratios["overhead"] == ref.totals["overhead"] / other.totals["overhead"]
    assert ratios["hops_mean"] == ref.totals["hops_mean"] / other.totals["hops_mean"]
    most = manifest["busiest"][0]
    assert most["sent"] + most["received"] == ref.totals["load_max"]


def test_overlays_are_read_from_their_datasets(spark, tmp_path, world):
    workload = write_instance(world.instance, tmp_path / "workload")
    plan = design(world.instance, "star", certify=False)
    for overlay, routing in ((world, "iscribe"), (plan, "tree")):
        write_overlay(overlay, tmp_path / routing, workload)
        out = tmp_path / f"{routing}-run"
        manifest = simulate_on_spark(spark, tmp_path / routing, out, routing=routing)
        assert manifest["digest"] == simulate(overlay, routing).digest
        assert manifest["overlay_digest"] == overlay.digest
        assert manifest["overlay"] == str(tmp_path / routing)
        assert json.loads((out / "manifest.json").read_text())["kind"] == "run"


def test_topics_nobody_shares_have_no_hops_and_ratios_nothing_to_divide(spark, tmp_path):
    lone = small_world(
        instance_of({v: {v} for v in range(3)}), range(3), chord_fingers(3), method="x"
    )
    manifest = simulate_on_spark(spark, lone, tmp_path / "run", routing="po", against="tree")
    assert manifest["totals"]["hops_mean"] is None
    assert set(manifest["against"]["ratios"].values()) == {None}
    rows = pq.read_table(tmp_path / "run" / "publications.parquet")
    assert rows.column("hops_max").null_count == rows.num_rows == 1000


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"publications": 0}, "publications is 0; give 1 to 2,147,483,647 of them"),
        ({"routing": "pye"}, "unknown routing 'pye'; did you mean 'pie'"),
        ({"against": "scrib"}, "unknown routing 'scrib'; did you mean 'scribe'"),
        ({"against": "pie"}, "cannot compare pie with itself"),
        ({"seed": -1}, "seed is -1"),
        ({"weights": {"nothing": 1.0}}, "1 unknown topics, as 'nothing'"),
        ({"weights": {"topic-12": 1.0}}, "nothing to publish"),
    ],
)
def test_what_cannot_be_simulated_is_refused_and_leaves_nothing(
    spark, tmp_path, world, changed, message
):
    with pytest.raises(InputError, match=message):
        simulate_on_spark(spark, world, tmp_path / "run", **changed)
    assert list(tmp_path.iterdir()) == []


def test_small_worlds_are_asked_for_where_they_are_needed(spark, tmp_path, world):
    plan = design(world.instance, "star", certify=False)
    with pytest.raises(InputError, match="pie routes on small worlds, and a star overlay has no"):
        simulate_on_spark(spark, plan, tmp_path / "run")
    with pytest.raises(InputError, match="scribe routes on small worlds"):
        simulate_on_spark(spark, plan, tmp_path / "run", routing="tree", against="scribe")
