"""What depends on one node, against counting paths without it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from meshwright.model.overlay import Overlay
from meshwright.overlay.dependence import lost_without
from tests.naive import limited
from tests.property.test_limited_twins import restrictions_of
from tests.strategies import draws, instance_of, interests, rules_for


@draws(80)
@given(case=interests(7, 3).flatmap(rules_for), some=st.randoms(use_true_random=False))
def test_the_deliveries_that_depend_on_a_node_are_those_without_a_path_past_it(case, some):
    interest, rules = case
    instance, n = instance_of(interest), len(interest)
    members = [(v, t) for v in sorted(interest) for t in sorted(interest[v])]
    sends, wants = ({m for m in members if some.random() < 0.7} for _ in range(2))
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if some.random() < 0.4]
    some.shuffle(edges)
    overlay = Overlay(
        instance,
        np.array(edges, dtype=np.int32).reshape(-1, 2),
        np.zeros(len(edges), dtype=np.int32),
        "given",
        carries=restrictions_of(interest, rules).carries,
    )
    flags = [np.array([m in those for m in members], dtype=np.bool_) for those in (sends, wants)]
    topics, deliveries, subscribers = lost_without(overlay, *flags)
    for v in sorted(interest):
        expected = limited.lost_without(interest, rules, edges, v, sends, wants)
        assert (topics[v], deliveries[v], subscribers[v]) == expected
