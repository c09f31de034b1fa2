"""Simulation: what is drawn, counted and reported."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import chi2

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.small_world import small_world
from meshwright.overlay import design
from meshwright.smallworld.methods import chord_fingers, random_ring
from meshwright.smallworld.routing.protocols import ROUTINGS, router
from meshwright.smallworld.routing.simulate import new_draws, simulate, simulate_range
from meshwright.smallworld.routing.trace import trace
from tests.strategies import instance_of

SURE = 1e-6


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(5)
    interest = {v: set(rng.choice(12, size=4, replace=False).tolist()) for v in range(60)}
    instance = instance_of(interest, 13)  # topic 12 has no subscriber
    return small_world(instance, random_ring(60, 2), chord_fingers(60), method="none", seed=2)


def test_tables_have_the_columns_of_the_dataset(world):
    run = simulate(world, "pie", publications=50, seed=3)
    assert {name: str(kind) for name, kind in zip(*_schema(run.publications), strict=True)} == {
        "topic": "int32",
        "publisher": "int32",
        "deliveries": "int32",
        "missed": "int32",
        "overhead": "int32",
        "hops_mean": "double",
        "hops_max": "int32",
    }
    assert run.publications.num_rows == 50
    assert run.load.column_names == ["node", "sent", "received"]
    assert run.load.num_rows == 60
    assert (run.routing, run.seed, run.overlay) == ("pie", 3, world)
    ways = {"direction": "one", "match": "fingers"}
    assert run.parameters == {"publications": 50, "weighted": False, **ways}


def _schema(table):
    return table.schema.names, table.schema.types


@pytest.mark.parametrize("routing", ROUTINGS)
def test_any_partitioning_gives_the_same_publications_and_load(world, routing):
    ready, draws = router(world, routing), new_draws(world.instance)
    whole = simulate_range(ready, draws, 0, 40, 9)
    parts = [simulate_range(ready, draws, *cut, 9) for cut in ((0, 7), (7, 7), (7, 39), (39, 40))]
    for name in ("topics", "publishers"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        assert joined.tolist() == getattr(whole, name).tolist()
    assert np.concatenate([p.tally.counts for p in parts]).tolist() == whole.tally.counts.tolist()
    assert sum(p.tally.sent for p in parts).tolist() == whole.tally.sent.tolist()
    assert sum(p.tally.received for p in parts).tolist() == whole.tally.received.tolist()


def test_all_overlays_and_protocols_are_given_the_same_publications(world):
    other = small_world(world.instance, random_ring(60, 8), chord_fingers(60), method="none")
    runs = [simulate(w, r, publications=30) for w in (world, other) for r in ROUTINGS]
    columns = [run.publications.select(["topic", "publisher"]).to_pylist() for run in runs]
    assert all(column == columns[0] for column in columns)


def test_a_router_and_its_draws_can_be_shipped(world):
    for routing in ROUTINGS:
        ready, draws = router(world, routing), new_draws(world.instance)
        shipped = pickle.loads(pickle.dumps((ready, draws)))
        here, there = simulate_range(ready, draws, 0, 9, 1), simulate_range(*shipped, 0, 9, 1)
        assert here.tally.counts.tolist() == there.tally.counts.tolist()


@pytest.mark.parametrize("routing", ROUTINGS)
def test_totals_are_the_sums_of_the_rows(world, routing):
    run = simulate(world, routing, publications=80, seed=4)
    rows = run.publications.to_pylist()
    for name in ("deliveries", "missed", "overhead"):
        assert run.totals[name] == sum(row[name] for row in rows)
    hops = sum(row["hops_mean"] * row["deliveries"] for row in rows if row["deliveries"])
    assert run.totals["hops_mean"] == pytest.approx(hops / run.totals["deliveries"])
    assert run.totals["hops_max"] == max(row["hops_max"] or 0 for row in rows)
    sent, received = run.load["sent"].to_numpy(), run.load["received"].to_numpy()
    assert run.totals["messages"] == sent.sum() == received.sum()
    assert run.totals["sent_max"] == sent.max()
    assert run.totals["received_stdev"] == pytest.approx(received.std())
    assert run.totals["deliveries"] + run.totals["overhead"] <= run.totals["messages"]


def test_a_topic_with_one_subscriber_is_a_publication_without_hops():
    instance = Instance.from_pairs([("a", "x")], nodes=["a", "b", "c"])
    lone = small_world(instance, [0, 1, 2], chord_fingers(3), method="none")
    for routing in ("po", "pal", "pie", "tree"):
        run = simulate(lone, routing, publications=2)
        assert run.publications.to_pylist() == 2 * [
            {
                "topic": 0,
                "publisher": 0,
                "deliveries": 0,
                "missed": 0,
                "overhead": 0,
                "hops_mean": None,
                "hops_max": None,
            }
        ]
        assert run.totals["hops_mean"] is None


def test_one_node_alone_publishes_to_nobody():
    instance = Instance.from_pairs([("a", "x")])
    alone = small_world(instance, [0], chord_fingers(1), method="none")
    for routing in ROUTINGS:
        assert simulate(alone, routing, publications=3).totals["messages"] == 0


def test_a_partial_overlay_misses_those_out_of_reach():
    instance = instance_of({v: {0} for v in range(6)})
    overlay = design(instance, "gpa", max_edges=3)
    run = simulate(overlay, publications=200)
    assert run.routing == "tree"  # it has no ring
    rows = run.publications.to_pylist()
    assert run.totals["missed"] > 0
    assert all(row["deliveries"] + row["missed"] == 5 for row in rows)
    assert run.totals["overhead"] == 0


def test_topics_and_publishers_are_drawn_uniformly(world):
    run = simulate(world, "tree", publications=24_000, seed=11)
    topics = np.bincount(run.publications["topic"].to_numpy(), minlength=13)
    assert topics[12] == 0
    assert _fits(topics[:12], np.full(12, 2000))
    of_one = run.publications.filter(np.asarray(run.publications["topic"]) == 0)
    nodes = np.bincount(of_one["publisher"].to_numpy(), minlength=60)
    wanting = [v for v in range(60) if 0 in world.instance.topics_of(v)]
    assert nodes.sum() == nodes[wanting].sum()
    assert _fits(nodes[wanting], np.full(len(wanting), nodes.sum() / len(wanting)))


def test_weights_decide_how_often_topics_are_drawn(world):
    names = world.instance.topic_names
    weights = {names[0]: 3.0, names[5]: 1.0, names[12]: 100.0}
    run = simulate(world, "tree", publications=8000, weights=weights)
    topics = np.bincount(run.publications["topic"].to_numpy(), minlength=13)
    assert topics.sum() == topics[0] + topics[5]
    assert _fits(topics[[0, 5]], np.array([6000, 2000]))
    listed = simulate(
        world, "tree", publications=8000, weights=[3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 100]
    )
    assert listed.publications.equals(run.publications)
    assert run.parameters["weighted"]


def _fits(counts, expected):
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1) > SURE


def test_what_cannot_be_simulated_is_refused(world):
    with pytest.raises(InputError, match="unknown routing 'pye'; did you mean 'pie'"):
        simulate(world, "pye")
    with pytest.raises(InputError, match="pie routes on small worlds, and a gm overlay has no"):
        simulate(design(world.instance, "gm", certify=False), "pie")
    with pytest.raises(InputError, match="unknown direction 'bot'; did you mean 'both'"):
        simulate(world, direction="bot")
    with pytest.raises(InputError, match="unknown match 'all'"):
        simulate(world, direction="both", match="all")
    with pytest.raises(InputError, match="uses links in both directions; give direction 'both'"):
        trace(world, 0, 0, match="neighbours")
    with pytest.raises(InputError, match="publications is -1"):
        simulate(world, publications=-1)
    with pytest.raises(InputError, match="seed is 'x'"):
        simulate(world, seed="x")
    with pytest.raises(InputError, match="nothing to publish"):
        simulate(world, weights=np.zeros(13))
    with pytest.raises(InputError, match="1 unknown topics, as 'nothing'"):
        simulate(world, weights={"nothing": 1.0})
    with pytest.raises(InputError, match="give one for each of 13"):
        simulate(world, weights=[1.0])
    with pytest.raises(InputError, match="finite and not below 0"):
        simulate(world, weights=np.full(13, -1.0))
    with pytest.raises(InputError, match="topic is 13; give an id from 0 to 12"):
        trace(world, 13, 0)
    with pytest.raises(InputError, match="publisher is -1; give an id from 0 to 59"):
        trace(world, 0, -1)


def test_links_in_both_directions_shorten_the_routes_to_a_rendezvous(world):
    one, both = (
        simulate(world, "scribe", publications=300, direction=direction).totals["hops_mean"]
        for direction in ("one", "both")
    )
    assert both < one


def test_nothing_published_is_an_empty_run(world):
    run = simulate(world, publications=0)
    assert run.publications.num_rows == 0
    assert run.totals["messages"] == 0


def test_simulation_in_memory_starts_no_jvm():
    code = (
        "import sys\n"
        "from meshwright.overlay import design\n"
        "from meshwright.smallworld.routing.simulate import simulate\n"
        "from meshwright.model.instance import Instance\n"
        "simulate(design(Instance.from_pairs([('a', 'x'), ('b', 'x')]), 'gm'), 'tree')\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
