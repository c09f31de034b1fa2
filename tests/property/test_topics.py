"""How topics fare in an overlay, against NetworkX."""

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from meshwright.model.overlay import Overlay
from meshwright.overlay import design
from meshwright.overlay.kernels.topics import N_COLUMNS, evaluate_sub_overlay
from meshwright.overlay.topics import exact_up_to, topic_rows
from tests.reports import crowd
from tests.strategies import instance_of, interests


def naive_rows(overlay: Overlay) -> list[tuple[int, int, int, int, int]]:
    """For each topic its subscribers, links, components, the largest, and the diameter."""
    instance, rows = overlay.instance, []
    links = nx.Graph(overlay.edge_list())
    for t in range(instance.n_topics):
        members = [v for v in range(instance.n_nodes) if t in instance.topics_of(v)]
        graph = nx.Graph()
        graph.add_nodes_from(members)
        graph.add_edges_from(links.subgraph(members).edges)
        parts = [graph.subgraph(part) for part in nx.connected_components(graph)]
        rows.append(
            (
                len(members),
                graph.number_of_edges(),
                len(parts),
                max(map(len, parts), default=0),
                max(map(nx.diameter, parts), default=0),
            )
        )
    return rows


@given(interests(9, 5), st.sampled_from(["gm", "star", "ring-per-topic", "few"]))
def test_topics_are_told_as_the_naive_twin_tells_them(interest, method):
    instance = instance_of(interest)
    overlay = design(instance, "gpa", max_edges=2) if method == "few" else design(instance, method)
    found = topic_rows(overlay)
    rows = zip(
        found.subscribers, found.links, found.components, found.largest, found.diameter_low,
        strict=True,
    )  # fmt: skip
    assert [tuple(map(int, row)) for row in rows] == naive_rows(overlay)
    assert (found.diameter_low == found.diameter_high).all()


def test_diameters_that_cost_too_much_are_bounded_from_both_sides():
    overlay = design(crowd(120, 12, 4), "gm")
    exact = topic_rows(overlay)
    rough = topic_rows(overlay, most_steps=20_000)
    bounded = rough.diameter_low < rough.diameter_high
    assert bounded.any()
    assert not bounded.all()
    assert (rough.diameter_low <= exact.diameter_low).all()
    assert (exact.diameter_low <= rough.diameter_high).all()


def test_the_budget_of_searches_is_kept():
    sizes, links = np.array([4, 2, 3]), np.array([3, 1, 2])
    assert exact_up_to(sizes, links, 10_000) == 20_000
    assert exact_up_to(sizes, links, 8 + 21) == 3
    assert exact_up_to(sizes, links, 8) == 2


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 14))
    node = st.integers(0, n - 1)
    links = draw(st.lists(st.tuples(node, node), max_size=3 * n))
    return n, links


@given(graphs(), st.sampled_from([0, 3, 100]))
def test_a_diameter_is_exact_or_bounded_from_both_sides(drawn, exact_up_to):
    n, links = drawn
    one, other = (np.array([link[k] for link in links], np.int32) for k in (0, 1))
    row = np.zeros(N_COLUMNS, np.int64)
    evaluate_sub_overlay(np.ones(n, np.bool_), one, other, exact_up_to, row)
    components, largest, low, high = row.tolist()
    graph = nx.Graph(links)
    graph.add_nodes_from(range(n))
    parts = [graph.subgraph(part) for part in nx.connected_components(graph)]
    real = max(map(nx.diameter, parts))
    assert (components, largest) == (len(parts), max(map(len, parts)))
    assert low <= real <= high
    if largest <= exact_up_to or not links or nx.is_forest(nx.MultiGraph(links)):
        assert low == high
