"""Replace a directory as a whole: write a hidden sibling, then rename twice.

The names of siblings carry the writer's host, process id and start time. Only a writer of the same
target on the same host removes what a dead writer left; readers change nothing on disk. A writer
that dies between the two renames leaves the previous directory under its ``.old`` name: the next
writer on that host puts it back, and a reader says where it is.
"""

import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from meshwright.errors import InputError, refuse_other_encoding
from meshwright.runtime.machine import has_ended, process_name

RENAME_SECONDS = 5.0  # how long a reader waits for a writer between its two renames


class Sibling(NamedTuple):
    """A hidden directory next to a target, and the process that made it."""

    path: Path
    role: str  # "tmp": being written; "old": moved aside
    writer: str  # its `process_name`


def sibling(target: Path, role: str) -> Path:
    """Return a new hidden name next to the target that identifies this process."""
    return target.with_name(f".{target.name}.{role}-{process_name()}-{uuid.uuid4().hex[:8]}")


def siblings(target: Path) -> list[Sibling]:
    """Return the directories that writers of this target made next to it, by name."""
    form = re.compile(rf"\.{re.escape(target.name)}\.(old|tmp)-([^-]+-[0-9]+-[0-9a-z]+)-[0-9a-z]+")
    paths = sorted(target.parent.iterdir()) if target.parent.is_dir() else []
    found = [(path, form.fullmatch(path.name)) for path in paths]
    return [Sibling(path, match[1], match[2]) for path, match in found if match]


@contextmanager
def staging_directory(target: Path, *, mode: int = 0o777) -> Iterator[Path]:
    """Make a hidden sibling to write to; remove it at the end unless it was moved into place."""
    refuse_other_encoding(target)
    directory = sibling(target, "tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode)
    except OSError as error:
        raise InputError(
            f"'{target}' cannot be written: {error.strerror}. Choose another -o."
        ) from error
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def move_into_place(directory: Path, target: Path) -> None:
    """Rename a finished directory to the target and delete the directory that was there."""
    aside = sibling(target, "old")
    if target.exists():
        target.rename(aside)
    directory.rename(target)
    shutil.rmtree(aside, ignore_errors=True)


def clean_up(target: Path, is_complete: Callable[[Path], bool]) -> None:
    """Remove what dead writers on this host left; put back a directory they had moved aside.

    For writers of the target only: a reader may run where a living writer cannot be seen.
    """
    for left in siblings(target):
        if not has_ended(left.writer):
            continue
        if left.role == "old" and not target.exists() and is_complete(left.path):
            left.path.rename(target)
        else:
            shutil.rmtree(left.path, ignore_errors=True)


def wait_for_target(target: Path) -> None:
    """Wait while a writer is between its two renames; raise InputError if it ended there."""
    deadline = time.monotonic() + RENAME_SECONDS
    while not target.exists():
        aside = [left for left in siblings(target) if left.role == "old"]
        if not aside:
            return
        if has_ended(aside[-1].writer) or time.monotonic() > deadline:
            raise InputError(
                f"'{target}' was being replaced when its writer stopped. The previous version is "
                f"at '{aside[-1].path}': rename it to '{target.name}', or write it again."
            )
        time.sleep(0.02)


def refuse_overwrite(
    target: Path, is_ours: Callable[[Path], bool], what: str, *, force: bool
) -> None:
    """Raise InputError if writing to `target` would lose something that is not `what`."""
    if not os.path.lexists(target):
        return
    if not force:
        raise InputError(f"'{target}' exists. Pass --force to replace it, or choose another -o.")
    empty = target.is_dir() and not any(target.iterdir())
    if not empty and not is_ours(target):
        raise InputError(
            f"'{target}' exists and is not {what}, so --force will not replace it. "
            "Remove it yourself or choose another -o."
        )
