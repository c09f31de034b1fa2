"""Simulate publications on an overlay: deliveries, hops, overhead, and the load of each node.

Chen, Tock, Girdzijauskas (DEBS 2018), section 5. Topics are drawn uniformly among those with a
subscriber, or by weights, the publisher uniformly among the topic's subscribers. Publication i is
drawn from the stream of (seed, i) and nothing else. So all overlays and protocols are given the
same publications, and a range of them can be simulated separately: tasks call `simulate_range`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from meshwright.errors import InputError
from meshwright.model.instance import Instance, Ints, Longs, Subscribers, subscribers_of
from meshwright.model.method import check_seed
from meshwright.model.overlay import Overlay
from meshwright.smallworld.routing.kernels.publications import (
    DELIVERIES,
    HOPS_MAX,
    HOPS_SUM,
    MISSED,
    OVERHEAD,
    Tally,
    draw_publications,
)
from meshwright.smallworld.routing.protocols import Router, router
from meshwright.storage.digest import combine

Weights = Mapping[str, float] | npt.ArrayLike
MOST_PUBLICATIONS = 2**31 - 1
BLOCK = 4_096  # publications hashed together: on 10,000 nodes about half a second of work


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """The result of a simulation: a row per publication, the load of each node, and totals."""

    overlay: Overlay
    routing: str
    parameters: Mapping[str, Any]
    seed: int
    publications: pa.Table  # topic, publisher, deliveries, missed, overhead, hops_mean, hops_max
    load: pa.Table  # node, sent, received
    totals: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """The SHA-256 of the two tables: equal to the digest of a run dataset with the same."""
        n, rows = self.publications.num_rows, self.publications
        starts = range(0, n, BLOCK)
        blocks = [(s // BLOCK, table_digest(rows.slice(s, BLOCK))) for s in starts]
        return run_digest(n, blocks, self.load)


class Draws(NamedTuple):
    """The topics and subscribers that publications are drawn from."""

    live: Ints  # the topics that may be drawn
    weighted: bool
    cumulative: npt.NDArray[np.float64]  # if weighted, the cumulative shares of the live topics
    subscribers: Subscribers


class Sums(NamedTuple):
    """Counts summed over publications; sums of parts add up to those of the whole."""

    publications: int = 0
    deliveries: int = 0
    missed: int = 0
    overhead: int = 0
    hops_sum: int = 0
    hops_max: int = 0

    def plus(self, other: Sums) -> Sums:
        """Return the sums of both."""
        added = Sums(*[one + another for one, another in zip(self, other, strict=True)])
        return added._replace(hops_max=max(self.hops_max, other.hops_max))


class Part(NamedTuple):
    """The publications of a range, and what was counted while routing them."""

    topics: Ints
    publishers: Ints
    tally: Tally


def simulate(
    overlay: Overlay,
    routing: str = "pie",
    *,
    publications: int = 1000,
    seed: int = 1,
    weights: Weights | None = None,
) -> Run:
    """Route publications on an overlay and return the run. In memory; needs no JVM.

    Parameters
    ----------
    routing
        One of `ROUTINGS`. All but ``tree`` route on small worlds only.
    publications
        How many to draw.
    weights
        How often topics are published on: by name (topics left out are never drawn), or one number
        per topic. By default all are equally likely. Topics without a subscriber are never drawn.

    Examples
    --------
    >>> from meshwright.overlay import design
    >>> instance = Instance.from_pairs([("a", "x"), ("b", "x"), ("b", "y"), ("c", "y")])
    >>> run = simulate(design(instance, "gm"), "tree", publications=100)
    >>> run.totals["deliveries"], run.totals["missed"], run.totals["overhead"]
    (100, 0, 0)

    """
    if not (isinstance(publications, int) and 0 <= publications <= MOST_PUBLICATIONS):
        raise InputError(
            f"publications is {publications!r}; give a whole number up to {MOST_PUBLICATIONS:,}."
        )
    check_seed(seed)
    draws = new_draws(overlay.instance, weights)
    part = simulate_range(router(overlay, routing), draws, 0, publications, seed)
    return Run(
        overlay=overlay,
        routing=routing,
        parameters={"publications": publications, "weighted": weights is not None},
        seed=seed,
        publications=publication_table(part),
        load=load_table(part.tally.sent, part.tally.received),
        totals=totals_of(sums_of(part.tally.counts), part.tally.sent, part.tally.received),
    )


def simulate_range(ready: Router, draws: Draws, first: int, last: int, seed: int) -> Part:
    """Draw and route the publications first..last-1 of a seed."""
    if first >= last:
        empty = np.empty(0, np.int32)
        return Part(empty, empty, ready.route(empty, empty))
    if len(draws.live) == 0:
        raise InputError("there is nothing to publish: no topic to draw has a subscriber.")
    topics, publishers = draw_publications(seed, first, last, draws)
    return Part(topics, publishers, ready.route(topics, publishers))


def new_draws(instance: Instance, weights: Weights | None = None) -> Draws:
    """Return the topics and subscribers to draw publications from."""
    subscribers = subscribers_of(instance)
    rates = np.ones(instance.n_topics) if weights is None else _rates(instance, weights)
    live = np.flatnonzero((np.diff(subscribers.pointers) > 0) & (rates > 0)).astype(np.int32)
    cumulative = np.cumsum(rates[live]) / (rates[live].sum() or 1.0)
    return Draws(live, weights is not None, cumulative, subscribers)


def _rates(instance: Instance, weights: Weights) -> npt.NDArray[np.float64]:
    """Return one rate per topic."""
    if isinstance(weights, Mapping):
        unknown = weights.keys() - set(instance.topic_names)
        if unknown:
            raise InputError(f"weights name {len(unknown)} unknown topics, as {min(unknown)!r}.")
        rates = np.array([weights.get(name, 0.0) for name in instance.topic_names], np.float64)
    else:
        rates = np.asarray(weights, np.float64)
    if rates.shape != (instance.n_topics,):
        raise InputError(f"weights are {rates.shape}; give one for each of {instance.n_topics}.")
    if not (np.isfinite(rates).all() and (rates >= 0).all()):
        raise InputError("weights must be finite and not below 0.")
    return rates


def publication_table(part: Part) -> pa.Table:
    """Return a row per publication; without a delivery its hops are null."""
    counts = part.tally.counts.astype(np.int32)
    deliveries = counts[:, DELIVERIES]
    mean = part.tally.counts[:, HOPS_SUM] / np.maximum(deliveries, 1)
    return pa.table(
        {
            "topic": part.topics,
            "publisher": part.publishers,
            "deliveries": deliveries,
            "missed": counts[:, MISSED],
            "overhead": counts[:, OVERHEAD],
            "hops_mean": pa.array(mean, mask=deliveries == 0),
            "hops_max": pa.array(counts[:, HOPS_MAX], mask=deliveries == 0),
        }
    )


def load_table(sent: Longs, received: Longs) -> pa.Table:
    """Return a row per node: the messages it sent and received."""
    nodes = np.arange(len(sent), dtype=np.int32)
    return pa.table({"node": nodes, "sent": sent, "received": received})


def sums_of(counts: Longs) -> Sums:
    """Return the sums of a table of counts, a row per publication."""
    added = counts.sum(axis=0)
    added[HOPS_MAX] = counts[:, HOPS_MAX].max(initial=0)
    return Sums(len(counts), *added.tolist())


def totals_of(sums: Sums, sent: Longs, received: Longs) -> dict[str, Any]:
    """Return the totals of a run; the mean of hops is over all deliveries."""
    load = sent + received
    return {
        "publications": sums.publications,
        "deliveries": sums.deliveries,
        "missed": sums.missed,
        "overhead": sums.overhead,
        "messages": int(sent.sum()),
        "hops_mean": sums.hops_sum / sums.deliveries if sums.deliveries else None,
        "hops_max": sums.hops_max if sums.deliveries else None,
        **_spread("sent", sent),
        **_spread("received", received),
        **_spread("load", load),
        "busiest_share": busiest_share(load),
    }


def busiest_share(load: Longs) -> float:
    """Return the share of all load that the busiest hundredth of the nodes carries.

    Examples
    --------
    >>> busiest_share(np.array([6, 1, 1, 2]))  # of four nodes, that is one
    0.6

    """
    total = int(load.sum())
    n_busiest = -(-len(load) // 100)
    return int(np.sort(load)[len(load) - n_busiest :].sum()) / total if total else 0.0


def _spread(what: str, load: Longs) -> dict[str, float]:
    """Return the mean, the standard deviation and the largest load of a node."""
    if len(load) == 0:
        return {f"{what}_mean": 0.0, f"{what}_stdev": 0.0, f"{what}_max": 0}
    return {
        f"{what}_mean": float(load.mean()),
        f"{what}_stdev": float(load.std()),
        f"{what}_max": int(load.max()),
    }


def table_digest(table: pa.Table | pa.RecordBatch) -> bytes:
    """Return the SHA-256 of a table of numbers, column by column, little-endian, null as 0."""
    whole = hashlib.sha256()
    for column in table.columns:
        array = column.fill_null(0) if column.null_count else column
        kind = np.dtype(column.type.to_pandas_dtype()).newbyteorder("<")
        whole.update(np.asarray(array, kind).tobytes())
    return whole.digest()


def run_digest(n: int, blocks: Iterable[tuple[int, bytes]], load: pa.Table) -> str:
    """Return the digest of a run of n publications, from those of its blocks in any order.

    A task hashes whole blocks, so the digest is the same for any partitioning.
    """
    whole = hashlib.sha256(b"meshwright run 1\n")
    for count in (n, load.num_rows):
        whole.update(count.to_bytes(8, "little"))
    whole.update(bytes.fromhex(combine(blocks)))
    whole.update(table_digest(load))
    return whole.hexdigest()
