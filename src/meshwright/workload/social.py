"""Synthetic social graphs: users who are nodes and topics, of power-law degrees, in communities.

The model is in `social_law.py`, the draws in `kernels/social.py`. Tasks take numbered pieces of
work (a run of communities, a run of draws across) and need nothing but the law; one shuffle then
brings together the subscriptions of each user, as for an edge list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import parallelism
from meshwright.storage import Manifest, staging
from meshwright.workload.kernels.social import Ints, Law, across, inside
from meshwright.workload.names import numbered_names
from meshwright.workload.social_law import SocialModel, law_of, n_communities
from meshwright.workload.tables import (
    KEYS,
    PARTITION_ROWS,
    distinct_pairs,
    publish_workload,
    write_subscriptions,
)

N_STEPS = 2
PAIRS_AT_ONCE = 1 << 20  # of a community's users, a kernel call: 8 MB of relations at most
DRAWS_AT_ONCE = 1 << 18
TASKS_PER_PARTITION = 4  # communities take longer than draws


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
    progress = progress or no_progress()
    n_expected = round(model.nodes * model.mean_degree)
    partitions = partitions or max(parallelism(spark), n_expected // PARTITION_ROWS)
    with staging(Path(out), "workload", force=force) as stage:
        with progress.step(f"relating {model.nodes:,} users"):
            n_pieces = piece_firsts(law)[-1]
            tasks = max(1, min(TASKS_PER_PARTITION * partitions, n_pieces))
            pieces = spark.range(0, n_pieces, 1, tasks)
            results = stage.scratch("task-results")
            keys = pieces.mapInArrow(_relations(law), KEYS)
            rows = distinct_pairs(keys, model.nodes, partitions, results, drop_self_loops=True)
            written = write_subscriptions(rows, results, stage)
        with progress.step("writing the names"):
            users = numbered_names(spark, "user", model.nodes, partitions)
            facts = {
                "n_communities": n_communities(law),
                "source": ["generate social"],
                "parameters": model.as_dict(),
            }
            return publish_workload(
                spark, stage, written, users, users, partitions=partitions, facts=facts
            )


def piece_firsts(law: Law) -> list[int]:
    """Return the first piece of work of each size of community, that of the draws, and the end."""
    n_of_size = np.diff(law.size_first_community)
    counts = [-(-int(n) // _at_once(int(s))) for s, n in zip(law.size, n_of_size, strict=True)]
    counts.append(-(-law.n_draws // DRAWS_AT_ONCE))
    return [0, *np.cumsum(counts).tolist()]


def piece_of_work(law: Law, firsts: list[int], piece: int) -> Ints:
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


def _relations(law: Law) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def relations(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        firsts = piece_firsts(law)
        for batch in batches:
            for piece in batch.column(0).to_pylist():
                keys = piece_of_work(law, firsts, piece)
                yield pa.RecordBatch.from_arrays([pa.array(keys)], names=KEYS.names)

    return relations
