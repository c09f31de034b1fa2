"""Datasets to a web page, and the same numbers as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from meshwright.errors import InputError
from meshwright.runtime.progress import Progress
from meshwright.storage.files import new_file, refuse_file

__all__ = ["Written", "make_report", "refuse_target"]

MOST_BYTES = 8_000_000


class Written(NamedTuple):
    """The files of a report and its content."""

    page: Path
    numbers: Path
    document: dict[str, Any]


def make_report(
    datasets: Sequence[str | Path],
    out: str | Path = "report.html",
    *,
    workload: str | Path | None = None,
    problem: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Write a page that opens offline, and its numbers to a `.json` file of the same name.

    Parameters
    ----------
    datasets
        Overlays, runs, assignments and workloads. Datasets of one workload, or of one problem, are
        compared in one section.
    workload, problem
        Where the workload and the problem are, if they were moved.

    """
    from meshwright.report.document import document
    from meshwright.report.page import render
    from meshwright.report.page_data import BUDGETS, trimmed

    page, numbers = refuse_target(out, force=force)
    everything = document(
        datasets,
        workload=Path(workload) if workload is not None else None,
        problem=Path(problem) if problem is not None else None,
        progress=progress,
    )
    for budget in BUDGETS:
        content = trimmed(everything, budget)
        text = render(content)
        size = len(text.encode())
        if size <= MOST_BYTES:
            break
    else:
        raise InputError(
            f"the page would have {size / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:.0f} MB. "
            "Report fewer datasets at once."
        )
    for target, written in (
        (page, text),
        (numbers, json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"),
    ):
        with new_file(target) as file:
            file.write(written)
    return Written(page, numbers, content)


def refuse_target(out: str | Path, *, force: bool) -> tuple[Path, Path]:
    """Return the page and the file of numbers; raise InputError if they cannot be written."""
    page = Path(out)
    numbers = page.with_suffix(".json")
    if page.suffix.lower() not in (".html", ".htm") and not page.is_dir():
        raise InputError(f"the report is a web page; give -o a name such as {page.name}.html.")
    for target in (page, numbers):
        refuse_file(target, force=force)
    return page, numbers
