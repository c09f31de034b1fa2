"""The trees of the plan against their naive twins."""

from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from meshwright.deploy import Route
from meshwright.deploy.failures import lost_on_tree
from meshwright.deploy.kernels.trees import Loads, balanced_tree, shallow_tree
from meshwright.deploy.trees import new_graph
from tests.naive import deployment as naive


@st.composite
def graphs(draw):
    """A connected graph on a few nodes, and a forest among its edges."""
    n = draw(st.integers(1, 8))
    pairs = list(combinations(range(n), 2))
    drawn = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    spine = {tuple(sorted((draw(st.integers(0, v - 1)), v))) for v in range(1, n)}
    edges = sorted(drawn | spine)
    forest = nx.Graph()
    forest.add_nodes_from(range(n))
    forced = set()
    for edge in draw(st.permutations(edges)):
        if draw(st.integers(0, 3)) == 0 and not nx.has_path(forest, *edge):
            forest.add_edge(*edge)
            forced.add(edge)
    return n, edges, sorted(forced)


def graph_of(n, edges, forced):
    u = np.array([u for u, _ in edges], np.int64)
    v = np.array([v for _, v in edges], np.int64)
    return new_graph(n, u, v, np.array([edge in forced for edge in edges], np.bool_))


def search_of(n, edges, forced):
    found = shallow_tree(graph_of(n, edges, forced), np.zeros(n, np.int64))
    return found.via, found.depth, found.order


def parents(edges, via):
    return {v: sum(edges[e]) - v for v, e in enumerate(via.tolist()) if e >= 0}


@given(graphs())
def test_the_shallow_tree_equals_its_naive_twin(drawn):
    n, edges, forced = drawn
    via, depth, order = search_of(n, edges, forced)
    ref_depth, ref = naive.shallow(range(n), edges, forced)
    assert parents(edges, via) == ref
    assert order.tolist() == list(ref_depth)
    assert dict(enumerate(depth.tolist())) == ref_depth
    assert set(forced) <= {tuple(sorted(edge)) for edge in ref.items()}


@given(graphs())
def test_no_tree_is_shallower_than_the_shallow_one(drawn):
    n, edges, _ = drawn
    _, depth, _ = search_of(n, edges, [])
    assert depth.max() == (nx.radius(nx.Graph(edges)) if edges else 0)


@given(graphs(), st.lists(st.integers(0, 3), min_size=28, max_size=28))
def test_the_balanced_tree_equals_its_naive_twin(drawn, loads):
    n, edges, forced = drawn
    link_load = np.array(loads[: len(edges)], np.int64)
    broker_load = np.array(loads[-n:], np.int64)
    ref_links = dict(zip(edges, link_load.tolist(), strict=True))
    ref_brokers = dict(enumerate(broker_load.tolist()))
    ref = naive.balanced(range(n), edges, ref_links, ref_brokers, forced)
    loads = Loads(np.arange(len(edges)), link_load, np.arange(n), broker_load)
    via = balanced_tree(graph_of(n, edges, forced), loads)
    assert parents(edges, via) == ref
    assert list(ref_links.values()) == link_load.tolist()
    assert list(ref_brokers.values()) == broker_load.tolist()
    tree = nx.Graph(list(ref.items()))
    assert len(tree) in (0, n)
    assert nx.is_forest(tree) if len(tree) else n == 1
    assert set(forced) <= {tuple(sorted(edge)) for edge in ref.items()}


@given(graphs())
def test_a_trees_depth_is_its_radius(drawn):
    _, edges, _ = drawn
    tree = sorted(nx.minimum_spanning_edges(nx.Graph(edges), data=False)) if edges else []
    links = tuple((f"n{u}", f"n{v}") for u, v in tree)
    route = Route("t", "t", "t", (), (), (), links)
    assert route.depth == (nx.radius(nx.Graph(tree)) if tree else 0)


@given(graphs(), st.randoms(use_true_random=False))
def test_what_a_failure_parts_equals_counting_paths_without_the_broker(drawn, some):
    n, edges, _ = drawn
    kept = [edge for edge in edges if some.random() < 0.8]
    roles = [[f"{v}" for v in range(n) if some.random() < 0.6] for _ in range(2)]
    subscribers, publishers = map(tuple, roles)
    route = Route(
        "t", "t", "t", subscribers, publishers, (), tuple((f"{u}", f"{v}") for u, v in kept)
    )
    members, lost = lost_on_tree(route)
    for i, node in enumerate(members):
        ids = [[int(v) for v in role] for role in (publishers, subscribers)]
        assert tuple(lost[:, i].tolist()) == naive.lost_without(kept, *ids, int(node))
