"""Single files and plain directories that a command writes: exported links, reports, demos."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from meshwright.errors import InputError
from meshwright.storage.store import refuse_overwrite


def refuse_file(target: Path, *, force: bool) -> None:
    """Raise InputError if `target` cannot be written as a file, before any work is done."""
    if target.is_dir():
        raise InputError(f"'{target}' is a directory; give -o a file name.")
    place = next(parent for parent in target.absolute().parents if parent.exists())
    if not place.is_dir():
        raise InputError(f"'{target}' cannot be written: '{place}' is a file. Choose another -o.")
    if not force:
        refuse_overwrite(target, force=False)


@contextmanager
def new_file(target: Path) -> Iterator[TextIO]:
    """Open a text file that takes its name when the block ends without an error.

    Its directory is made if it is missing. Raise InputError if the file cannot be written.
    """
    part = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
        part.replace(target)
    except OSError as error:
        raise _cannot_write(target, error) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def make_directory(target: Path) -> None:
    """Make a directory, and those above it, if it is missing; raise InputError if it cannot be."""
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(target, error) from error


def _cannot_write(target: Path, error: OSError) -> InputError:
    return InputError(f"'{target}' cannot be written: {error.strerror}. Choose another -o.")
