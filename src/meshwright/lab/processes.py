"""Brokers as processes: found, started, recognised again, stopped.

A process is known by its id together with the time it was started, so that an id which the system
has given to somebody else meanwhile is never signalled.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from meshwright.errors import DeployError

LOOPBACK = "127.0.0.1"
PROGRAM = "mosquitto"
LOG = "broker.log"
FIRST_PORT, LAST_PORT = 15_000, 32_000  # below the ports that outgoing connections are given
PATIENCE = 60.0  # seconds without any progress after which a wait is given up


@dataclass(frozen=True, slots=True)
class Process:
    """A process this machine ran at some time."""

    pid: int
    started: str

    def runs(self) -> bool:
        """Return whether this very process still runs."""
        if start_time(self.pid) == self.started:
            return True
        with suppress(OSError):
            os.waitpid(self.pid, os.WNOHANG)  # a child of ours that has ended keeps its id till now
        return False


def brokers_in(place: Path) -> list[Process]:
    """Return the brokers that run in directories of a place, where the system tells (Linux).

    A command that is killed right after it started a broker could not write that down.
    """
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            name = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
            if name == PROGRAM and (entry / "cwd").readlink().parent == place.resolve():
                pid = int(entry.name)
                found.append(Process(pid, start_time(pid) or "ended"))
    return [process for process in found if process.runs()]


def find_mosquitto() -> str:
    """Return the path of the broker's program."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"
    found = shutil.which(PROGRAM, path=path)
    if found is None:
        raise DeployError(
            "mosquitto is not installed, and the lab runs real brokers. Install it (Debian, "
            "Ubuntu: apt-get install mosquitto; macOS: brew install mosquitto) and try again."
        )
    return found


def start_time(pid: int) -> str | None:
    """Return a text that tells when a process was started, None if there is none (or a zombie)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return None
    except (ProcessLookupError, PermissionError):
        return None
    else:
        fields = text.rsplit(")", 1)[1].split()  # the name before may hold spaces
        boot = Path("/proc/sys/kernel/random/boot_id")
        return None if fields[0] == "Z" else f"{fields[19]} {boot.read_text().strip()}"
    done = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    words = done.stdout.split()
    return None if not words or words[0].startswith("Z") else " ".join(words[1:])


def start_broker(program: str, directory: Path) -> Process:
    """Start a broker in its directory, outliving us; its output goes to a log there."""
    with (directory / LOG).open("ab") as log:
        child = subprocess.Popen(
            [program, "-c", "mosquitto.conf"],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    child.returncode = 0  # it is not ours to wait for: no complaint when it outlives the object
    started = start_time(child.pid)
    return Process(child.pid, started or "ended at once")


def stop(processes: Iterable[Process], *, sign: int = signal.SIGTERM) -> int:
    """Stop processes and wait until they are gone; return how many still ran."""
    running = [process for process in processes if process.runs()]
    for process in running:
        _send(process, sign)
    if not _gone(running, 15.0):
        for process in running:
            _send(process, signal.SIGKILL)
        if not _gone(running, 15.0):
            left = ", ".join(str(process.pid) for process in running if process.runs())
            raise DeployError(f"processes {left} do not end; stop them by hand.")
    return len(running)


def free_ports(n: int) -> list[int]:
    """Return ports of loopback that nobody listens on."""
    found: list[int] = []
    # Where to begin differs from run to run, so that two labs started at once rarely meet.
    span = LAST_PORT - FIRST_PORT
    begin = int.from_bytes(os.urandom(4), "big") % span
    for i in range(span):
        if len(found) == n:
            return found
        port = FIRST_PORT + (begin + i) % span
        if port_is_free(port):
            found.append(port)
    raise DeployError(f"only {len(found)} of {n} ports are free on {LOOPBACK}; stop some servers.")


def port_is_free(port: int) -> bool:
    """Return whether a broker could listen there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def accepts(port: int) -> bool:
    """Return whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def wait_until(condition: Callable[[], bool], patience: float = PATIENCE) -> bool:
    """Wait for a condition; return whether it came true in time."""
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def last_lines(log: Path, n: int = 3) -> str:
    """Return the end of a broker's log, for a message."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "(no log)"
    return " | ".join(lines[-n:]) or "(the log is empty)"


def _send(process: Process, sign: int) -> None:
    with suppress(ProcessLookupError):
        if process.runs():
            os.kill(process.pid, sign)


def _gone(processes: list[Process], patience: float) -> bool:
    return wait_until(lambda: not any(process.runs() for process in processes), patience)
