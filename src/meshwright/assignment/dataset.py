"""Answers on disk: who is attached where, every filter, and what the checker says of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from meshwright.assignment.answer import Answer, Filters
from meshwright.assignment.check import Report, check_tables
from meshwright.datasets import (
    Manifest,
    Staging,
    open_dataset,
    read_table,
    staging,
    write_table,
)
from meshwright.errors import InputError
from meshwright.problem import Problem
from meshwright.problem.dataset import density_of, lists, load_problem, matrix_of

CLAIMED = ("bandwidth", "lbf", "delay_rms", "delay_max", "load_stdev")  # measures, recomputed


def write_answer(
    answer: Answer,
    out: str | Path,
    problem: str | Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Manifest:
    """Write an answer as a dataset that remembers its problem.

    `overrides` are limits that are not those of the problem's dataset, as given to
    `Problem.with_limits`.
    """
    with staging(Path(out), "assignment", force=force) as stage:
        write_table(
            stage.table("assignment"),
            pa.table(
                {
                    "subscriber": pa.array(np.arange(len(answer.broker), dtype=np.int32)),
                    "broker": pa.array(answer.broker.astype(np.int32)),
                }
            ),
        )
        return publish(stage, answer, problem, overrides or {})


def publish(
    stage: Staging, answer: Answer, problem: str | Path, overrides: Mapping[str, Any]
) -> Manifest:
    """Write the filters and publish a dataset whose table `assignment` is written."""
    filters = answer.filters
    write_table(
        stage.table("filters"),
        pa.table(
            {
                "broker": pa.array(filters.broker.astype(np.int32)),
                "low": lists(filters.low),
                "high": lists(filters.high),
            }
        ),
    )
    return stage.publish(
        {
            "problem": str(Path(problem).absolute()),
            "problem_digest": _stored_digest(problem),
            "overrides": _plain_limits(overrides),
            "method": answer.method,
            "parameters": _told(dict(answer.parameters)),
            "seconds": round(answer.seconds, 3),
            **certificate(answer),
        }
    )


def certificate(answer: Answer) -> dict[str, Any]:
    """Return what an answer is worth: measures, bounds, and the checker's verdict."""
    measures, problem, report = answer.measures, answer.problem, answer.report
    loads = measures.loads[problem.tree.leaves]
    facts = {
        "bandwidth": measures.bandwidth,
        "bound": answer.bound.value,
        "bound_is_exact": answer.bound.is_exact,
        "fractional": answer.fractional,
        "n_candidate_boxes": answer.notes.get("n_candidate_boxes"),
        "lbf": measures.lbf,
        "delay_rms": measures.delay_rms,
        "delay_max": measures.delay_max,
        "load_stdev": measures.load_stdev,
        "load_min": int(loads.min()),
        "load_max": int(loads.max()),
        "alpha": problem.alpha,
        "beta": problem.beta,
        "beta_max": problem.beta_max,
        "within_beta": report.within_beta,
        "feasible": report.feasible,
        "violations": report.as_dict(),
        "obstacle": answer.obstacle.as_dict() if answer.obstacle else None,
        "notes": dict(answer.notes),
    }
    return {name: _told(value) for name, value in facts.items()}


def load_answer(path: str | Path, problem: str | Path | None = None) -> Answer:
    """Return an answer from its dataset and that of its problem."""
    directory = Path(path)
    manifest = open_dataset(directory, "assignment")
    asked = _load_problem(manifest, directory, Path(problem) if problem else None)
    subscriber, broker, boxes = _tables(directory, asked)
    if not np.array_equal(np.sort(subscriber), np.arange(asked.n_subscribers)):
        raise InputError(
            f"'{directory}' does not have each subscriber once. Assign it again, "
            "or see what is wrong with `check_dataset`."
        )
    order = np.argsort(boxes[0], kind="stable")
    return Answer(
        problem=asked,
        method=manifest["method"],
        broker=broker[np.argsort(subscriber)],
        filters=Filters(boxes[0][order], boxes[1][order], boxes[2][order]),
        parameters=manifest["parameters"],
        fractional=manifest["fractional"],
        notes=manifest["notes"],
        seconds=manifest["seconds"],
    )


def check_dataset(path: str | Path, problem: str | Path | None = None) -> Report:
    """Check the tables of a dataset, whatever is wrong with them."""
    directory = Path(path)
    manifest = open_dataset(directory, "assignment")
    asked = _load_problem(manifest, directory, Path(problem) if problem else None)
    subscriber, broker, boxes = _tables(directory, asked)
    return check_tables(asked, subscriber, broker, *boxes)


def check_claims(
    path: str | Path, problem: str | Path | None = None
) -> tuple[Report, tuple[str, ...]]:
    """Return the checker's report of a dataset, and what its manifest claims that is not so."""
    directory = Path(path)
    manifest = open_dataset(directory, "assignment")
    report = check_dataset(directory, problem)
    claimed = {name: found["count"] for name, found in manifest["violations"].items()}
    counted = {found.constraint: found.count for found in report.violations}
    findings = []
    if manifest["feasible"] != report.feasible or claimed != counted:
        findings.append(f"violations: {counted or 'none'}, claimed {claimed or 'none'}")
    if not report.count("assigned") and not report.count("strays"):
        answer = load_answer(directory, problem)
        now = {name: _told(getattr(answer.measures, name)) for name in CLAIMED}
        for name, value in now.items():
            if not _alike(manifest[name], value):
                findings.append(f"{name}: {value}, claimed {manifest[name]}")
    return report, tuple(findings)


def _alike(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def find_problem(manifest: Manifest, answer: Path, problem: Path | None) -> Path:
    """Return the problem of an answer: as given, where it was, or beside the answer."""
    recorded = Path(manifest["problem"])
    beside = answer.absolute().parent / recorded.name
    places = [problem] if problem is not None else [recorded, beside]
    for place in places:
        if not place.exists():
            continue
        if _stored_digest(place) != manifest["problem_digest"]:
            raise InputError(
                f"'{answer}' answers another problem than '{place}' holds now. "
                "Assign it again, or name the right one with --problem."
            )
        return place
    if problem is not None:
        raise InputError(f"there is no problem at '{problem}'; check what --problem names.")
    raise InputError(
        f"the problem of '{answer}' is not at '{places[0]}' any more. Name it with --problem."
    )


def _load_problem(manifest: Manifest, directory: Path, problem: Path | None) -> Problem:
    overrides = dict(manifest["overrides"])
    if "density" in overrides:
        overrides["density"] = density_of(overrides["density"])
    return load_problem(find_problem(manifest, directory, problem)).with_limits(**overrides)


def _tables(
    directory: Path, problem: Problem
) -> tuple[
    npt.NDArray[np.int32],
    npt.NDArray[np.int32],
    tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], npt.NDArray[np.float64]],
]:
    """Return the subscribers and their brokers, and the boxes; what is no number becomes none."""
    rows = read_table(directory, "assignment", ["subscriber", "broker"])
    boxes = read_table(directory, "filters", ["broker", "low", "high"])
    low, high = matrix_of(boxes.column("low")), matrix_of(boxes.column("high"))
    if low is None or high is None or low.shape != high.shape:
        low = high = np.full((len(boxes), problem.n_dimensions), np.nan)
    ids = [
        column.combine_chunks().fill_null(-1).to_numpy()
        for column in (rows.column("subscriber"), rows.column("broker"), boxes.column("broker"))
    ]
    return ids[0], ids[1], (ids[2], low, high)


def _stored_digest(problem: str | Path) -> str:
    digest: str = open_dataset(Path(problem), "problem")["digest"]
    return digest


def _plain_limits(overrides: Mapping[str, Any]) -> dict[str, Any]:
    plain = dict(overrides)
    density = plain.get("density")
    if density is not None:
        edges = [axis.tolist() for axis in density.edges]
        plain["density"] = {"edges": edges, "values": density.values.tolist()}
    return plain


def _told(value: Any) -> Any:
    """Return a value as JSON has it: there is no infinity, and NumPy's numbers are unknown."""
    if isinstance(value, dict):
        return {name: _told(part) for name, part in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
