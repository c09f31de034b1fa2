"""Small worlds for tests: drawn ones, and the one whose fingers make paths long."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from meshwright.model.small_world import SmallWorld, small_world
from tests.naive.small_worlds import phases
from tests.strategies import instance_of

N_TOPICS = 3


class DrawnWorld(NamedTuple):
    """Fingers by position, as the naive twins take them, and the ring of nodes."""

    ring: list[int]
    fingers: list[list[int]]
    interest: dict[int, set[int]]

    @property
    def n(self) -> int:
        return len(self.ring)

    @property
    def world(self) -> SmallWorld:
        fingers = np.array(self.fingers, np.int32).reshape(self.n, len(phases(self.n)))
        most = max((t for topics in self.interest.values() for t in topics), default=0)
        instance = instance_of(self.interest, max(N_TOPICS, most + 1))
        return small_world(instance, self.ring, fingers, method="none")

    def wanting(self, topic: int) -> set[int]:
        """The positions of a topic's subscribers."""
        return {p for p, v in enumerate(self.ring) if topic in self.interest[v]}


def fingers_by(n: int, choose) -> list[list[int]]:
    """Fingers by position: `choose(v, phase, distances)` gives the distance to each."""
    return [[(v + choose(v, i, d)) % n for i, d in enumerate(phases(n))] for v in range(n)]


def near_end(v: int, phase: int, distances: range) -> int:
    return distances[0]


def far_end(v: int, phase: int, distances: range) -> int:
    return distances[-1]


def worlds(
    max_nodes: int = 24, *, kinds: tuple[str, ...] = ("chord", "far", "free")
) -> st.SearchStrategy[DrawnWorld]:
    """Rings of any size from one node on, any fingers, some nodes and topics without interest."""

    @st.composite
    def build(draw):
        n = draw(st.integers(1, max_nodes))
        ring = draw(st.permutations(range(n)))
        kind = draw(st.sampled_from(kinds))
        choose = {"chord": near_end, "far": far_end}.get(kind)
        fingers = fingers_by(n, choose or (lambda v, i, d: draw(st.sampled_from(d))))
        share = draw(st.integers(1, 8))  # sparse and dense topics
        wants = st.sets(st.sampled_from(range(N_TOPICS * share)))
        interest = {v: {t for t in draw(wants) if t < N_TOPICS} for v in range(n)}
        return DrawnWorld(list(ring), fingers, interest)

    return build()


def long_way(n: int) -> tuple[list[list[int]], set[int]]:
    """Return fingers on n = 2^k nodes and the subscribers for whom Pal takes n/4 + 1 hops.

    The even nodes subscribe. Node v = 2j is to serve the range [2j, n - 2j + 1): its finger of
    phase 1 leads to the next subscriber, and one of its fingers to the far end of the range, where
    nobody subscribes. That finger is the pivot, and the range handed to the next subscriber is
    shorter by 4 only. The fingers below it end before the second half of the range.
    """

    def choose(v: int, phase: int, distances: range) -> int:
        far = n - 2 * v - 1
        if phase == 1 or far not in distances:
            return distances[0] + (phase > 1)
        return far

    return fingers_by(n, choose), set(range(0, n, 2))
