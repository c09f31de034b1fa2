"""Put a directory in the place of another in two renames, and mend what a crash left of that.

A writer works in a hidden sibling of its target. A crash between the renames leaves the old
directory under its ``.old`` name, and the next reader or writer puts it back.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

# What this very process is writing. A container often gives the next run the process id of the
# one that was killed, so an id alone does not tell the living from the dead.
OURS: set[Path] = set()


def sibling(target: Path, role: str) -> Path:
    """Return a hidden name beside the target that tells its writer."""
    return target.with_name(f".{target.name}.{role}-{os.getpid()}-{uuid.uuid4().hex[:8]}")


def move_into_place(directory: Path, target: Path) -> None:
    """Put a finished directory where the target is, which is gone then."""
    aside = sibling(target, "old")
    OURS.add(aside)
    try:
        if target.exists():
            target.rename(aside)
        directory.rename(target)
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        OURS.discard(aside)


def clean_up(target: Path, is_whole: Callable[[Path], bool]) -> None:
    """Remove what dead writers left beside the target; put back what they had moved aside."""
    if not target.parent.is_dir():
        return
    prefix = f".{target.name}."
    for left in sorted(target.parent.iterdir()):
        if not left.name.startswith(prefix):
            continue
        role, _, rest = left.name.removeprefix(prefix).partition("-")
        pid = rest.partition("-")[0]
        if role not in ("old", "tmp") or not pid.isdigit() or left in OURS:
            continue
        if int(pid) != os.getpid() and _alive(int(pid)):
            continue
        if role == "old" and not target.exists() and is_whole(left):
            left.rename(target)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
