import networkx as nx
import numpy as np
import pytest

from meshwright.errors import InputError
from meshwright.storage.digest import unpack
from meshwright.workload.generate import piece_firsts, piece_of_work
from meshwright.workload.social_law import SocialModel, degree_classes, law_of, n_communities

NEAR = 0.02  # of the mean degree


def subscriptions(model: SocialModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and topics that all pieces of work give, each pair once."""
    law = law_of(model)
    firsts = piece_firsts(law)
    keys = np.unique(np.concatenate([piece_of_work(law, firsts, i) for i in range(firsts[-1])]))
    nodes, topics = unpack(keys)
    return nodes[nodes != topics], topics[nodes != topics]


def clustering(model: SocialModel) -> float:
    pairs = zip(*(ends.tolist() for ends in subscriptions(model)), strict=True)
    return nx.average_clustering(nx.Graph(pairs))


@pytest.mark.parametrize(
    "options",
    [
        {"nodes": 5_000, "mean_degree": 18.87},
        {"nodes": 5_000, "mean_degree": 18.87, "directed": True},
        {"nodes": 5_000, "mean_degree": 20.0, "exponent": 2.2, "mixing": 0.0, "density": 0.9},
        {"nodes": 20_000, "mean_degree": 5.0, "exponent": 2.5, "mixing": 1.0, "max_degree": 400},
        {"nodes": 5_000, "mean_degree": 20.0, "communities": 20},
        {"nodes": 5_000, "mean_degree": 20.0, "communities": 2_000, "seed": 9},
    ],
)
def test_the_mean_degree_is_the_one_asked_for(options):
    nodes, _ = subscriptions(SocialModel(**options))
    assert len(nodes) / options["nodes"] == pytest.approx(options["mean_degree"], rel=NEAR)


def test_each_user_has_about_the_degree_that_the_law_expects():
    model = SocialModel(nodes=20_000, mean_degree=15.0, exponent=2.5)
    law = law_of(model)
    nodes, _ = subscriptions(model)
    degrees = np.sort(np.bincount(nodes, minlength=model.nodes))
    expected = np.sort(np.repeat(law.user_weight, np.diff(law.user_first_rank)))
    for share in (0.5, 0.9, 0.99, 0.999):
        at = int(share * model.nodes)
        assert degrees[at] == pytest.approx(expected[at], rel=0.1)
    assert expected[-1] <= model.most_relations


def test_large_degrees_follow_the_power_law_of_the_exponent():
    degrees, users = degree_classes(10_000_000, 20.0, 2.5, 1e9)
    above = users[::-1].cumsum()[::-1] / users.sum()
    at = [int(np.searchsorted(degrees, x)) for x in (2_000, 20_000)]
    slope = np.diff(np.log(above[at])) / np.diff(np.log(degrees[at]))
    assert slope == pytest.approx(1 - 2.5, abs=0.05)


def test_friends_subscribe_to_each_other():
    nodes, topics = subscriptions(SocialModel(nodes=1_000, mean_degree=12.0))
    pairs = set(zip(nodes.tolist(), topics.tolist(), strict=True))
    assert pairs == {(v, u) for u, v in pairs}


def test_followers_are_returned_as_often_as_asked_and_gather_at_a_few():
    model = SocialModel(nodes=10_000, mean_degree=20.0, directed=True, reciprocity=0.3)
    nodes, topics = subscriptions(model)
    pairs = set(zip(nodes.tolist(), topics.tolist(), strict=True))
    assert sum((v, u) in pairs for u, v in pairs) / len(pairs) == pytest.approx(0.3, abs=NEAR)
    assert np.bincount(topics).max() > 2 * np.bincount(nodes).max()


def test_communities_cluster_and_mixing_undoes_it():
    sizes = {"nodes": 3_000, "mean_degree": 15.0, "max_degree": 200}
    dense = clustering(SocialModel(**sizes, density=0.9, mixing=0.05))
    usual = clustering(SocialModel(**sizes))
    loose = clustering(SocialModel(**sizes, mixing=1.0))
    assert dense > 0.5 > usual > 0.2 > 0.06 > loose


@pytest.mark.parametrize("communities", [1, 40, 600, 3_000])
def test_there_are_about_as_many_communities_as_asked_for(communities):
    law = law_of(SocialModel(nodes=5_000, mean_degree=12.0, communities=communities))
    assert n_communities(law) == pytest.approx(communities, rel=0.1)
    assert law.size_first_place[-1] == law.user_first_place[-1] == law.window_first_place[-1]


def test_seeds_give_other_graphs_and_equal_ones_the_same():
    one, same, other = (
        subscriptions(SocialModel(nodes=500, mean_degree=8.0, seed=seed)) for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert len(one[0]) != len(other[0]) or not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 9}, r"nodes is 9; give 10 to"),
        ({"nodes": 2**31 - 1}, r"nodes is 2147483647"),
        ({"mean_degree": 0.0}, r"mean_degree is 0; give 0\.001 to 249\.75"),
        ({"mean_degree": float("nan")}, r"mean_degree is nan"),
        ({"mean_degree": 1e-320}, r"mean_degree is .*; give 0\.001 to 249"),
        (
            {"mean_degree": 30.0, "max_degree": 60},
            r"give 0\.001 to 15, a quarter of the largest degree",
        ),
        ({"exponent": 1.0}, r"exponent is 1\.0; give more than 1 and at most 100"),
        ({"max_degree": 1000}, r"max_degree is 1000; give 2 to 999"),
        ({"mixing": 1.5}, r"mixing is 1\.5; give a share between 0 and 1"),
        ({"reciprocity": 0.5}, r"reciprocity belongs to --directed"),
        ({"directed": True, "reciprocity": -0.1}, r"reciprocity is -0\.1"),
        ({"communities": 0}, r"communities is 0 and mixing 0\.3; give at least 1"),
        ({"communities": 5, "mixing": 1.0}, r"a mixing below 1"),
        ({"communities": 999_999}, r"communities is 999,999; 1,000 users .* make 1 to"),
        ({"largest_community": 9}, r"largest_community is 9; give 10 to 1,000"),
        ({"density": 0.99}, r"density is 0\.99; give 0\.08 to 0\.95"),
        ({"seed": -1}, r"seed is -1; give a whole number from 0"),
    ],
)
def test_graphs_that_cannot_be_are_refused(changes, message):
    good = {"nodes": 1_000, "mean_degree": 10.0}
    with pytest.raises(InputError, match=message):
        law_of(SocialModel(**{**good, **changes}))
