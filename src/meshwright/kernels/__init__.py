"""Numba building blocks that several stages share.

Numba keeps compiled kernels on disk and compiles again when the file of a kernel changes, but not
when a kernel of another file that it calls does. So when any kernel's source has changed since
the last import, all that is kept is dropped.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def drop_stale_code(package: Path = _PACKAGE) -> bool:
    """Drop the compiled kernels of a package if a source of theirs has changed; tell whether."""
    sources = sorted([*package.rglob("*_kernel.py"), *package.glob("kernels/*.py")])
    state = [f"{source.name} {source.stat().st_mtime_ns}" for source in sources]
    digest = hashlib.sha256("\n".join(state).encode()).hexdigest()
    stamp = package / "kernels" / "__pycache__" / "sources.sha256"
    # Where nothing may be written, nothing was kept beside the sources either.
    with contextlib.suppress(OSError):
        if stamp.exists() and stamp.read_text(encoding="ascii") == digest:
            return False
        for index in package.rglob("__pycache__/*.nbi"):
            index.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest, encoding="ascii")
        return True
    return False


drop_stale_code()
