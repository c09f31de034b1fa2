"""Synthetic workloads: topics of Zipf, exponential or uniform popularity, and social graphs.

A node draws a size uniformly from A-B, then that many distinct topics with probability proportional
to q: rank^-alpha (zipf), exp(-rate * rank / |T|) (expo) or constant (unif), by one of the two laws
of `kernels/draws.py`; papers 1 and 2 evaluate on these. For the conditional law the single
probabilities are q / sum(q), as in paper 2, where they are a distribution over the topics.

Users of a social graph are nodes and topics; `social_law.py` has the model. Tasks take numbered
pieces of work (a run of communities, a run of draws across) and need nothing but the law; one
shuffle then brings together the subscriptions of each user, as for an edge list.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from meshwright.errors import InputError, unknown_choice
from meshwright.model.instance import MOST_IDS
from meshwright.model.method import check_seed
from meshwright.runtime.arrays import Floats, Ints, Longs
from meshwright.runtime.machine import machine_memory
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.runtime.tasks import Batches, numbers_in
from meshwright.storage import Manifest, staging
from meshwright.storage.digest import BLOCK, pack
from meshwright.workload import tables
from meshwright.workload.kernels import draws as kernel
from meshwright.workload.kernels.social import Law, across, inside
from meshwright.workload.names import numbered_names
from meshwright.workload.social_law import SocialModel, law_of, n_communities

FAMILIES = ("zipf", "unif", "expo")
DRAWS = ("successive", "conditional")
DEFAULT_RATE = 10.0
N_STEPS = 2
PAIRS_AT_ONCE = 1 << 20  # of a community's users, a kernel call: 8 MB of relations at most
DRAWS_AT_ONCE = 1 << 18
TASKS_PER_PARTITION = 4  # communities take longer than draws

Draw = Callable[[int, int], tuple[Ints, Ints]]


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

    The family ``zipf`` needs `alpha`, ``expo`` takes `rate` (10 unless given), ``unif`` neither.
    `subscriptions` is the least and the most topics that a node wants.
    """
    check_arguments(family, nodes, topics, subscriptions, alpha, rate, draw, seed)
    weights = popularity(family, topics, alpha=alpha, rate=rate)
    low, high = subscriptions
    progress = progress or no_progress()
    draw_nodes = drawer(draw, weights, low, high, seed)
    partitions = partitions or max(
        parallelism(spark), nodes * (low + high) // 2 // tables.PARTITION_ROWS
    )
    n_blocks = -(-nodes // BLOCK)

    def pairs_of(batches: Batches) -> Iterator[Longs]:
        for first, end in tables.id_ranges(batches, nodes):
            sizes, wanted = draw_nodes(first, end - first)
            yield pack(np.repeat(np.arange(first, end, dtype=np.int32), sizes), wanted)

    def draw_blocks(batches: Batches, results: Path) -> Batches:
        return tables.pair_rows(pairs_of(batches), results)

    with staging(Path(out), "workload", force=force) as stage:
        with progress.step(f"drawing {nodes:,} nodes' topics"):
            blocks = spark.range(0, n_blocks, 1, min(partitions, n_blocks))
            written = tables.write_subscriptions(blocks, draw_blocks, stage)
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
            node_names = numbered_names(spark, "node", nodes, partitions)
            topic_names = numbered_names(spark, "topic", topics, partitions)
            facts = {"source": [f"generate {family}"], "parameters": parameters}
            return tables.publish_workload(
                stage, written, node_names, topic_names, partitions, facts
            )


def generate_social(
    spark: SparkSession,
    out: str | Path,
    model: SocialModel,
    *,
    partitions: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Write a synthetic social graph; the same model gives the same digest anywhere."""
    law = law_of(model)
    firsts = piece_firsts(law)
    progress = progress or no_progress()
    n_expected = round(model.nodes * model.mean_degree)
    partitions = partitions or max(parallelism(spark), n_expected // tables.PARTITION_ROWS)

    def relations(batches: Batches) -> Batches:
        for piece in numbers_in(batches):
            yield pa.RecordBatch.from_pydict({"key": piece_of_work(law, firsts, piece)})

    with staging(Path(out), "workload", force=force) as stage:
        with progress.step(f"relating {model.nodes:,} users"):
            tasks = max(1, min(TASKS_PER_PARTITION * partitions, firsts[-1]))
            keys = spark.range(0, firsts[-1], 1, tasks).mapInArrow(relations, tables.KEYS)
            written = tables.write_distinct(
                keys, model.nodes, partitions, stage, drop_self_loops=True
            )
        with progress.step("writing the names"):
            users = numbered_names(spark, "user", model.nodes, partitions)
            facts = {
                "n_communities": n_communities(law),
                "source": ["generate social"],
                "parameters": model.as_dict(),
            }
            return tables.publish_workload(stage, written, users, users, partitions, facts)


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


def drawer(draw: str, weights: Floats, low: int, high: int, seed: int) -> Draw:
    """Return the function (first node, count) -> (sizes, topics); needs no JVM."""
    sizes = kernel.Sizes(seed, low, high)
    if draw == "successive":
        popularity = kernel.new_popularity(weights)
        return lambda first, count: kernel.draw_successive(sizes, popularity, first, count)
    shares = weights / weights.sum()
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
    check_seed(seed)


def piece_firsts(law: Law) -> list[int]:
    """Return the first piece of work of each size of community, that of the draws, and the end."""
    n_of_size = np.diff(law.size_first_community)
    counts = [-(-int(n) // _at_once(int(s))) for s, n in zip(law.size, n_of_size, strict=True)]
    counts.append(-(-law.n_draws // DRAWS_AT_ONCE))
    return [0, *np.cumsum(counts).tolist()]


def piece_of_work(law: Law, firsts: list[int], piece: int) -> Longs:
    """Return the packed subscriptions of one piece."""
    at = int(np.searchsorted(firsts, piece, side="right")) - 1
    if at == len(law.size):
        first = (piece - firsts[at]) * DRAWS_AT_ONCE
        return np.asarray(across(law, first, min(law.n_draws, first + DRAWS_AT_ONCE)))
    many = _at_once(int(law.size[at]))
    first = int(law.size_first_community[at]) + (piece - firsts[at]) * many
    end = min(int(law.size_first_community[at + 1]), first + many)
    return np.asarray(inside(law, first, end))


def _at_once(size: int) -> int:
    return max(1, PAIRS_AT_ONCE // (size * size))
