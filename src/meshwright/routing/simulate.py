"""Simulate publications on an overlay: who gets them, over how many hops, at whose expense.

Chen, Tock, Girdzijauskas (DEBS 2018), section 5. Publications are drawn as in design.md: topics
uniformly among those with a subscriber, or by weights, the publisher uniformly among the topic's
subscribers. Publication number i is drawn from the stream of (seed, i) and nothing else. So all
overlays and protocols are given the same publications, and a range of them can be simulated
apart: `simulate_range` is what a task calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from meshwright.errors import InputError
from meshwright.routing.digest import run_digest
from meshwright.routing.draw_kernel import draw_publications
from meshwright.routing.protocols import Router, router
from meshwright.routing.tables import Ints, Longs, Subscribers, subscribers_of
from meshwright.routing.tally_kernel import (
    DELIVERIES,
    HOPS_MAX,
    HOPS_SUM,
    MISSED,
    OVERHEAD,
    Tally,
)
from meshwright.values import Instance, Overlay

Weights = Mapping[str, float] | npt.ArrayLike
MOST_PUBLICATIONS = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What a simulation found: a row per publication, the load of each node, and totals."""

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
        return run_digest(self.publications, self.load)


class Draws(NamedTuple):
    """What publications are drawn from; arrays only, so it can be shipped to a task."""

    live: Ints  # the topics that may be drawn
    cumulative: npt.NDArray[np.float64]  # their shares added up, or empty: all alike
    subscribers: Subscribers


class Sums(NamedTuple):
    """What publications came to together; sums of parts add up to those of the whole."""

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
    """The publications of a range and what they came to."""

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
    """Return what publications on an overlay come to. In memory; needs no JVM.

    Parameters
    ----------
    routing
        One of `ROUTINGS`. All but ``tree`` route on small worlds only.
    publications
        How many to draw.
    weights
        How often topics are published on: by name, those left out never, or one number per topic.
        Without them all topics are alike. Topics without a subscriber are never drawn.

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
    if not (isinstance(seed, int) and 0 <= seed < 2**63):
        raise InputError(f"seed is {seed!r}; give a whole number from 0 to 2^63 - 1.")
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
    """Return the publications first..last-1 of a seed, and what they came to."""
    if first >= last:
        empty = np.empty(0, np.int32)
        return Part(empty, empty, ready.route(empty, empty))
    if len(draws.live) == 0:
        raise InputError("there is nothing to publish: no topic that may be drawn is wanted.")
    topics, publishers = draw_publications(
        seed, first, last, draws.live, draws.cumulative, *draws.subscribers
    )
    return Part(topics, publishers, ready.route(topics, publishers))


def new_draws(instance: Instance, weights: Weights | None = None) -> Draws:
    """Return what publications are drawn from."""
    subscribers = subscribers_of(instance)
    wanted = np.diff(subscribers.pointers) > 0
    if weights is None:
        live = np.flatnonzero(wanted).astype(np.int32)
        return Draws(live, np.empty(0), subscribers)
    rates = _rates(instance, weights)
    live = np.flatnonzero(wanted & (rates > 0)).astype(np.int32)
    total = rates[live].sum()
    return Draws(live, np.cumsum(rates[live]) / (total if total else 1.0), subscribers)


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
    counts = part.tally.counts
    deliveries = counts[:, DELIVERIES]
    none = deliveries == 0
    mean = counts[:, HOPS_SUM] / np.maximum(deliveries, 1)
    return pa.table(
        {
            "topic": pa.array(part.topics),
            "publisher": pa.array(part.publishers),
            "deliveries": pa.array(deliveries.astype(np.int32)),
            "missed": pa.array(counts[:, MISSED].astype(np.int32)),
            "overhead": pa.array(counts[:, OVERHEAD].astype(np.int32)),
            "hops_mean": pa.array(mean, mask=none),
            "hops_max": pa.array(counts[:, HOPS_MAX].astype(np.int32), mask=none),
        }
    )


def load_table(sent: Longs, received: Longs) -> pa.Table:
    """Return a row per node: the messages it sent and received."""
    nodes = np.arange(len(sent), dtype=np.int32)
    return pa.table({"node": nodes, "sent": sent, "received": received})


def sums_of(counts: Longs) -> Sums:
    """Return what a table of counts, a row per publication, adds up to."""
    added = counts.sum(axis=0)
    return Sums(
        publications=len(counts),
        deliveries=int(added[DELIVERIES]),
        missed=int(added[MISSED]),
        overhead=int(added[OVERHEAD]),
        hops_sum=int(added[HOPS_SUM]),
        hops_max=int(counts[:, HOPS_MAX].max(initial=0)),
    )


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
