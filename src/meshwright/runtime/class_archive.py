"""An archive of the classes that Spark loads: a JVM maps it instead of reading 280 jars.

Java calls it class data sharing. One archive per Java and Spark is kept in the user's cache
directory. It is made by a run of its own (`meshwright spark prepare`, which the first command on
Spark starts in the background) and takes its name when it is complete and a JVM has verified it.
A JVM ignores the archive of another Java or of other jars. What is damaged is not used: a note
beside the archive has its size and time, and the JVM verifies its checksums.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from meshwright.errors import InputError, SparkError, first_line
from meshwright.runtime import interrupts
from meshwright.runtime.java import java_facts, require_java

SWITCH = "MESHWRIGHT_CLASS_ARCHIVE"
OFF = ("off", "no", "false", "0")
RECIPE = 2  # counts up when other classes are recorded
ROOM = 1 << 30  # bytes that must be free before an archive is made
VERIFY_SECONDS = 120.0
RETRY_DAYS = 7  # after which an attempt that failed is made again
KEPT_DAYS = 60  # archives of other versions that nobody has used for so long are removed

_draft: Path | None = None  # what the JVM of this process writes when it ends


def cache_directory() -> Path:
    """Return the cache directory of the user."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    if chosen and Path(chosen).is_absolute():
        return Path(chosen) / "meshwright"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "meshwright"
    return Path.home() / ".cache" / "meshwright"


def is_off() -> bool:
    """Return whether the archive is switched off."""
    return os.environ.get(SWITCH, "").lower() in OFF


def archive_path(java: Path) -> Path:
    """Return the path of the archive for a Java and the Spark of this process."""
    from pyspark.find_spark_home import _find_spark_home
    from pyspark.version import __version__

    spark = _find_spark_home()
    facts = repr([java_facts(java), str(spark), __version__, RECIPE])
    code = hashlib.sha256(facts.encode()).hexdigest()[:12]
    return cache_directory() / f"spark-{__version__}-{code}.jsa"


def jvm_options(java: Path) -> list[str]:
    """Return the options by which a JVM uses the archive, or writes it while this process records.

    None if there is no archive, it was changed after it was made, or it is switched off.
    """
    if _draft is not None:
        return [f'"-XX:ArchiveClassesAtExit={_draft}"']
    if is_off():
        return []
    path = archive_path(java)
    if not _is_whole(path) or _unfit(path):
        return []
    with suppress(OSError):
        os.utime(_note(path))  # when it was last used
    # The JVM reads its checksums: a page that the disk has changed would end it otherwise.
    return [f'"-XX:SharedArchiveFile={path}"', "-XX:+VerifySharedSpaces"]


def discard(java: Path) -> None:
    """Remove the archive, because a JVM did not start with it."""
    path = archive_path(java)
    for file in (_note(path), path):
        with suppress(OSError):
            file.unlink(missing_ok=True)


def is_missing() -> bool:
    """Return whether an archive should be made: there is none, and no attempt has failed."""
    if is_off():
        return False
    with suppress(SparkError, OSError, RuntimeError):
        path = archive_path(require_java())
        return not (_is_whole(path) or _unfit(path) or _has_failed(path))
    return False


def describe() -> dict[str, object]:
    """Return where the archive is, its size in bytes, and why there is none."""
    path = archive_path(require_java())
    whole = _is_whole(path)
    facts: dict[str, object] = {"path": str(path), "bytes": path.stat().st_size if whole else 0}
    if is_off():
        facts["why_not"] = f"{SWITCH} is {os.environ[SWITCH]!r}"
    elif not whole:
        facts["why_not"] = _unfit(path) or "not made yet"
        with suppress(OSError):
            facts["why_not"] = _failed(path).read_text(encoding="utf-8").strip()
    return facts


@dataclass
class Recording:
    """A JVM that writes an archive when it ends; the code that ends it sets its class path."""

    class_path: str = ""


@contextmanager
def recording() -> Iterator[Recording]:
    """Make the archive from the classes of the JVM that the block starts and ends.

    Raise InputError if another process is making it, and SparkError if that fails. The reason is
    kept, so that commands do not try again.
    """
    global _draft
    java = require_java()
    path = archive_path(java)
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / "archive.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError("another command is making the archive; wait for it.") from error
        _sweep(path)
        _draft = path.with_name(f".{path.name}-{os.getpid()}")
        try:
            reason = _unfit(path)
            if shutil.disk_usage(path.parent).free < ROOM:
                reason = f"'{path.parent}' has less than {ROOM >> 30} GB of room"
            if reason is None:
                yield (found := Recording())
                reason = _trouble(java, _draft, found.class_path)
            if reason is not None:
                raise SparkError(f"no archive of Spark's classes was made: {reason}.")
            _publish(_draft, path)
        except Exception as error:
            if not interrupts.came():
                with suppress(OSError):
                    said = first_line(error)
                    _failed(path).write_text(f"{said}\n", encoding="utf-8")
            raise
        finally:
            draft, _draft = _draft, None
            draft.unlink(missing_ok=True)


def _publish(draft: Path, path: Path) -> None:
    """Give the archive its name; the note comes last, and without it the archive is not used."""
    found = draft.stat()
    _note(path).unlink(missing_ok=True)
    draft.replace(path)
    note = path.with_name(f".{path.name}-{os.getpid()}.note")
    note.write_text(json.dumps({"bytes": found.st_size, "written": found.st_mtime_ns}))
    note.replace(_note(path))
    _failed(path).unlink(missing_ok=True)


def _trouble(java: Path, draft: Path, class_path: str) -> str | None:
    """Return what is wrong with an archive that a JVM has just written, or None."""
    if not draft.is_file():
        return "the JVM wrote none (it may lack its own archive, classes.jsa)"
    options = ["-Xshare:on", f"-XX:SharedArchiveFile={draft}", "-XX:+VerifySharedSpaces"]
    command = [str(java), *options, "-cp", class_path, "-version"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=VERIFY_SECONDS, check=False
    )
    said = " ".join((done.stdout + done.stderr).split())
    return None if done.returncode == 0 else f"a JVM refuses it: {said[:300]}"


def _is_whole(path: Path) -> bool:
    try:
        note, found = json.loads(_note(path).read_text()), path.stat()
        return bool(note == {"bytes": found.st_size, "written": found.st_mtime_ns})
    except (OSError, ValueError):
        return False


def _unfit(path: Path) -> str | None:
    """Return why a JVM cannot be given this path as an option, or None."""
    wrong = [c for c in str(path) if c in ':"\\']
    return f"the path '{path}' holds {wrong[0]!r}" if wrong else None


def _sweep(path: Path) -> None:
    """Remove drafts of killed processes, and archives of other versions that nobody uses."""
    for left in path.parent.glob(".spark-*.jsa-*"):
        left.unlink(missing_ok=True)
    for note in path.parent.glob("spark-*.jsa.json"):
        age = time.time() - note.stat().st_mtime
        if age > KEPT_DAYS * 86_400 and note != _note(path):
            note.unlink(missing_ok=True)
            note.with_suffix("").unlink(missing_ok=True)


def _has_failed(path: Path) -> bool:
    """Return whether an attempt has failed in the last `RETRY_DAYS` days."""
    try:
        return time.time() - _failed(path).stat().st_mtime < RETRY_DAYS * 86_400
    except OSError:
        return False


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _failed(path: Path) -> Path:
    return path.with_name(f"{path.name}.failed")
