"""Numba building blocks that several stages share.

Numba keeps compiled kernels on disk and compiles again when the file of a kernel changes, but not
when a kernel of another file that it calls does. So when a source of kernels has changed since the
last import, what is kept of it is dropped, and of every source that imports it.
"""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_IMPORT = re.compile(r"^\s*(?:from|import) ([\w.]+)", re.MULTILINE)


def drop_stale_code(package: Path = _PACKAGE) -> bool:
    """Drop the compiled kernels of a package whose sources have changed; tell whether any had."""
    sources = sorted([*package.rglob("*_kernel.py"), *package.glob("kernels/*.py")])
    times = {
        source.relative_to(package).as_posix(): source.stat().st_mtime_ns for source in sources
    }
    stamp = package / "kernels" / "__pycache__" / "sources.json"
    # Where nothing may be written, nothing was kept beside the sources either.
    with contextlib.suppress(OSError):
        known = _read(stamp)
        if known == times:
            return False
        changed = {name for name in times if times[name] != known.get(name)}
        for name in _with_importers(package, changed, list(times)):
            source = package / name
            for index in source.parent.glob(f"__pycache__/{source.stem}.*.nbi"):
                index.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(json.dumps(times), encoding="ascii")
        return True
    return False


def _read(stamp: Path) -> dict[str, int]:
    """Return the times of the sources at the last import; none when that cannot be told."""
    try:
        return dict(json.loads(stamp.read_text(encoding="ascii")))
    except (FileNotFoundError, ValueError):
        return {}


def _with_importers(package: Path, changed: set[str], sources: list[str]) -> set[str]:
    """Return the changed sources and those that import one of them, however far removed."""
    module = {f"{package.name}.{name[:-3].replace('/', '.')}": name for name in sources}
    uses = {
        name: {
            module[word]
            for word in _IMPORT.findall((package / name).read_text("utf-8"))
            if word in module
        }
        for name in sources
    }
    stale = set(changed)
    while more := {name for name in sources if name not in stale and uses[name] & stale}:
        stale |= more
    return stale


drop_stale_code()
