"""Values on their way to Spark tasks and back, as files on the storage that all of them share.

To tasks: arrays in one file that each process maps once, so all processes of a machine share one
copy in its page cache. The mapping is private: arrays are writable or read-only as they were
before, so kernels compiled for the driver fit the tasks.

Back: small results of tasks that write rows, counts and digests, one file per task; taking them
from the rows would mean to keep or to compute all rows twice. A file is written under a draft name
and renamed, and a task that runs again replaces its file by an equal one. The driver reads all.
"""

import json
import mmap
import os
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

Batches = Iterator[pa.RecordBatch]  # what Spark gives to a task, and gets from it

ALIGNMENT = 64  # bytes; what NumPy gives arrays of its own, at least


def ship(path: Path, value: Any) -> None:
    """Write a value to a file, as a whole: its arrays as raw bytes, the rest as a pickle."""
    buffers: list[pickle.PickleBuffer] = []
    frame = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    header = pickle.dumps((frame, [array.nbytes for array in arrays]))
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    with draft.open("wb") as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for array in arrays:
            file.write(bytes(-file.tell() % ALIGNMENT))
            file.write(array)
    draft.replace(path)


def mapped(path: Path) -> Any:
    """Return the value in a file, with its arrays mapped."""
    with path.open("rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    end = 8 + int.from_bytes(view[:8], "little")
    frame, sizes = pickle.loads(view[8:end])
    arrays = []
    for size in sizes:
        start = end + -end % ALIGNMENT
        end = start + size
        arrays.append(view[start:end])
    return pickle.loads(frame, buffers=arrays)


@lru_cache(maxsize=2)  # a run and what it is compared with; workers outlive runs
def received(path: Path) -> Any:
    """Return the value in a file; the same object each time within one process."""
    return mapped(path)


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


def numbers_in(batches: Batches) -> Iterator[int]:
    """Yield the numbers of a task's share of `spark.range`."""
    for batch in batches:
        yield from batch.column(0).to_pylist()
