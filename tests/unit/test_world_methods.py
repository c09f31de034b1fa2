"""The four small worlds by name: what they are made of, what they take, what they refuse."""

import numpy as np
import pytest

import meshwright as mw
from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.small_world import violations
from meshwright.overlay.methods import METHODS, SMALL_WORLDS
from meshwright.smallworld.greedy import gswico_fingers, gswico_ring
from meshwright.smallworld.kernels.worlds import EMPTY
from meshwright.smallworld.methods import chord_fingers, filled, random_fingers, random_ring

SIZES = [1, 2, 3, 5, 8, 21]


def instance_of_size(n, n_topics=9):
    rng = np.random.default_rng(n)
    wants = {f"n{v:02}": set(rng.integers(0, n_topics, 4).tolist()) for v in range(n)}
    pairs = [(node, f"t{t}") for node, topics in wants.items() for t in topics if node != "n01"]
    return Instance.from_pairs(pairs, nodes=list(wants))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("method", SMALL_WORLDS)
def test_every_world_of_every_size_has_property_1(method, n):
    world = mw.design(instance_of_size(n), method)
    assert isinstance(world, mw.SmallWorld)
    assert violations(world.ring, world.fingers, world.instance.node_names) == []
    assert world.method == method
    assert world.bounds is not None


@pytest.mark.parametrize(
    ("method", "options", "ring", "fingers"),
    [
        ("sl", {}, "gain", "gain"),
        ("sl", {"fill": "random"}, "gain", "gain, then random"),
        ("s", {}, "gain", "chord"),
        ("s", {"fingers": "random"}, "gain", "random"),
        ("l", {}, "random", "gain"),
        ("l", {"fill": "random"}, "random", "gain, then random"),
        ("none", {}, "random", "chord"),
        ("none", {"fingers": "random"}, "random", "random"),
    ],
)
def test_each_world_is_made_of_the_parts_of_table_2(method, options, ring, fingers):
    instance, n, seed = instance_of_size(21), 21, 7
    world = mw.design(instance, method, seed=seed, certify=False, **options)
    order = gswico_ring(instance) if ring == "gain" else random_ring(n, seed)
    slots = gswico_fingers(instance, order)
    assert (slots == EMPTY).any()  # the two ways to fill them differ
    parts = {
        "gain": filled(instance, order, slots.copy(), "interest", seed),
        "gain, then random": np.where(slots == EMPTY, random_fingers(n, seed), slots),
        "chord": chord_fingers(n),
        "random": random_fingers(n, seed),
    }
    assert np.array_equal(world.ring, order)
    assert np.array_equal(world.fingers[order], order[parts[fingers]])
    assert world.seed == seed
    assert world.bounds is None


def test_what_is_chosen_by_gain_supports_more():
    support = {
        m: mw.design(instance_of_size(40, 60), m, certify=False).support for m in SMALL_WORLDS
    }
    assert support["sl"] == max(support.values())
    assert support["none"] == min(support.values())


def test_the_share_of_joins_is_told_and_grows():
    reported = []
    world = mw.design(instance_of_size(21), "sl", on_progress=reported.append, certify=False)
    assert reported == sorted(reported)
    assert reported[-1] == pytest.approx(world.support, abs=0.05)


def test_an_instance_without_nodes_is_an_empty_world():
    world = mw.design(Instance.from_pairs([]), "sl")
    assert world.ring.tolist() == []
    assert world.n_edges == 0


def test_design_knows_all_methods_and_overlays_stay_what_they_were():
    assert list(METHODS)[-4:] == list(SMALL_WORLDS)
    assert not isinstance(mw.design(instance_of_size(5), "gm"), mw.SmallWorld)
    assert mw.design(instance_of_size(5), "gpa", average_degree=1.0).n_edges == 2


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("sls", {}, r"unknown method 'sls'; did you mean 'sl'.*full-mesh, sl, s, l, none"),
        ("sl", {"fingers": "random"}, "sl does not take fingers; it takes fill, seed"),
        ("l", {"fingers": "chord"}, "l does not take fingers"),
        ("s", {"fingers": "cord"}, "unknown fingers 'cord'; did you mean 'chord'"),
        ("l", {"fill": "rand"}, "unknown fill 'rand'"),
        ("s", {"fill": "random"}, "s does not take fill; it takes fingers, seed"),
        ("none", {"seed": -1}, "seed is -1"),
        ("none", {"max_degree": 3}, "none does not take max_degree; it takes fingers, seed"),
        ("sl", {"average_degree": 3.0}, "sl takes no budget; leave out average_degree"),
        ("s", {"budget_ratio": 0.5}, "s takes no budget; leave out budget_ratio"),
        ("gm", {"fingers": "chord"}, "gm does not take fingers"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(method, options, message):
    with pytest.raises(InputError, match=message):
        mw.design(instance_of_size(5), method, **options)
