"""`check`: recompute everything that an overlay's manifest says, on Spark.

Topics are independent: each task takes some of them and searches their sub-overlays breadth-first.
Subscriptions and links reach the tasks in one file that every process maps. No code is shared with
the engine that designed the overlay.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from meshwright.errors import InputError
from meshwright.model.overlay import count_repeated
from meshwright.overlay.dataset import is_small_world, world_findings
from meshwright.overlay.kernels.topics import SubOverlays, topic_costs
from meshwright.overlay.methods import SMALL_WORLDS
from meshwright.overlay.topics import evaluate_range, sub_overlays
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.tasks import Batches, numbers_in, received, ship
from meshwright.runtime.threads import cut
from meshwright.storage import (
    Manifest,
    find_input,
    open_dataset,
    read_column,
    read_table,
    scratch_beside,
)

N_STEPS = 3
N_NAMED = 10  # busiest nodes and disconnected topics that are named
PART = 5_000_000  # subscribers and links of theirs that a task reads: about a second

COLUMNS = ("topic", "components", "largest", "diameter_low", "diameter_high")  # all int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An overlay as recomputed; `findings` lists where its manifest differs."""

    n_edges: int
    average_degree: float
    max_degree: int
    support: float
    connected: bool
    n_disconnected: int
    disconnected: tuple[str, ...]  # the first, by most components
    busiest: tuple[tuple[str, int], ...]  # the nodes with most links
    diameter: tuple[int, int]  # the largest over the topics: at least, at most
    diameters: tuple[tuple[int, int], ...]  # (diameter, how many topics), connected topics only
    property_1: bool | None  # whether a small world has Property 1; None for other overlays
    findings: tuple[str, ...]


def check(
    spark: SparkSession,
    overlay: str | Path,
    *,
    workload: str | Path | None = None,
    part: int = PART,
    progress: Progress | None = None,
) -> Evaluation:
    """Recompute an overlay and compare it with its manifest."""
    directory = Path(overlay).absolute()
    manifest = open_dataset(directory, "overlay")
    source = find_input(manifest, "workload", workload)
    progress = progress or no_progress()
    n_nodes, n_topics = source["n_nodes"], source["n_topics"]
    with progress.step("checking the links"):
        u, v = (_column(manifest, "edges", end) for end in ("u", "v"))
        findings = _check_edges(u, v, _column(manifest, "edges", "rank"), n_nodes)
        property_1 = _check_world(manifest, source)
        findings += property_1 or []
        known = (u >= 0) & (v >= 0) & (u < n_nodes) & (v < n_nodes)
        u, v = u[known], v[known]
        degrees = np.bincount(u, minlength=n_nodes) + np.bincount(v, minlength=n_nodes)
        busiest = _largest(degrees)
        names = _names(source, "nodes", busiest)
    with progress.step("searching every topic's sub-overlay"):
        nodes, topics = (_column(source, "subscriptions", end) for end in ("node", "topic"))
        for ids, count in ((nodes, n_nodes), (topics, n_topics)):
            if len(ids) and not (ids.min() >= 0 and ids.max() < count):
                raise InputError(
                    f"'{source.path}' has a subscription outside 0..{count - 1}. Make it again."
                )
        graph = sub_overlays(nodes, topics, u, v, n_nodes, n_topics)
        del nodes, topics, u, v, known
        found = _evaluate(spark, graph, directory, part)
    with progress.step("comparing with the manifest"):
        subscribers = np.diff(graph.topic_ptr)
        apart = np.maximum(found["components"] - 1, 0)
        whole = (found["components"] == 1) & (found["diameter_low"] == found["diameter_high"])
        spread = np.unique_counts(found["diameter_low"][whole])
        full = int(np.maximum(subscribers - 1, 0).sum())
        joined = full - int(apart.sum(dtype=np.int64))
        gain = int(_column(manifest, "edges", "gain").sum(dtype=np.int64))
        if gain != joined:
            findings.append(f"the gains of the edges sum to {gain:,}; the edges join {joined:,}")
        n_edges = manifest.rows["edges"]
        evaluation = Evaluation(
            n_edges=n_edges,
            average_degree=2 * n_edges / n_nodes if n_nodes else 0.0,
            max_degree=_most(degrees),
            support=joined / full if full else 1.0,
            connected=not apart.any(),
            n_disconnected=int(np.count_nonzero(apart)),
            disconnected=tuple(_names(source, "topics", _largest(apart))),
            busiest=tuple(zip(names, degrees[busiest].tolist(), strict=True)),
            diameter=(_most(found["diameter_low"]), _most(found["diameter_high"])),
            diameters=tuple(zip(spread.values.tolist(), spread.counts.tolist(), strict=True)),
            property_1=None if property_1 is None else not property_1,
            findings=(),
        )
    return replace(evaluation, findings=(*findings, *_compare(evaluation, manifest)))


def _evaluate(spark: SparkSession, graph: SubOverlays, target: Path, part: int) -> dict[str, Ints]:
    """Return for each topic, in columns: components, the largest, and the diameter."""
    cuts = cut(topic_costs(graph), part)
    n_parts, schema = len(cuts) - 1, ", ".join(f"{name} int" for name in COLUMNS)
    with scratch_beside(target) as scratch:
        shipped = scratch / "sub-overlays"
        ship(shipped, graph)

        def search(batches: Batches) -> Batches:
            for number in numbers_in(batches):
                first, last = int(cuts[number]), int(cuts[number + 1])
                rows = evaluate_range(received(shipped), first, last)
                columns = np.column_stack((np.arange(first, last), rows)).astype(np.int32)
                yield pa.RecordBatch.from_arrays([pa.array(c) for c in columns.T], COLUMNS)

        table = spark.range(0, n_parts, 1, n_parts).mapInArrow(search, schema).toArrow()
    return {name: table.sort_by("topic").column(name).to_numpy() for name in COLUMNS}


def _most(values: npt.NDArray[np.integer]) -> int:
    return int(values.max(initial=0))


def _column(dataset: Manifest, table: str, name: str) -> Ints:
    """Return a whole column of numbers."""
    return np.concatenate([np.empty(0, np.int32), *read_column(dataset, table, name)])


def _largest(values: npt.NDArray[np.integer]) -> Longs:
    """Return the indices of the largest values, except 0; smaller indices first among equals."""
    found = np.flatnonzero(values)
    return found[np.argsort(-values[found], kind="stable")[:N_NAMED]]


def _names(workload: Manifest, table: str, ids: Longs) -> list[str]:
    """Return the names of some nodes or topics."""
    known = read_table(workload, table)
    numbers = known.column(table.removesuffix("s")).to_numpy()
    at = np.argsort(numbers) if np.any(np.diff(numbers) < 0) else np.arange(len(numbers))
    names: list[str] = known.column("name").take(at[ids]).to_pylist()
    return names


def _check_edges(u: Ints, v: Ints, rank: Ints, n_nodes: int) -> list[str]:
    """Return findings about the table of edges itself."""
    wrong, count = [], len(u)
    unordered = np.count_nonzero(u >= v)
    outside = np.count_nonzero((np.minimum(u, v) < 0) | (np.maximum(u, v) >= n_nodes))
    if unordered:
        wrong.append(f"{unordered:,} edges are not given as u < v")
    if outside:
        wrong.append(f"{outside:,} edges have an end that is not a node id (0-{n_nodes - 1})")
    if not np.array_equal(np.sort(rank), np.arange(count)):
        wrong.append(f"the ranks are not 0..{count - 1}, each once")
    repeated = count_repeated(u, v)
    if repeated:
        wrong.append(f"{repeated:,} edges are listed more than once")
    return wrong


def _check_world(manifest: Manifest, workload: Manifest) -> list[str] | None:
    """Return where a small world (n log n rows) violates Property 1, None for other overlays."""
    if not is_small_world(manifest):
        by_method = manifest.get("method") in SMALL_WORLDS
        return ["by its method it is a small world, but it has no ring"] if by_method else None
    names = read_table(workload, "nodes").sort_by("node").column("name").to_pylist()
    return world_findings(manifest, names)


def _compare(found: Evaluation, manifest: Manifest) -> list[str]:
    """Return where the manifest differs from the evaluation."""
    wrong = []
    for name in ("n_edges", "average_degree", "max_degree", "support", "connected"):
        claimed, real = manifest.get(name), getattr(found, name)
        same = isinstance(claimed, int | float) and math.isclose(claimed, real, abs_tol=1e-12)
        if not same:
            wrong.append(f"the manifest says {name} is {claimed}; it is {real}")
    if manifest.get("n_disconnected") != found.n_disconnected:
        wrong.append(
            f"the manifest says {manifest.get('n_disconnected')} topics are disconnected; "
            f"{found.n_disconnected} are"
        )
    return wrong
