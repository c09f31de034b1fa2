"""Onus, Richa, "Minimum Maximum-Degree Publish-Subscribe Overlay Network Design", ToN 2011.

The worked examples of sections III and VIII, with the numbers the paper states.
"""

import networkx as nx
import pytest

from meshwright.overlay import design
from tests.strategies import instance_of


def diameter(overlay, topic=0):
    instance = overlay.instance
    members = [v for v in range(instance.n_nodes) if topic in instance.topics_of(v)]
    graph = nx.Graph(overlay.edge_list())
    return nx.diameter(graph.subgraph(members))


def lemma_1(n):
    everything = set(range(n))
    return instance_of({0: everything, **{i: everything - {i} for i in range(1, n)}})


@pytest.mark.parametrize("n", [5, 8, 13])
def test_lemma_1_gm_gives_the_star_and_minmax_degree_2_with_n_edges(n):
    star = design(lemma_1(n), "gm", ties="id")
    assert star.edge_list() == [(0, v) for v in range(1, n)]
    assert star.max_degree == n - 1
    ring = design(lemma_1(n), "minmax")
    assert (ring.n_edges, ring.max_degree) == (n, 2)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_second_example_ties_decide_between_the_star_and_degree_n_plus_1(n):
    # u is node 0, then the u_i, then the v_ij.
    interest = {0: set(range(n * n))}
    for i in range(n):
        interest[1 + i] = {i * n + j for j in range(n)}
    for i in range(n):
        for j in range(n):
            interest[1 + n + i * n + j] = {i * n + j}
    instance = instance_of(interest)
    assert design(instance, "gm", ties="id").max_degree == n * n + n
    assert design(instance, "gm", ties="degree").max_degree == n + 1
    assert design(instance, "minmax").max_degree == n + 1


@pytest.mark.parametrize("method", ["gm", "minmax"])
@pytest.mark.parametrize("n", [2, 5, 12])
def test_lemma_6_one_topic_gives_a_path(method, n):
    overlay = design(instance_of({v: {0} for v in range(n)}), method)
    assert overlay.n_edges == n - 1
    assert overlay.max_degree <= 2
    assert diameter(overlay) == n - 1


@pytest.mark.parametrize("method", ["cd", "cd1", "cd2"])
def test_example_1_one_star_suffices(method):
    overlay = design(instance_of({v: {1, 2} for v in range(9)}), method)
    assert overlay.n_edges == 8


def test_example_2_cd_finds_the_one_star_at_u():
    interest = {0: {1, 2, 3, 4, 5}}
    for group, topics in enumerate(({1, 2}, {2, 3}, {3, 4}, {4, 5})):
        for i in range(4):
            interest[1 + 4 * group + i] = set(topics)
    overlay = design(instance_of(interest), "cd")
    assert overlay.edge_list() == [(0, v) for v in range(1, 17)]


def example_3(n):
    """u, v, w and four groups of (n - 3) / 4."""
    size = (n - 3) // 4
    interest = {0: {1, 2, 3, 4}, 1: {1, 5, 9, 2, 6, 10}, 2: {3, 7, 11, 4, 8, 12}}
    for group in range(4):
        for i in range(size):
            interest[3 + group * size + i] = {group + 1, group + 5, group + 9}
    return instance_of(interest)


@pytest.mark.parametrize("n", [11, 15, 23])
def test_example_3_cd_takes_2n_minus_4_edges_and_cd1_n_minus_1(n):
    assert design(example_3(n), "cd").n_edges == 2 * n - 4
    assert design(example_3(n), "cd1").n_edges == n - 1


@pytest.mark.parametrize("n", [13, 19, 31])
def test_example_4_cd_and_cd1_take_half_as_many_edges_more_than_cd2(n):
    size = (n - 1) // 6
    interest = {0: {1, 2, 3}}
    for group in range(3):
        for i in range(size):
            interest[1 + group * size + i] = {group + 1, group + 4}
            interest[1 + (3 + group) * size + i] = {group + 4}
    instance = instance_of(interest)
    assert design(instance, "cd").n_edges == 3 * (n - 1) // 2 - 3
    assert design(instance, "cd1").n_edges == 3 * (n - 1) // 2 - 3
    assert design(instance, "cd2").n_edges == n - 1


@pytest.mark.parametrize("n", [8, 11, 20])
def test_first_counter_example_cd_beats_cd1(n):
    # u, v1, v2, w, then u_1 .. u_(n-4); topics x_1 .. x_n are 0 .. n-1, y is n, z is n + 1.
    interest = {0: {0, n, n + 1}, 1: set(range(n)), 2: set(range(n)), 3: {n + 1}}
    interest |= {4 + i: {0, n} for i in range(n - 4)}
    instance = instance_of(interest)
    assert design(instance, "cd1").n_edges == 2 * n - 5
    assert design(instance, "cd").n_edges == n


@pytest.mark.parametrize("n", [3, 5, 8])
def test_second_counter_example_cd_and_cd1_beat_cd2(n):
    # w, v_1 .. v_n, u_1 .. u_n; topics x, y, t are 0, 1, 2 and z_i is 2 + i.
    interest = {0: set(range(3 + n))}
    interest |= {1 + i: {0, 1, 3 + i} for i in range(n)}
    interest |= {1 + n + i: {2} for i in range(n)}
    instance = instance_of(interest)
    assert design(instance, "cd2").n_edges == 3 * n - 1
    assert design(instance, "cd").n_edges == 2 * n
    assert design(instance, "cd1").n_edges == 2 * n


@pytest.mark.parametrize("method", ["cd", "cd1", "cd2"])
def test_every_topic_has_diameter_2_at_most(method):
    overlay = design(example_3(23), method)
    assert max(diameter(overlay, topic) for topic in range(1, 13)) == 2
