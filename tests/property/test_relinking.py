"""A node linked anew, and a link moved away from a busy node, beside their naive twins."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from meshwright.overlay.greedy.rule import Restrictions
from meshwright.overlay.kernels.mending import begin
from meshwright.overlay.kernels.neighbourhood import choose, clear, count_parts, list_links, undo
from meshwright.overlay.kernels.plan import N_LINKS
from meshwright.overlay.kernels.relinking import relieve, relink
from meshwright.overlay.methods.refined import make_plan
from meshwright.overlay.replanning.nearby import new_mending
from tests.naive import replanning as naive
from tests.naive.limited import Rules, carriers
from tests.strategies import draws, instance_of, interests

MANY = draws(150)


@st.composite
def plans(draw):
    """Draw interests with leaves, and links that connect every topic, more of them than needed."""
    interest = draw(interests(max_nodes=8))
    members = sorted((v, t) for v in interest for t in interest[v])
    leaves = draw(st.just(set()) | st.sets(st.sampled_from(members))) if members else set()
    rules = Rules(leaves=leaves)
    rules.leaves = {(v, t) for v, t in leaves if carriers(interest, rules, t)}
    pairs = [(u, v) for u in interest for v in interest if u < v]
    drawn = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    links = list(drawn)
    for pair in pairs:  # complete it
        less = naive.missing(interest, rules, [*links, pair])
        if pair not in links and less < naive.missing(interest, rules, links):
            links.append(pair)
    rules.forbidden = draw(st.just(set()) | st.sets(st.sampled_from(pairs))) if pairs else set()
    rules.forbidden -= set(links)
    return interest, rules, links


def mending_of(interest, rules, links):
    """Return the kernels' view of a plan."""
    instance = instance_of(interest)
    flags = [(v, t) not in rules.leaves for v in sorted(interest) for t in sorted(interest[v])]
    pairs = np.array(sorted(rules.forbidden), np.int32).reshape(-1, 2)
    restrictions = Restrictions(
        np.array(flags, np.bool_) if rules.leaves else None,
        max_links=np.full(len(interest), 100, np.int32),
        pairs=pairs if len(pairs) else None,
    )
    edges = np.array(links, np.int32).reshape(-1, 2)
    plan = make_plan(instance, edges, len(interest))
    near = np.ones(len(interest), np.bool_)
    made = new_mending(instance, plan, restrictions, near, np.zeros(len(interest), np.int32))
    count_parts(*made[:3])
    return made


def links_of(made):
    found = np.empty((int(made.plan.counts[N_LINKS]), 2), np.int32)
    list_links(made.plan, found)
    return sorted(map(tuple, found.tolist()))


@MANY
@given(drawn=plans())
def test_a_node_is_linked_anew_as_its_naive_twin_does_it(drawn):
    interest, rules, links = drawn
    assume(naive.missing(interest, rules, links) == 0)
    made = mending_of(interest, rules, links)
    for node in interest:
        if sum(node in link for link in links) < 2:
            continue
        begin(made.search)
        choose(made.search, node)
        got = relink(made.members, made.plan, made.search, made.exclusions, made.work, node)
        expected = naive.relink(interest, rules, links, node)
        assert (expected is not None) == got
        if got:
            assert links_of(made) == sorted(expected)
        undo(made.plan, made.search)
        clear(made.search)
        assert links_of(made) == sorted(links)
        assert not made.search.gain.any()


@MANY
@given(drawn=plans())
def test_a_link_is_moved_away_from_a_busy_node_as_its_naive_twin_does_it(drawn):
    interest, rules, links = drawn
    assume(naive.missing(interest, rules, links) == 0)
    made = mending_of(interest, rules, links)
    for pair in links:
        for node, busy in (pair, pair[::-1]):
            begin(made.search)
            change = (node, busy, int(made.plan.degree[busy]) - 2)
            work = made.exclusions, made.work
            got = relieve(made.members, made.plan, made.search, *work, change)
            expected = naive.relieve(interest, rules, links, node, busy)
            assert (expected is not None) == got
            if got:
                assert links_of(made) == sorted(expected)
            undo(made.plan, made.search)
            assert links_of(made) == sorted(links)
