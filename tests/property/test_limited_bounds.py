"""Bounds of designs with leaves and limits against the true optimum, by looking at all sets."""

from itertools import combinations

from hypothesis import given

from meshwright.overlay.bounds import find_bounds, links_needed
from meshwright.overlay.greedy.key_order import greedy_edges
from meshwright.overlay.greedy.rule import Rule
from tests.naive import limited
from tests.naive.overlays import degrees
from tests.property.test_limited_twins import restrictions_of
from tests.strategies import draws, instance_of, interests, rules_for

SOME = draws(60)
SMALL = interests(4, 4).flatmap(rules_for)


def plans(interest, rules):
    """Yield (joins, links) of every set of links within the rules."""
    pairs = list(combinations(sorted(interest), 2))
    full = limited.mu(interest, rules)
    for m in range(len(pairs) + 1):
        for links in map(list, combinations(pairs, m)):
            if all(rules.admit([e for e in links if e != link], *link) for link in links):
                left = sum(
                    limited.lacking(interest, rules, links, t) for t in limited.all_topics(interest)
                )
                yield full - left, links


@SOME
@given(case=SMALL)
def test_the_bounds_of_a_restricted_design_hold(case):
    interest, rules = case
    instance, restrictions = instance_of(interest), restrictions_of(interest, rules)
    found, gains = greedy_edges(instance, Rule(), restrictions=restrictions)
    bounds = find_bounds(instance, found, restrictions)
    full, top = (
        limited.mu(interest, rules),
        max(degrees(interest, found.tolist()).values(), default=0),
    )
    assert gains.sum() <= full
    for joins, links in plans(interest, rules):
        highest = max(degrees(interest, links).values(), default=0)
        if joins == full:
            assert bounds.edges <= len(links)
            assert bounds.max_degree <= highest
        if full and len(links) <= len(found):
            assert joins / full <= bounds.support_with_edges + 1e-12
        if full and highest <= top:
            assert joins / full <= bounds.support_with_degree + 1e-12


@SOME
@given(case=SMALL)
def test_a_node_that_needs_more_links_than_it_may_have_proves_that_there_is_no_plan(case):
    interest, rules = case
    needed = links_needed(instance_of(interest), restrictions_of(interest, rules))
    possible = [
        links for joins, links in plans(interest, rules) if joins == limited.mu(interest, rules)
    ]
    for node, least in enumerate(needed.tolist()):
        assert all(degrees(interest, links)[node] >= least for links in possible)
        if least > rules.most.get(node, 10**6):
            assert not possible
