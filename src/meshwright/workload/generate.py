"""Synthetic workloads: nodes draw topics whose popularity is Zipf, exponential or uniform.

Papers 1 and 2 evaluate on these. A node draws a size uniformly from A-B, then that many distinct
topics with probability proportional to q: rank^-alpha (zipf), exp(-rate * rank / |T|) (expo) or
constant (unif), by one of the two laws of `kernels/draws.py`. For the conditional law the single
probabilities are q / sum(q), as in paper 2, where they are a distribution over the topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from meshwright.errors import InputError, unknown_choice
from meshwright.model.instance import MOST_IDS
from meshwright.runtime.machine import machine_memory
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.storage import Manifest, staging
from meshwright.storage.digest import BLOCK, pack
from meshwright.workload.names import numbered_names
from meshwright.workload.tables import (
    SUBSCRIPTIONS,
    PairBatches,
    publish_workload,
    write_subscriptions,
)

FAMILIES = ("zipf", "unif", "expo")
DRAWS = ("successive", "conditional")
DEFAULT_RATE = 10.0
N_STEPS = 2
BLOCKS_AT_ONCE = 32  # 8,192 nodes a kernel call: a few MB of arrays

Floats = npt.NDArray[np.float64]


def generate(
    spark: SparkSession,
    family: str,
    out: str | Path,
    *,
    nodes: int,
    topics: int,
    subscriptions: tuple[int, int],
    alpha: float | None = None,
    rate: float | None = None,
    draw: str = "successive",
    seed: int = 1,
    partitions: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Write a synthetic workload; the same arguments give the same digest anywhere.

    Parameters
    ----------
    family
        ``zipf`` (needs `alpha`), ``expo`` (`rate`, 10 unless given) or ``unif``.
    subscriptions
        The least and the most topics a node wants.
    draw
        ``successive`` or ``conditional``.

    """
    check_arguments(family, nodes, topics, subscriptions, alpha, rate, draw, seed)
    weights = popularity(family, topics, alpha=alpha, rate=rate)
    low, high = subscriptions
    progress = progress or no_progress()
    draw_nodes = drawer(draw, weights, low, high, seed)
    partitions = partitions or max(parallelism(spark), nodes * (low + high) // 2 // 4_000_000)
    n_blocks = -(-nodes // BLOCK)
    with staging(Path(out), "workload", force=force) as stage:
        with progress.step(f"drawing {nodes:,} nodes' topics"):
            blocks = spark.range(0, n_blocks, 1, min(partitions, n_blocks))
            results = stage.scratch("task-results")
            rows = blocks.mapInArrow(_pairs_of_blocks(draw_nodes, nodes, results), SUBSCRIPTIONS)
            written = write_subscriptions(rows, results, stage)
        parameters = {
            "family": family,
            "nodes": nodes,
            "topics": topics,
            "subscriptions": [low, high],
            "alpha": alpha,
            "rate": (rate or DEFAULT_RATE) if family == "expo" else None,
            "draw": draw,
            "seed": seed,
        }
        with progress.step("writing the names"):
            return publish_workload(
                spark,
                stage,
                written,
                numbered_names(spark, "node", nodes, partitions),
                numbered_names(spark, "topic", topics, partitions),
                partitions=partitions,
                facts={"source": [f"generate {family}"], "parameters": parameters},
            )


def popularity(
    family: str, n_topics: int, *, alpha: float | None = None, rate: float | None = None
) -> Floats:
    """Return each topic's weight q, by rank, topic 0 the most popular.

    Examples
    --------
    >>> popularity("zipf", 4, alpha=1.0).tolist()
    [1.0, 0.5, 0.3333333333333333, 0.25]

    """
    if family not in FAMILIES:
        raise unknown_choice("family", family, FAMILIES)
    if alpha is not None and family != "zipf":
        raise InputError(f"alpha belongs to zipf, not to {family}.")
    if rate is not None and family != "expo":
        raise InputError(f"rate belongs to expo, not to {family}.")
    if not 1 <= n_topics <= MOST_IDS:
        raise InputError(f"topics is {n_topics}; give at least 1 and at most {MOST_IDS:,}.")
    ranks = np.arange(1, n_topics + 1, dtype=np.float64)
    if family == "unif":
        return np.ones(n_topics)
    if family == "expo":
        rate = DEFAULT_RATE if rate is None else rate
        if not 0 <= rate <= 700:
            raise InputError(f"rate is {rate}; give 0 to 700 (the default is 10).")
        return np.asarray(np.exp(-rate * ranks / n_topics))
    if alpha is None:
        raise InputError("zipf needs alpha: the papers use 0.5 and 2.0.")
    if not 0 <= alpha <= 10:
        raise InputError(f"alpha is {alpha}; give 0 to 10: the papers use 0.5 and 2.0.")
    return np.asarray(ranks**-alpha)


Draw = Callable[[int, int], tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]


def drawer(draw: str, weights: Floats, low: int, high: int, seed: int) -> Draw:
    """Return the function (first node, count) -> (sizes, topics); needs no JVM."""
    from meshwright.workload.kernels import draws as kernel

    sizes = kernel.Sizes(seed, low, high)
    shares = weights / weights.sum()
    if draw == "successive":
        popularity = kernel.new_popularity(weights)
        return lambda first, count: kernel.draw_successive(sizes, popularity, first, count)
    odds = shares / (1 - shares) if len(shares) > 1 else np.ones(1)
    table_bytes = 8 * (len(odds) + 1) * (high + 1)
    if table_bytes > machine_memory() // 8:
        raise InputError(
            f"--draw conditional needs a table of {table_bytes / 2**30:.1f} GiB for "
            f"{len(odds):,} topics and up to {high:,} subscriptions. "
            "Use --draw successive, or fewer topics."
        )
    chances = kernel.Chances(odds, kernel.log_sums(odds, high))
    return lambda first, count: kernel.draw_conditional(sizes, chances, first, count)


def _pairs_of_blocks(
    draw_nodes: Draw, n_nodes: int, results: Path
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pairs_of_blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = PairBatches(results)
        for batch in batches:
            blocks = batch.column(0).to_numpy()
            for start in range(0, len(blocks), BLOCKS_AT_ONCE):
                some = blocks[start : start + BLOCKS_AT_ONCE]  # consecutive, as spark.range is
                first, end = int(some[0]) * BLOCK, min(n_nodes, (int(some[-1]) + 1) * BLOCK)
                sizes, topics = draw_nodes(first, end - first)
                nodes = np.repeat(np.arange(first, end, dtype=np.int32), sizes)
                yield out.take(pack(nodes, topics))
        out.finish()

    return pairs_of_blocks


def check_arguments(
    family: str,
    nodes: int,
    topics: int,
    subscriptions: tuple[int, int],
    alpha: float | None,
    rate: float | None,
    draw: str,
    seed: int,
) -> None:
    """Raise InputError unless `generate` can run with these arguments."""
    popularity(family, min(topics, 1), alpha=alpha, rate=rate)
    low, high = subscriptions
    if draw not in DRAWS:
        raise unknown_choice("draw", draw, DRAWS)
    if not (1 <= nodes <= MOST_IDS and topics <= MOST_IDS):
        raise InputError(
            f"nodes is {nodes} and topics is {topics}; give 1 to {MOST_IDS:,} of each."
        )
    if not 0 <= low <= high:
        raise InputError(f"subscriptions is {low}-{high}; give the least first, 0 or more.")
    if high > topics:
        raise InputError(
            f"a node cannot want {high} of {topics} topics. "
            "Lower --subscriptions or raise --topics."
        )
    if not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed}; give a whole number from 0 to 2^63 - 1.")
