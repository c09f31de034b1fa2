"""Who takes part in which topic, by ids: what kernels need of an instance, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from meshwright.runtime.arrays import Ints, Longs


class Interests(Protocol):
    """An `Instance`, or `Rows` of one."""

    @property
    def indptr(self) -> Longs:
        """Where the topics of each node begin, and where the last end: int64[n_nodes + 1]."""

    @property
    def topics(self) -> Ints:
        """The topics of all nodes, rising within a node: int32[n_subscriptions]."""

    @property
    def nodes(self) -> Ints:
        """The node of each subscription, beside `topics`."""

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""

    @property
    def n_topics(self) -> int:
        """The number of topics."""

    @property
    def n_subscriptions(self) -> int:
        """The number of (node, topic) pairs."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Some topics of an instance, which was validated: no names, and no second validation."""

    indptr: Longs
    topics: Ints
    n_topics: int

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.indptr) - 1

    @property
    def n_subscriptions(self) -> int:
        """The number of (node, topic) pairs."""
        return len(self.topics)

    @property
    def nodes(self) -> Ints:
        """The node of each subscription, beside `topics`."""
        return np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.indptr))
