"""Synthetic workloads: topics of Zipf, exponential or uniform popularity, and social graphs.

A node draws a size from A-B, uniformly or in proportion to 1 / size^2 (``steep``), then that many
distinct topics with probability proportional to q: rank^-alpha (zipf), exp(-rate * rank / |T|)
(expo) or constant (unif), by one of the two laws of `kernels/draws.py`; papers 1 and 2 evaluate on
these. For the conditional law the single probabilities are q / sum(q), as in paper 2, where they
are a distribution over the topics.

Users of a social graph are nodes and topics; `social_law.py` has the model. Tasks take numbered
pieces of work (a run of communities, a run of draws across) and need nothing but the law; one
shuffle then brings together the subscriptions of each user, as for an edge list.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from meshwright.errors import InputError, check_choice
from meshwright.model.instance import MOST_IDS
from meshwright.model.method import check_seed
from meshwright.runtime.arrays import Floats, Ints, Longs
from meshwright.runtime.machine import machine_memory
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.runtime.tasks import Batches, numbers_in
from meshwright.storage import Manifest, Staging, staging
from meshwright.storage.digest import BLOCK, pack
from meshwright.workload import tables
from meshwright.workload.kernels import draws as kernel
from meshwright.workload.kernels.social import Law, across, inside
from meshwright.workload.names import numbered_names
from meshwright.workload.social_law import SocialModel, law_of, n_communities

FAMILIES = ("zipf", "unif", "expo")
DRAWS = ("successive", "conditional")
SIZE_LAWS = ("uniform", "steep")
DEFAULT_RATE = 10.0
N_STEPS = 2
PAIRS_AT_ONCE = 1 << 20  # of a community's users, a kernel call: 8 MB of relations at most
DRAWS_AT_ONCE = 1 << 18
PUBLISHER_STREAMS = 0x7075626C  # changes the seed: topics and nodes have streams of their own
TASKS_PER_PARTITION = 4  # communities take longer than draws

Draw = Callable[[int, int], tuple[Ints, Ints]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicModel:
    """The arguments of a workload whose topics differ in popularity; checked when it is made.

    The family ``zipf`` needs `alpha`, ``expo`` takes `rate` (10 unless given), ``unif`` neither.

    Examples
    --------
    >>> TopicModel(family="zipf", nodes=9, topics=4, subscriptions=(1, 2), alpha=1.0).weights
    array([1.        , 0.5       , 0.33333333, 0.25      ])
    """

    family: str
    nodes: int
    topics: int
    subscriptions: tuple[int, int]  # the least and the most topics that a node wants
    alpha: float | None = None
    rate: float | None = None
    draw: str = "successive"
    size_law: str = "uniform"  # of the sizes between these; "steep": in proportion to 1 / size^2
    publishers: int = 0  # nodes that publish each topic; 0: nothing is said about publishers
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError unless there is such a workload."""
        family, (low, high) = self.family, self.subscriptions
        check_choice("family", family, FAMILIES)
        check_choice("draw", self.draw, DRAWS)
        check_choice("size_law", self.size_law, SIZE_LAWS)
        if self.alpha is not None and family != "zipf":
            raise InputError(f"alpha belongs to zipf, not to {family}.")
        if self.rate is not None and family != "expo":
            raise InputError(f"rate belongs to expo, not to {family}.")
        if family == "expo" and self.rate is None:
            object.__setattr__(self, "rate", DEFAULT_RATE)
        if family == "zipf" and self.alpha is None:
            raise InputError("zipf needs alpha: the papers use 0.5 and 2.0.")
        if self.alpha is not None and not 0 <= self.alpha <= 10:
            raise InputError(f"alpha is {self.alpha}; give 0 to 10: the papers use 0.5 and 2.0.")
        if self.rate is not None and not 0 <= self.rate <= 700:
            raise InputError(f"rate is {self.rate}; give 0 to 700 (the default is 10).")
        if self.topics < 1:
            raise InputError(f"topics is {self.topics}; give at least 1 and at most {MOST_IDS:,}.")
        if not (1 <= self.nodes <= MOST_IDS and self.topics <= MOST_IDS):
            raise InputError(
                f"nodes is {self.nodes} and topics is {self.topics}; "
                f"give 1 to {MOST_IDS:,} of each."
            )
        if not 0 <= low <= high:
            raise InputError(f"subscriptions is {low}-{high}; give the least first, 0 or more.")
        if self.size_law == "steep" and low == 0:
            raise InputError(f"subscriptions is {low}-{high}; steep sizes begin at 1 or more.")
        if high > self.topics:
            raise InputError(
                f"a node cannot want {high} of {self.topics} topics. "
                "Lower --subscriptions or raise --topics."
            )
        if not 0 <= self.publishers <= self.nodes:
            raise InputError(
                f"publishers is {self.publishers}; give 0 to {self.nodes:,}, one for each node."
            )
        check_seed(self.seed)

    @property
    def weights(self) -> Floats:
        """The weight q of each topic, by rank; topic 0 is the most popular."""
        ranks = np.arange(1, self.topics + 1, dtype=np.float64)
        if self.alpha is not None:
            return np.asarray(ranks**-self.alpha)
        return np.asarray(np.exp(-(self.rate or 0.0) * ranks / self.topics))

    def publisher_drawer(self) -> Draw:
        """Return the function (first topic, count) -> (sizes, nodes): who publishes each topic."""
        sizes = kernel.Sizes(self.seed ^ PUBLISHER_STREAMS, self.publishers, self.publishers)
        popularity = kernel.new_popularity(np.ones(self.nodes))
        return lambda first, count: kernel.draw_successive(sizes, popularity, first, count)

    def drawer(self) -> Draw:
        """Return the function (first node, count) -> (sizes, topics); needs no JVM."""
        (low, high), weights = self.subscriptions, self.weights
        new_sizes = kernel.steep_sizes if self.size_law == "steep" else kernel.Sizes
        sizes = new_sizes(self.seed, low, high)
        if self.draw == "successive":
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


def generate(
    spark: SparkSession,
    out: str | Path,
    model: TopicModel,
    *,
    partitions: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Write a synthetic workload; the same model gives the same digest anywhere."""
    progress = progress or no_progress()
    draw_nodes, nodes, topics = model.drawer(), model.nodes, model.topics
    n_expected = nodes * sum(model.subscriptions) // 2
    partitions = partitions or max(parallelism(spark), n_expected // tables.PARTITION_ROWS)
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
            if model.publishers:
                draw_topics = model.publisher_drawer()
                _write_publishers(spark, draw_topics, (nodes, topics), partitions, stage)
        with progress.step("writing the names"):
            node_names = numbered_names(spark, "node", nodes, partitions)
            topic_names = numbered_names(spark, "topic", topics, partitions)
            names = node_names, topic_names
            facts = {"source": [f"generate {model.family}"], "parameters": asdict(model)}
            return tables.publish_workload(stage, written, *names, partitions, facts)


def _own_topics(first: int, count: int) -> tuple[Ints, Ints]:
    """Return the publishers of users' topics: each user its own."""
    return np.ones(count, np.int32), np.arange(first, first + count, dtype=np.int32)


def _write_publishers(
    spark: SparkSession, draw_topics: Draw, sizes: tuple[int, int], partitions: int, stage: Staging
) -> None:
    """Draw the publishers of each topic and write them; `sizes` are the nodes and topics."""
    n_nodes, topics = sizes
    n_blocks = -(-topics // BLOCK)

    def draw_blocks(batches: Batches) -> Batches:
        for first, end in tables.id_ranges(batches, topics):
            counts, nodes = draw_topics(first, end - first)
            topic = np.repeat(np.arange(first, end, dtype=np.int32), counts)
            unknown = pa.nulls(len(nodes), pa.float64())
            arrays = [pa.array(nodes, pa.int32()), pa.array(topic, pa.int32()), unknown, unknown]
            yield pa.RecordBatch.from_arrays(arrays, list(tables.PUBLICATIONS))

    blocks = spark.range(0, n_blocks, 1, min(partitions, n_blocks))
    rows = blocks.mapInArrow(draw_blocks, tables.PUBLISHED)
    tables.write_publications(rows, n_nodes, partitions, stage)


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
            if model.publish:
                _write_publishers(spark, _own_topics, (model.nodes, model.nodes), partitions, stage)
        with progress.step("writing the names"):
            users = numbered_names(spark, "user", model.nodes, partitions)
            facts = {
                "n_communities": n_communities(law),
                "source": ["generate social"],
                "parameters": model.as_dict(),
            }
            return tables.publish_workload(stage, written, users, users, partitions, facts)


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
