"""Bounds by prices: equal to their twins, and below every complete overlay for any prices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.model.kernels.components import new_components
from meshwright.overlay.bounds import one_pass, prices
from meshwright.overlay.bounds.kernels.partitions import lower_excess
from meshwright.overlay.bounds.prices import UNIT, Effort, PriceTrees, make_table
from meshwright.overlay.bounds.program import bound_by_program
from tests.naive import prices as naive
from tests.naive.optimum import best_by_degree, best_by_edges
from tests.strategies import instance_of, interests

SMALL = interests(max_nodes=5, max_topics=5)


def found(bound):
    return bound.least, bound.most_joins, bound.rounds


@given(interests(), st.integers(0, 8), st.integers(0, 12), st.booleans())
def test_the_bound_on_links_equals_its_naive_twin(interest, n_links, rounds, has_target):
    target = max(n_links, 1) if has_target else None
    ref = naive.bound_links(interest, n_links, rounds, target)
    trees = PriceTrees(make_table(instance_of(interest)))
    assert ref == found(prices.bound_links(trees, n_links, Effort(rounds), target=target))


@given(interests(), st.integers(0, 4), st.integers(0, 12), st.booleans())
def test_the_bound_on_the_degree_equals_its_naive_twin(interest, degree, rounds, has_target):
    target = max(degree, 1) if has_target else None
    ref = naive.bound_degree(interest, degree, rounds, target)
    trees = PriceTrees(make_table(instance_of(interest)))
    assert ref == found(prices.bound_degree(trees, degree, Effort(rounds), target=target))


@given(interests())
def test_partners_are_the_same_by_walks_and_by_words(interest):
    instance = instance_of(interest)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for cost in (0, 1 << 40):
            patch.setattr(one_pass, "WORD_COST", cost)
            components = new_components(instance.indptr, instance.topics, instance.n_topics)
            has_pairs = instance.n_nodes * instance.n_topics > 0
            assert (one_pass.topic_words(components) is None) == (cost > 0 and has_pairs)
            found.append(one_pass.tree_histogram(components).tolist())
    assert found[0] == found[1]


@given(interests(), st.integers(0, 8))
def test_one_pass_by_rows_gives_the_links_of_equal_shares(interest, n_links):
    instance = instance_of(interest)
    components = new_components(instance.indptr, instance.topics, instance.n_topics)
    histogram = one_pass.tree_histogram(components)
    bound = prices.bound_links(PriceTrees(make_table(instance)), n_links, Effort(0))
    assert one_pass.links_by_histogram(histogram) == bound.least
    # Shares of both are rounded down, those of the table more: then more edges seem to fit.
    assert one_pass.joins_by_histogram(histogram, n_links) <= bound.most_joins


@given(SMALL, st.data())
def test_any_prices_give_bounds(interest, data):
    instance = instance_of(interest)
    trees = PriceTrees(make_table(instance))
    drawn = data.draw(
        st.lists(
            st.sampled_from([0, 1, UNIT // 3, UNIT]),
            min_size=len(trees.table.share),
            max_size=len(trees.table.share),
        )
    )
    trees.table.share[:] = drawn
    lower_excess(trees.table, np.empty(instance.n_topics + 1, np.int64))
    by_edges, by_degree = best_by_edges(interest), best_by_degree(interest)
    fewest, lowest = least_for_all(by_edges), least_for_all(by_degree)
    assert trees.grow(np.ones(instance.n_nodes, np.int64)) <= fewest * 2 * UNIT
    for m, joins in by_edges.items():
        assert trees.most_joins(m * 2 * UNIT) >= joins
    price = np.array(data.draw(st.lists(st.integers(0, 5), min_size=5, max_size=5)), np.int64)
    price = price[: instance.n_nodes]
    whole = int(price.sum()) * UNIT
    assert trees.grow(price) <= lowest * whole
    for d, joins in by_degree.items():
        assert trees.most_joins(d * whole) >= joins


def least_for_all(best: dict[int, int]) -> int:
    """Return the smallest budget with which the most joins can be had."""
    most = max(best.values(), default=0)
    return min((budget for budget, joins in best.items() if joins == most), default=0)


@given(SMALL)
def test_the_program_bounds_links(interest):
    fewest = least_for_all(best_by_edges(interest))
    least = bound_by_program(instance_of(interest), Effort(20), target=fewest).least
    assert least <= fewest
    ascent = prices.bound_links(PriceTrees(make_table(instance_of(interest))), 0, Effort(20))
    assert least >= ascent.least  # its prices are the best there are, up to an error of the solver
