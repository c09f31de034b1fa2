"""Datasets -> a page to look at, and the same numbers as JSON."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from meshwright.datasets import refuse_overwrite
from meshwright.errors import InputError
from meshwright.spark.progress import Progress

__all__ = ["Written", "make_report", "refuse_target"]

MOST_BYTES = 8_000_000


class Written(NamedTuple):
    """Where a report is, and what is in it."""

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
    """Write the report on some datasets: a page that opens offline, and `.json` beside it.

    Parameters
    ----------
    datasets
        Overlays, runs, assignments and workloads. Those of one workload, or of one problem, are
        compared in one section; others get a section of their own.
    workload, problem
        Where these are, if they were moved.

    """
    from meshwright.report.document import document
    from meshwright.report.page import render
    from meshwright.report.room import ROOMS, trimmed

    page, numbers = refuse_target(out, force=force)
    everything = document(
        datasets,
        workload=Path(workload) if workload is not None else None,
        problem=Path(problem) if problem is not None else None,
        progress=progress,
    )
    for room in ROOMS:
        content = trimmed(everything, room)
        text = render(content)
        size = len(text.encode())
        if size <= MOST_BYTES:
            break
    else:
        raise InputError(
            f"the page would have {size / 1e6:.1f} MB, and {MOST_BYTES / 1e6:.0f} MB are the most. "
            "Report fewer datasets at once."
        )
    _write(page, text)
    _write(numbers, json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n")
    return Written(page, numbers, content)


def refuse_target(out: str | Path, *, force: bool) -> tuple[Path, Path]:
    """Return the page and the file of numbers; raise when writing them would lose something."""
    page = Path(out)
    if page.is_dir():
        raise InputError(
            f"'{page}' is a directory; give -o a file, for example {page / 'report.html'}."
        )
    if page.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"the report is a web page; give -o a name such as {page.name}.html.")
    place = next(parent for parent in page.absolute().parents if parent.exists())
    if not place.is_dir():
        raise InputError(f"'{place}' is a file, so '{page}' cannot be written. Choose another -o.")
    numbers = page.with_suffix(".json")
    for target in (page, numbers):
        if numbers.is_dir():
            raise InputError(f"'{numbers}' is a directory; choose another -o.")
        if not force:
            refuse_overwrite(target, force=False)
    return page, numbers


def _write(target: Path, text: str) -> None:
    """Write a file so that it is either whole or not there."""
    part = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise InputError(
            f"'{target}' cannot be written: {error.strerror}. Choose another -o."
        ) from error
