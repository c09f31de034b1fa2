"""Versions of a dataset: each in a directory of its own, one of them current.

    workload/
      manifest.json           the current version: its facts and the name of its directory
      v-3f2a9c01/             the tables of that version
      subscriptions.parquet   a link to a table of the current version, for other programs

A reader reads the manifest, which is one small file that writers replace in one step, and pins the
version it names: it holds a shared lock on that directory for as long as it uses the tables. A
writer adds a directory, replaces the manifest, and removes the versions that nobody has pinned. So
every reader sees one version, whole, whatever writers do meanwhile.
"""

import errno
import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

PREFIX = "v-"
REMOVED = ".removed-"  # a version on its way out: under a name that no manifest has
UNLOCKED_SECONDS = 24 * 3600.0  # where there are no locks, how long replaced versions are kept
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EBADF)


def new_version() -> str:
    """Return the name of a new version's directory."""
    return f"{PREFIX}{uuid.uuid4().hex[:12]}"


class Pin:
    """A shared lock on the directory of a version; it ends with this object."""

    def __init__(self, directory: Path) -> None:
        """Pin a version; raise FileNotFoundError if a writer has removed it."""
        self._fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _lock(self._fd, fcntl.LOCK_SH)
            # A writer may have renamed it between the opening and the lock.
            if not os.path.samestat(os.fstat(self._fd), directory.stat()):
                raise FileNotFoundError(directory)
        except BlockingIOError as error:  # a writer holds it to remove it
            self.release()
            raise FileNotFoundError(directory) from error
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """End the lock."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            self.release()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a pinned version belongs to its process; send paths to tasks.")


def _lock(fd: int, kind: int) -> bool:
    """Take a lock without waiting; return whether this file system has locks at all."""
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    return True


@contextmanager
def one_writer(target: Path) -> Iterator[None]:
    """Let one writer at a time change which version of a dataset is current."""
    fd = os.open(target, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def link_tables(target: Path, version: str) -> None:
    """Link the tables of a version under their plain names, for programs that read Parquet.

    Each link is replaced in one step, but not all together: our own readers use the manifest.
    """
    tables = sorted(path.name for path in (target / version).glob("*.parquet"))
    with suppress(OSError):  # a file system without links
        for name in tables:
            draft = target / version / "link"
            draft.symlink_to(Path(version) / name)
            draft.replace(target / name)
        for path in target.glob("*.parquet"):
            if path.is_symlink() and path.name not in tables:
                path.unlink()


def remove_old_versions(target: Path, current: str) -> None:
    """Remove the versions that are neither current nor pinned. Only for `one_writer`."""
    for directory in sorted(target.iterdir()):
        if directory.name.startswith(PREFIX) and directory.name != current:
            with suppress(OSError):  # pinned, or not ours to remove
                shutil.rmtree(_rename_unpinned(directory), ignore_errors=True)
        elif directory.name.startswith(REMOVED):  # by a writer that died
            shutil.rmtree(directory, ignore_errors=True)


def _rename_unpinned(directory: Path) -> Path:
    """Rename a version so that nobody can pin it; raise BlockingIOError if somebody has."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        replaced = time.time() - os.fstat(fd).st_mtime  # `mark_replaced` sets it
        if not _lock(fd, fcntl.LOCK_EX) and replaced < UNLOCKED_SECONDS:
            raise BlockingIOError(directory)
        return directory.rename(directory.with_name(f"{REMOVED}{directory.name}"))
    finally:
        os.close(fd)


def mark_replaced(directory: Path) -> None:
    """Record when a version ceased to be current, for file systems without locks."""
    with suppress(OSError):
        os.utime(directory)
