"""`frontier` on Spark: one task for each cap on the maximum degree.

The plan without a cap comes first, in this process: its maximum degree and its bound say which caps
are worth a search, and the tasks find the kernels compiled. The interests reach the tasks in one
file that every process maps. A search depends on its cap and its seed alone, so the points are the
same for any number of partitions.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.overlay import design
from meshwright.overlay.frontier import (
    POINTS,
    Frontier,
    check_frontier,
    choose_caps,
    refuse_points,
    write_frontier,
)
from meshwright.overlay.methods.refined import check_size
from meshwright.overlay.restricted import read_limits, read_links
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.tasks import Batches, numbers_in, received, ship
from meshwright.storage import open_dataset, scratch_beside

N_STEPS = 4
PLANS = StructType([StructField("cap", IntegerType()), StructField("plan", BinaryType())])


def frontier_on_spark(
    spark: SparkSession,
    workload: str | Path,
    out: str | Path,
    *,
    points: int = POINTS,
    partitions: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
    **search: Any,
) -> Frontier:
    """Write the frontier of a workload; `search` are options of `design` for `refined`.

    These are `seconds`, `rounds` and `seed`, and `limits` and `links`, which all plans obey.
    `partitions` is the number of tasks, by default one for each cap.
    """
    check_frontier(points, **search)
    target, progress = Path(out).resolve(), progress or no_progress()
    refuse_points(target, force=force)
    with progress.step("reading the workload"):
        instance = Instance.read(open_dataset(Path(workload), "workload"))
        check_size(instance)
        search = _with_ids(instance, search)
    with progress.step("designing without a cap"):
        free = design(instance, "refined", on_progress=progress.update, **search)
    if free.parameters.get("interrupted"):
        raise KeyboardInterrupt
    assert free.bounds is not None
    caps = choose_caps(free.bounds.max_degree, free.max_degree, points)
    refuse_points(target, caps, force=force)
    with progress.step("designing for each cap"), scratch_beside(target) as scratch:
        found = _plans(spark, free, caps, search, partitions or len(caps), scratch)
    with progress.step("writing the overlays"):
        return write_frontier({**found, None: free}, target, workload, force=force)


def _with_ids(instance: Instance, search: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with limits and links read: tasks know nothing of names."""
    limits = read_limits(search.get("limits"), instance)
    return {**search, "limits": limits, "links": read_links(search.get("links"), instance)}


def _plans(
    spark: SparkSession,
    free: Overlay,
    caps: Sequence[int],
    search: Mapping[str, Any],
    partitions: int,
    scratch: Path,
) -> dict[int | None, Overlay]:
    """Return the plan for each cap."""
    if not caps:
        return {}
    interests, options = scratch / "interests", dict(search)
    demand = free.instance
    ship(interests, (demand.indptr, demand.topics, demand.n_topics))

    def find(batches: Batches) -> Batches:
        for number in numbers_in(batches):
            instance = Instance.from_arrays(*received(interests))
            plan = design(instance, "refined", max_degree=caps[number], **options)
            values = plan.edges, plan.gains, dict(plan.parameters), plan.bounds, plan.seconds
            rows = {"cap": [caps[number]], "plan": [pickle.dumps(values)]}
            yield pa.RecordBatch.from_pydict(
                rows, pa.schema([("cap", pa.int32()), ("plan", "binary")])
            )

    numbers = spark.range(0, len(caps), 1, partitions)
    rows = numbers.mapInArrow(find, PLANS).collect()
    found = {row["cap"]: pickle.loads(row["plan"]) for row in rows}
    return {cap: _with_names(free, found[cap]) for cap in caps}


def _with_names(free: Overlay, values: tuple[Any, ...]) -> Overlay:
    """Return the plan of a task as one of the workload; tasks know nothing of names."""
    edges, gains, parameters, bounds, seconds = values
    return replace(
        free,
        edges=edges,
        gains=gains,
        parameters={**free.parameters, **parameters},
        bounds=bounds,
        seconds=seconds,
        _components=[],
    )
