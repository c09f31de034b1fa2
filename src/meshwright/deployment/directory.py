"""A directory of configurations on disk: written beside, proved, and moved into place."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meshwright.datasets.replacing import OURS, clean_up, move_into_place, sibling
from meshwright.errors import InputError

FILE = "plan.json"
KIND = "mosquitto"
FORMAT_VERSION = 1


@contextmanager
def staged(target: Path, *, force: bool, secret: bool) -> Iterator[Path]:
    """Give a directory to write to; it takes the target's place if the block ends well.

    A crash between the two renames of a replacement leaves the old one under its ``.old`` name,
    and the next reader or writer puts it back.
    """
    put_back(target)
    refuse_replacing(target, force=force)
    place = sibling(target, "tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(mode=0o700 if secret else 0o755)
    except OSError as error:
        raise InputError(
            f"'{target}' cannot be written: {error.strerror}. Choose another -o."
        ) from error
    OURS.add(place)
    try:
        yield place
        refuse_replacing(target, force=force)  # again: another run may have finished there
        move_into_place(place, target)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        OURS.discard(place)


def refuse_replacing(target: Path, *, force: bool) -> None:
    """Raise when writing to `target` would lose something."""
    if not os.path.lexists(target):
        return
    if not force:
        raise InputError(f"'{target}' exists. Pass --force to replace it, or choose another -o.")
    empty = target.is_dir() and not any(target.iterdir())
    if not empty and not is_conf(target):
        raise InputError(
            f"'{target}' exists and holds no {FILE} of `meshwright deploy`, so --force will not "
            "replace it. Remove it yourself or choose another -o."
        )


def is_conf(path: Path) -> bool:
    """Tell whether a directory was written by `write_conf`."""
    try:
        content = json.loads((path / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("kind") == KIND


def put_back(target: Path) -> None:
    """Put back what a dead writer had moved aside; remove the rest, which may hold secrets."""
    clean_up(target, is_conf)


def write_file(path: Path, text: str, *, secret: bool) -> None:
    """Write a file that is only the owner's from the start when it holds secrets."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    if not secret:
        path.chmod(0o644)
