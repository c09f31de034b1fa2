"""Who publishes what, how often, and how large: optional facts of an instance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from meshwright.errors import InputError
from meshwright.runtime.arrays import Floats, Ints
from meshwright.storage.digest import pack, unpack, with_publications

MOST_RATE = 1e12  # messages per second, and bytes of a message: beyond that, something is wrong


@dataclass(frozen=True, slots=True, eq=False)  # arrays make == ambiguous
class Publications:
    """One row per node and topic that the node publishes, sorted by node, then topic.

    A topic may be a filter: the node then publishes names that the filter matches.
    """

    nodes: Ints
    topics: Ints
    rates: Floats  # messages per second; NaN where unknown
    sizes: Floats  # mean bytes of a message; NaN where unknown

    def __post_init__(self) -> None:
        pairs = pack(self.nodes, self.topics)
        if not (len(self.nodes) == len(self.topics) == len(self.rates) == len(self.sizes)):
            raise InputError("publications need equally many nodes, topics, rates and sizes.")
        if np.any(pairs[1:] <= pairs[:-1]):
            raise InputError("publications must be sorted by node and topic, each pair once.")
        for what, values in (("rates", self.rates), ("sizes", self.sizes)):
            wrong = values[(values < 0) | (values > MOST_RATE)]
            if len(wrong):
                raise InputError(
                    f"{what} of publications are numbers from 0 to {MOST_RATE:g}; got {wrong[0]:g}."
                )
        for name in ("nodes", "topics", "rates", "sizes"):
            copy = np.array(getattr(self, name))
            copy.flags.writeable = False
            object.__setattr__(self, name, copy)

    def __len__(self) -> int:
        return len(self.nodes)

    @classmethod
    def none(cls) -> Publications:
        """Return no publications: nothing is known about who publishes."""
        return _NONE

    @classmethod
    def of_table(cls, rows: pa.Table) -> Publications:
        """Return the publications of a table as it is stored, in any order of its rows."""
        nodes, topics = (
            rows.column(name).to_numpy().astype(np.int32) for name in ("node", "topic")
        )
        rates, sizes = (
            rows.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
            for name in ("rate", "bytes")
        )
        order = np.argsort(pack(nodes, topics), kind="stable")
        return cls(nodes[order], topics[order], rates[order], sizes[order])

    def as_table(self) -> pa.Table:
        """Return the publications as they are stored; what is unknown is null."""
        nodes, topics = pa.array(self.nodes, pa.int32()), pa.array(self.topics, pa.int32())
        rates, sizes = (
            pa.array(values, pa.float64(), from_pandas=True)  # NaN as null
            for values in (self.rates, self.sizes)
        )
        return pa.table({"node": nodes, "topic": topics, "rate": rates, "bytes": sizes})

    def digest_with(self, digest: str) -> str:
        """Return the digest of a workload with these publications, from the one without."""
        return with_publications(digest, pack(self.nodes, self.topics), self.rates, self.sizes)

    @classmethod
    def merged(
        cls, nodes: npt.ArrayLike, topics: npt.ArrayLike, rates: npt.ArrayLike, sizes: npt.ArrayLike
    ) -> Publications:
        """Return publications of rows in any order; rows of one node and topic become one.

        Their known rates are added. The size is the mean of the known ones, weighted by the rates
        if all of those are known.
        """
        pairs = pack(np.asarray(nodes, np.int32), np.asarray(topics, np.int32))
        rate, size = np.asarray(rates, np.float64), np.asarray(sizes, np.float64)
        order = np.lexsort((size, rate, pairs))  # sums must not depend on the order of the rows
        pairs, rate, size = pairs[order], rate[order], size[order]
        distinct, first, row, n_rows = np.unique(
            pairs, return_index=True, return_inverse=True, return_counts=True
        )

        def total(values: Floats) -> Floats:
            return np.bincount(row, np.nan_to_num(values), len(distinct)).astype(np.float64)

        known, sized = ~np.isnan(rate), ~np.isnan(size)
        n_known, n_sized = total(known.astype(np.float64)), total(sized.astype(np.float64))
        summed = np.where(n_known > 0, total(rate), np.nan)
        by_rate = total(np.where(sized, rate, 0.0))
        weighted = (total((~known).astype(np.float64)) == 0) & (by_rate > 0)
        weights = np.where(weighted[row], rate, 1.0) * sized
        sums = total(weights)
        mean = np.divide(
            total(weights * np.nan_to_num(size)), sums, out=np.zeros(len(sums)), where=sums > 0
        )
        mean = np.where(n_rows == 1, size[first], mean)  # not rounded
        return cls(*unpack(distinct), summed, np.where(n_sized > 0, mean, np.nan))


_NO_IDS, _NO_VALUES = np.empty(0, np.int32), np.empty(0, np.float64)
_NONE = Publications(_NO_IDS, _NO_IDS, _NO_VALUES, _NO_VALUES)
