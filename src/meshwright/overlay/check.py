"""`check`: recompute everything that an overlay's manifest says, on Spark.

Topics are independent: each task takes some of them and searches their sub-overlays breadth-first.
Subscriptions and links reach the tasks in one file that every process maps. Nothing of this is
shared with the engine that designed the overlay. The gains by rank and the bounds are recomputed in
this process.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from meshwright.errors import damaged
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay, count_joins, count_repeated, gains_of
from meshwright.overlay.bounds import Certify, find_bounds
from meshwright.overlay.dataset import designed_for, is_small_world, world_findings
from meshwright.overlay.dependence import Failing, Losses, find_dependence
from meshwright.overlay.greedy.rule import Restrictions
from meshwright.overlay.kernels import dependence as kernel
from meshwright.overlay.kernels.topics import topic_costs
from meshwright.overlay.limits_tables import limit_findings, read_limit_tables
from meshwright.overlay.losses import named_splits, survival_facts
from meshwright.overlay.methods import SMALL_WORLDS
from meshwright.overlay.relays import find_relays
from meshwright.overlay.restricted import restrictions_of
from meshwright.overlay.topics import evaluate_range
from meshwright.runtime.arrays import Ints, Longs
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.tasks import Batches, numbers_in, received, ship, task_file
from meshwright.runtime.threads import cut
from meshwright.storage import Manifest, find_input, open_dataset, read_table, scratch_beside

N_STEPS = 4
N_NAMED = 10  # busiest nodes and disconnected topics that are named
PART = 5_000_000  # subscribers and their links that a task reads: about a second

MEASURES = (  # of the manifest, by their names in an Evaluation
    *("n_edges", "average_degree", "max_degree", "median_degree"),
    *("support", "connected", "n_disconnected"),
)
COLUMNS = ("topic", "components", "largest", "diameter_low", "diameter_high", "splitting")  # int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An overlay as recomputed; `findings` lists where its manifest differs."""

    n_edges: int
    average_degree: float
    max_degree: int
    median_degree: float
    support: float
    connected: bool
    n_disconnected: int
    disconnected: tuple[str, ...]  # the first, by most components
    busiest: tuple[tuple[str, int], ...]  # the nodes with most links
    n_split: int  # topics that the loss of one node splits
    worst: tuple[tuple[str, int, int, int], ...]  # whose loss: topics, deliveries, subscribers
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
    with progress.step("reading the workload"):
        instance = Instance.read(source)
        if instance.compute_digest() != source["digest"]:
            raise damaged(source.path, "its content has another digest than its manifest says")
        instance = designed_for(manifest, instance)
    n_nodes = instance.n_nodes
    with progress.step("checking the links"):
        carries, limits, links = read_limit_tables(manifest, instance)
        restrictions = restrictions_of(carries, limits, links)
        edges = read_table(manifest, "edges")
        u, v, rank, gain = (edges.column(c).to_numpy() for c in ("u", "v", "rank", "gain"))
        findings, made = _check_edges(u, v, rank, n_nodes), None
        if not findings:
            order = np.argsort(rank)
            links_made = np.column_stack((u, v))[order]
            made = Overlay(
                instance,
                links_made,
                gain[order],
                "",
                manifest["parameters"],
                carries=carries,
                limits=limits,
                links=links,
            )
            findings = _check_order(made, restrictions, manifest["bounds"])
            findings += limit_findings(manifest, made)
            findings += _check_dependence(manifest, made)
            findings += _check_relays(manifest, made)
        property_1 = _check_world(manifest, instance)
        findings += property_1 or []
        known = (u >= 0) & (v >= 0) & (u < n_nodes) & (v < n_nodes)
        u, v, rank = u[known], v[known], rank[known]
        degrees = np.bincount(u, minlength=n_nodes) + np.bincount(v, minlength=n_nodes)
        busiest = _largest(degrees)
    with progress.step("searching every topic's sub-overlay"):
        in_order = np.column_stack((u, v))[np.argsort(rank, kind="stable")]
        failing = Failing.of(instance, carries, in_order)
        del edges, u, v, rank, known, in_order
        found, losses = _evaluate(spark, failing, directory, part)
        if made is not None:
            findings += _check_survival(manifest, made, found)
    with progress.step("comparing with the manifest"):
        subscribers = np.diff(failing.graph.topic_ptr)
        apart = np.maximum(found["components"] - 1, 0)
        whole = (found["components"] == 1) & (found["diameter_low"] == found["diameter_high"])
        spread = np.unique_counts(found["diameter_low"][whole])
        full = count_joins(instance, carries)
        joined = full - int(apart.sum(dtype=np.int64))
        if gain.sum(dtype=np.int64) != joined:
            findings.append(f"the gains of the edges sum to {gain.sum():,}; they join {joined:,}")
        findings += _check_topics(manifest, subscribers, found)
        n_edges = manifest.rows["edges"]
        evaluation = Evaluation(
            n_edges=n_edges,
            average_degree=2 * n_edges / n_nodes if n_nodes else 0.0,
            max_degree=_most(degrees),
            median_degree=float(np.median(degrees)) if n_nodes else 0.0,
            support=joined / full if full else 1.0,
            connected=not apart.any(),
            n_disconnected=int(np.count_nonzero(apart)),
            disconnected=_names(instance.topic_names, _largest(apart)),
            busiest=tuple(
                zip(_names(instance.node_names, busiest), degrees[busiest].tolist(), strict=True)
            ),
            n_split=int(np.count_nonzero(found["splitting"])),
            worst=tuple(
                (instance.node_names[v], *(int(count[v]) for count in losses))
                for v in losses.worst(N_NAMED).tolist()
            ),
            diameter=(_most(found["diameter_low"]), _most(found["diameter_high"])),
            diameters=tuple(zip(spread.values.tolist(), spread.counts.tolist(), strict=True)),
            property_1=None if property_1 is None else not property_1,
            findings=(),
        )
        first = _names(instance.topic_names, np.flatnonzero(apart)[:N_NAMED])
        real = {name: getattr(evaluation, name) for name in MEASURES}
        findings += _differences(manifest.facts, {**real, "disconnected": list(first)})
    return replace(evaluation, findings=tuple(findings))


def _evaluate(
    spark: SparkSession, failing: Failing, target: Path, part: int
) -> tuple[dict[str, Ints], Losses]:
    """Return for each topic, in columns: components, the largest, the diameter, who splits it.

    And what the loss of each node costs.
    """
    graph = failing.graph
    cuts = cut(topic_costs(graph), part)
    n_parts, schema = len(cuts) - 1, ", ".join(f"{name} int" for name in COLUMNS)
    with scratch_beside(target) as scratch:
        shipped, costs = scratch / "sub-overlays", scratch / "losses"
        ship(shipped, failing)

        def search(batches: Batches) -> Batches:
            for number in numbers_in(batches):
                first, last = int(cuts[number]), int(cuts[number + 1])
                here = received(shipped)
                rows = evaluate_range(here.graph, first, last)
                lost, splitting = kernel.count_lost(*here, first, last)
                nodes = np.flatnonzero(lost[kernel.TOPICS])
                with task_file(costs, f"{number}.npy") as draft, draft.open("wb") as file:
                    np.save(file, np.vstack((nodes, lost[:, nodes])))
                columns = np.column_stack((np.arange(first, last), rows, splitting))
                yield _batch(columns.astype(np.int32).T, COLUMNS)

        table = spark.range(0, n_parts, 1, n_parts).mapInArrow(search, schema).toArrow()
        total = np.zeros((len(Losses._fields), len(graph.owned_ptr) - 1), np.int64)
        for file in costs.glob("*.npy"):
            nodes, *lost = np.load(file)
            total[:, nodes] += lost
    found = {name: table.sort_by("topic").column(name).to_numpy() for name in COLUMNS}
    return found, Losses(*total)


def _batch(columns: Iterable[npt.NDArray[Any]], names: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], list(names))


def _check_survival(manifest: Manifest, overlay: Overlay, found: Mapping[str, Ints]) -> list[str]:
    """Return where an overlay that is to survive does not, or not as the manifest says.

    For one loss the cut vertices that were found prove it. Several losses at once, and leaves with
    a second carrier, are looked at loss by loss.
    """
    survive = overlay.parameters.get("survive")
    if not survive:
        return []
    if survive == 1 and overlay.carries is None:
        split = np.flatnonzero((found["splitting"] > 0) | (found["components"] > 1))
        facts = named_splits(_names(overlay.instance.topic_names, split))
    else:
        facts = survival_facts(overlay)
    return _differences(manifest.facts, facts)


def _most(values: npt.NDArray[np.integer]) -> int:
    return int(values.max(initial=0))


def _largest(values: npt.NDArray[np.integer]) -> Longs:
    """Return the indices of the largest values, except 0; smaller indices first among equals."""
    found = np.flatnonzero(values)
    return found[np.argsort(-values[found], kind="stable")[:N_NAMED]]


def _names(names: Sequence[str], ids: Longs) -> tuple[str, ...]:
    return tuple(names[i] for i in ids.tolist())


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


def _check_order(
    overlay: Overlay, restrictions: Restrictions, claimed: Mapping[str, Any] | None
) -> list[str]:
    """Return where the gains of edges given by rank are false, and the bounds if any are claimed.

    The methods use these kernels too; the tests compare them with naive twins.
    """
    instance, edges = overlay.instance, overlay.edges
    wrong = []
    different = np.count_nonzero(gains_of(instance, edges, overlay.carries) != overlay.gains)
    if different:
        wrong.append(f"{different:,} edges did not join as many topics as their gain says")
    if claimed is not None:
        effort = Certify.again(claimed)
        survive = overlay.parameters.get("survive") or 0
        found = find_bounds(instance, edges, restrictions, effort, survive).numbers()
        known = {name: value for name, value in found.items() if name in claimed}
        wrong += _differences(claimed, known, "the bound ")
    return wrong


def _check_dependence(manifest: Manifest, overlay: Overlay) -> list[str]:
    """Return where the manifest is wrong about the node that most depends on, if it names one."""
    claimed, found = manifest.get("dependence"), find_dependence(overlay)
    if not isinstance(claimed, dict) or found is None:
        return []
    return _differences(claimed, found.as_dict(), "of dependence ")


def _check_relays(manifest: Manifest, overlay: Overlay) -> list[str]:
    """Return where the manifest is wrong about relays, if it counts them."""
    claimed, found = manifest.get("relays"), find_relays(overlay)
    if not isinstance(claimed, dict) or found is None:
        return []
    return _differences(claimed, found.as_dict(), "of relays ")


def _check_topics(manifest: Manifest, subscribers: Longs, found: dict[str, Ints]) -> list[str]:
    """Return where the table of topics differs from what was found."""
    if "topics" not in manifest.rows:
        return []
    rows = read_table(manifest, "topics").sort_by("topic")
    share = np.divide(
        found["largest"], subscribers, out=np.ones(len(subscribers)), where=subscribers > 0
    )
    real: dict[str, npt.NDArray[Any]] = {
        "topic": np.arange(len(subscribers)),
        "subscribers": subscribers,
        "components": found["components"],
        "connected_share": share,
    }
    if len(rows) != len(subscribers):
        return [f"table 'topics' has {len(rows):,} rows for {len(subscribers):,} topics"]
    wrong = {
        name: np.count_nonzero(~np.isclose(rows.column(name).to_numpy(), values))
        for name, values in real.items()
    }
    return [f"table 'topics' is wrong about {c} of {n:,} topics" for c, n in wrong.items() if n]


def _check_world(manifest: Manifest, instance: Instance) -> list[str] | None:
    """Return where a small world (n log n rows) violates Property 1, None for other overlays."""
    if not is_small_world(manifest):
        by_method = manifest.get("method") in SMALL_WORLDS
        return ["by its method it is a small world, but it has no ring"] if by_method else None
    return world_findings(manifest, list(instance.node_names))


def _differences(claimed: Mapping[str, Any], real: Mapping[str, Any], what: str = "") -> list[str]:
    """Return where claims of the manifest are not what was found."""
    return [
        f"the manifest says {what}{name} is {claimed.get(name)}; it is {value}"
        for name, value in real.items()
        if not _same(claimed.get(name), value)
    ]


def _same(claimed: object, real: object) -> bool:
    if isinstance(claimed, int | float) and isinstance(real, int | float):
        return math.isclose(claimed, real, abs_tol=1e-12)
    return claimed == real
