"""Strategies shared by the property tests, and how many examples they draw."""

import os
from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from meshwright.model.instance import Instance
from tests.naive.limited import Rules

PLAIN_PYTHON = bool(os.environ.get("NUMBA_DISABLE_JIT"))  # the kernels are not compiled
SHARE_OF_DRAWS = 10  # without the compiler a draw takes about as many times as long


def draws(count: int) -> settings:
    """Return the settings of a test with so many draws, a tenth of them without the compiler."""
    return settings(max_examples=max(5, count // SHARE_OF_DRAWS) if PLAIN_PYTHON else count)


def interests(max_nodes: int = 7, max_topics: int = 6) -> st.SearchStrategy[dict[int, set[int]]]:
    """Return interests of a few nodes, with empty, equal, disjoint and crowded ones among them."""

    @st.composite
    def build(draw):
        n_nodes = draw(st.integers(0, max_nodes))
        n_topics = draw(st.integers(0, max_topics))
        kind = draw(st.sampled_from(["free", "free", "free", "equal", "disjoint", "crowded"]))
        topics = list(range(n_topics))
        some = st.sets(st.sampled_from(topics)) if topics else st.just(set())
        if kind == "equal":
            shared = draw(some)
            return {v: set(shared) for v in range(n_nodes)}
        if kind == "disjoint":
            return {v: {v} for v in range(n_nodes)}
        interest = {v: set(draw(some)) for v in range(n_nodes)}
        if kind == "crowded" and topics:
            interest = {v: wanted | {0} for v, wanted in interest.items()}
        return interest

    return build()


def instance_of(interest: dict[int, set[int]], n_topics: int | None = None) -> Instance:
    """Return the instance with the same ids."""
    rows = [sorted(interest[v]) for v in sorted(interest)]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    topics = np.array([t for row in rows for t in row], dtype=np.int32)
    return Instance.from_arrays(indptr, topics, n_topics)


def rules_for(interest: dict[int, set[int]]) -> st.SearchStrategy:
    """Return the interest with rules for it: some leaves, most links of nodes, and pairs."""
    nodes = sorted(interest)
    members = [(v, t) for v in nodes for t in sorted(interest[v])]
    pairs = [(u, v) for u in nodes for v in nodes if u < v]

    def some(values: list) -> st.SearchStrategy[set]:
        return st.just(set()) | st.sets(st.sampled_from(values)) if values else st.just(set())

    most = st.dictionaries(st.sampled_from(nodes), st.integers(0, 3)) if nodes else st.just({})
    prices = st.sampled_from([0.0, 0.5, 2.0, 2.5, 10.0])  # few: ties are what matters
    costs = st.dictionaries(st.sampled_from(pairs), prices) if pairs else st.just({})
    rules = st.builds(
        Rules,
        leaves=some(members),
        most=st.just({}) | most,
        forbidden=some(pairs),
        allowed=st.none() | some(pairs).map(lambda chosen: chosen or None),
        cost=st.just({}) | costs,
    )
    return rules.map(lambda drawn: (interest, one_kind_of_list(drawn)))


def one_kind_of_list(rules: Rules) -> Rules:
    """Return the rules with allowed pairs or forbidden ones, not both."""
    return rules if rules.allowed is None else replace(rules, forbidden=set())
