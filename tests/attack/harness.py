"""Run one command, in this process or in one of its own, and look at what it did and left."""

import contextlib
import hashlib
import io
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from meshwright import cli

FINE = (0, 1, 2)  # 3 is for what nobody foresaw, so here it is a failure
INTERRUPTED = 130
SWITCHES = ("MESHWRIGHT_CLASS_ARCHIVE", "MESHWRIGHT_SERVER")  # what outlives a command
MOST_SECONDS = 120.0  # for a command that is not attacked with a signal


class Failed(Exception):
    """What a command did and must not do."""


@dataclass
class Done:
    """A command that has ended."""

    words: list[str]
    code: int
    out: str
    err: str


@dataclass
class Place:
    """Where a case works, and its random numbers."""

    directory: Path
    draw: random.Random
    commands: list[list[str]] = field(default_factory=list)

    def path(self, name: str) -> Path:
        """Return a path in the directory of the case."""
        return self.directory / name

    def run(self, *words: object, codes: tuple[int, ...] = FINE) -> Done:
        """Run a command in this process; raise Failed unless it ends as a command may end."""
        listed = [str(word) for word in words]
        self.commands.append(listed)
        before = leftovers()
        out, err = io.StringIO(), io.StringIO()
        argv, sys.argv = sys.argv, ["meshwright", *listed]
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except Exception as error:
            raise Failed(f"{type(error).__name__} escaped: {str(error)[:300]}") from error
        finally:
            sys.argv = argv
        if code == INTERRUPTED:  # nothing here sends a signal to this process: it is a user's
            raise KeyboardInterrupt
        done = Done(listed, code, out.getvalue(), err.getvalue())
        check_end(done, codes)
        if more := leftovers() - before:
            raise Failed(f"files were left in the temporary directory: {sorted(more)[:5]}")
        return done


def check_end(done: Done, codes: tuple[int, ...]) -> None:
    """Raise Failed for an exit code that is not expected, or a traceback of ours."""
    text = done.out + done.err
    if done.code not in codes:
        raise Failed(f"exit code {done.code}: {done.err.strip()[-600:]}")
    if "Traceback (most recent" in text and "meshwright" in text:
        raise Failed(f"a traceback: {text[text.index('Traceback') :][-900:]}")
    if done.code > 0 and not done.err.strip():  # what a signal has ended says nothing
        raise Failed(f"exit code {done.code} without a word")


def leftovers() -> set[str]:
    """Return what is in the temporary directory that a command must not leave there."""
    return {
        path.name
        for path in Path(tempfile.gettempdir()).iterdir()
        if path.name.startswith(("meshwright", "tmp")) and "spark" not in path.name
    }


def snapshot(place: Path) -> dict[str, str]:
    """Return the files below a path with a hash of each."""
    found = {}
    for path in sorted(place.rglob("*")):
        if path.is_file() and not path.is_symlink():
            name = str(path.relative_to(place))
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def check_unchanged(place: Path, before: dict[str, str]) -> None:
    """Raise Failed if a command that only reads has changed a directory."""
    if snapshot(place) != before:
        raise Failed(f"'{place.name}' was changed by a command that reads it")


def check_no_drafts(directory: Path) -> None:
    """Raise Failed for hidden siblings of an output, which hold what was half-written."""
    left = [path.name for path in directory.iterdir() if path.name.startswith(".")]
    if left:
        raise Failed(f"half-written files were left: {left[:5]}")


@contextlib.contextmanager
def started(*words: object) -> Iterator[subprocess.Popen[str]]:
    """Start a command in a process and a session of its own; end all of it with the block."""
    command = [sys.executable, "-m", "meshwright", *map(str, words)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "MESHWRIGHT_MEMORY": "1g", **dict.fromkeys(SWITCHES, "off")},
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def in_session(session: int) -> list[int]:
    """Return the processes of a session that have not ended (on Linux; elsewhere none)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text(errors="replace").rsplit(")", 1)[1].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition; return whether it became true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
