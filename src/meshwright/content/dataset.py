"""Assignments on disk: the leaf of each subscriber, every filter, and the checker's findings."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from meshwright import storage
from meshwright.content.assignment import Assignment, Filters
from meshwright.content.check import Report, check_tables
from meshwright.content.problem import Problem
from meshwright.content.problem.dataset import lists, matrix_of, read_problem
from meshwright.content.problem.density_file import density_json, density_of
from meshwright.content.stored import AnyAssignment
from meshwright.errors import InputError
from meshwright.runtime.arrays import Floats, Ints

MEASURES = ("bandwidth", "lbf", "delay_rms", "delay_max", "load_stdev")  # `check` recomputes them


def write_assignment(
    assignment: Assignment,
    out: str | Path,
    problem: str | Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    force: bool = False,
) -> storage.Manifest:
    """Write an assignment as a dataset that names its problem.

    `overrides` are the limits that replaced those of the problem's dataset, as given to
    `Problem.with_limits`.
    """
    with storage.staging(Path(out), "assignment", force=force) as stage:
        ids, broker = np.arange(len(assignment.broker), dtype=np.int32), assignment.broker
        columns = {"subscriber": ids, "broker": broker.astype(np.int32)}
        storage.write_table(stage.table("assignment"), pa.table(columns))
        return publish(stage, assignment, problem, overrides or {})


def publish(
    stage: storage.Staging,
    assignment: AnyAssignment,
    problem: str | Path,
    overrides: Mapping[str, Any],
) -> storage.Manifest:
    """Write the filters and publish a dataset whose table `assignment` is already written."""
    filters = assignment.filters
    boxes = {"low": lists(filters.low), "high": lists(filters.high)}
    columns = {"broker": filters.broker.astype(np.int32), **boxes}
    storage.write_table(stage.table("filters"), pa.table(columns))
    # A problem that was made in memory is the one that the dataset holds now.
    read = assignment.problem.read_digest
    replaced = dict(overrides)
    if replaced.get("density") is not None:
        replaced["density"] = density_json(replaced["density"])
    return stage.publish(
        {
            "problem": str(Path(problem).absolute()),
            "problem_digest": read or storage.open_dataset(Path(problem), "problem")["digest"],
            "overrides": replaced,
            "method": assignment.method,
            "parameters": _as_json(dict(assignment.parameters)),
            "seconds": round(assignment.seconds, 3),
            **certificate(assignment),
        }
    )


def certificate(assignment: AnyAssignment) -> dict[str, Any]:
    """Return the measures and bounds of an assignment, and the checker's findings."""
    problem, report, measures = assignment.problem, assignment.report, assignment.measures
    loads = measures.loads[problem.tree.leaves]
    facts = {
        "bandwidth": measures.bandwidth,
        "bound": assignment.bound.value,
        "bound_is_exact": assignment.bound.is_exact,
        "fractional": assignment.fractional,
        "n_candidate_boxes": assignment.notes.get("n_candidate_boxes"),
        **{name: getattr(measures, name) for name in MEASURES[1:]},
        "load_min": int(loads.min()),
        "load_max": int(loads.max()),
        **{limit: getattr(problem, limit) for limit in ("alpha", "beta", "beta_max")},
        "within_beta": report.within_beta,
        "feasible": report.feasible,
        "violations": report.as_dict(),
        "obstacle": asdict(assignment.obstacle) if assignment.obstacle else None,
        "notes": dict(assignment.notes),
    }
    return {name: _as_json(value) for name, value in facts.items()}


class Tables(NamedTuple):
    """The tables of a dataset as they are; an id that is missing is -1, a coordinate NaN."""

    subscriber: Ints  # int32[rows], in any order
    broker: Ints  # int32[rows]
    box_broker: Ints  # int32[boxes]
    low: Floats  # float64[boxes, d]
    high: Floats  # float64[boxes, d]


def load_assignment(path: str | Path, problem: str | Path | None = None) -> Assignment:
    """Return the assignment of a dataset; its problem is read from its own dataset."""
    return read_assignment(storage.open_dataset(Path(path), "assignment"), problem)


def read_assignment(manifest: storage.Manifest, problem: str | Path | None = None) -> Assignment:
    """Return the assignment of a dataset that is open."""
    found, tables = _read(manifest, problem)
    if not np.array_equal(np.sort(tables.subscriber), np.arange(found.n_subscribers)):
        advice = "Assign it again, or see what is wrong with `meshwright check`."
        raise InputError(f"'{manifest.path}' does not have each subscriber once. {advice}")
    return _assignment(manifest, found, tables)


class Claims(NamedTuple):
    """What the checker says of an assignment on disk, and which of its claims are wrong."""

    report: Report
    findings: tuple[str, ...]


def check_claims(path: str | Path, problem: str | Path | None = None) -> Claims:
    """Return the checker's report on a dataset, and the claims of its manifest that are wrong."""
    manifest = storage.open_dataset(Path(path), "assignment")
    found, tables = _read(manifest, problem)
    report = check_tables(found, *tables)
    claimed = {name: violation["count"] for name, violation in manifest["violations"].items()}
    counted = {violation.constraint: violation.count for violation in report.violations}
    findings = []
    if manifest["feasible"] != report.feasible or claimed != counted:
        findings.append(f"violations: {counted or 'none'}, claimed {claimed or 'none'}")
    if not report.count("assigned") and not report.count("strays"):
        measures = _assignment(manifest, found, tables).measures
        for name in MEASURES:
            value = _as_json(getattr(measures, name))
            if not _equal(manifest[name], value):
                findings.append(f"{name}: {value}, claimed {manifest[name]}")
    return Claims(report, tuple(findings))


def _read(manifest: storage.Manifest, problem: str | Path | None) -> tuple[Problem, Tables]:
    """Return the problem of a dataset with the limits used, and its tables."""
    overrides = dict(manifest["overrides"])
    if "density" in overrides:
        overrides["density"] = density_of(overrides["density"])
    found = read_problem(storage.find_input(manifest, "problem", problem)).with_limits(**overrides)
    rows = storage.read_table(manifest, "assignment", ["subscriber", "broker"])
    boxes = storage.read_table(manifest, "filters", ["broker", "low", "high"])
    low, high = matrix_of(boxes.column("low")), matrix_of(boxes.column("high"))
    if low is None or high is None or low.shape != high.shape:
        low = high = np.full((len(boxes), found.n_dimensions), np.nan)
    subscriber, broker, box_broker = (
        column.combine_chunks().fill_null(-1).to_numpy()
        for column in (rows.column("subscriber"), rows.column("broker"), boxes.column("broker"))
    )
    return found, Tables(subscriber, broker, box_broker, low, high)


def _assignment(manifest: storage.Manifest, problem: Problem, tables: Tables) -> Assignment:
    order = np.argsort(tables.box_broker, kind="stable")
    filters = Filters(tables.box_broker[order], tables.low[order], tables.high[order])
    broker = tables.broker[np.argsort(tables.subscriber)]
    facts = ("method", "parameters", "fractional", "notes", "seconds")
    more = {fact: manifest[fact] for fact in facts}
    return Assignment(problem=problem, broker=broker, filters=filters, **more)


def _equal(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def _as_json(value: Any) -> Any:
    """Return a value that JSON can hold: infinity becomes null, NumPy numbers become Python's."""
    if isinstance(value, dict):
        return {name: _as_json(part) for name, part in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
