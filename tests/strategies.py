"""Strategies shared by the property tests."""

import numpy as np
from hypothesis import strategies as st

from meshwright.model.instance import Instance


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
