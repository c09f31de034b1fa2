"""Small results of Spark tasks that write rows: counts and digests, one JSON file per task.

Tasks write their results to a directory on the storage that their tables go to; taking them from
the rows would mean to keep or to compute all rows twice. A file is written under a draft name and
renamed, and a task that runs again replaces its file by an equal one. The driver reads all files.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def task_file(directory: Path, suffix: str) -> Iterator[Path]:
    """Yield the draft of a file of this task; it takes its name when the block ends."""
    from pyspark import TaskContext

    context = TaskContext.get()
    part, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
    directory.mkdir(parents=True, exist_ok=True)
    draft = directory / f".{part}-{attempt}-{os.getpid()}"
    yield draft
    draft.replace(directory / f"{part}.{suffix}")


def write_task_result(directory: Path, result: Mapping[str, Any]) -> None:
    """Write the result of this task; bytes become hexadecimal text."""
    with task_file(directory, "json") as draft:
        draft.write_text(json.dumps(result, default=bytes.hex))


def read_task_results(directory: Path) -> list[dict[str, Any]]:
    """Return the results of all tasks, in no particular order."""
    return [json.loads(path.read_text()) for path in directory.glob("*.json")]
