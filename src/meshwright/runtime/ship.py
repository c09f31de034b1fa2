"""Send a value made of arrays to Spark tasks: one file, mapped once per process.

A task maps the file instead of reading it, so all processes of a machine share one copy in its page
cache. The mapping is private: arrays are writable or read-only as they were before, so kernels
compiled for the driver fit the tasks.
"""

import mmap
import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any

ALIGNMENT = 64  # bytes; what NumPy gives arrays of its own, at least


def ship(path: Path, value: Any) -> None:
    """Write a value to a file: its arrays as raw bytes, the rest as a pickle."""
    buffers: list[pickle.PickleBuffer] = []
    frame = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    header = pickle.dumps((frame, [array.nbytes for array in arrays]))
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for array in arrays:
            file.write(bytes(-file.tell() % ALIGNMENT))
            file.write(array)


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
