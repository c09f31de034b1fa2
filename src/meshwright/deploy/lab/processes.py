"""Brokers as processes: found, started, recognised again, stopped.

A process is known by its id and the time it was started, so that an id which the system has given
to another process in the meantime is never signalled.
"""

import os
import secrets
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen
from typing import NamedTuple

from meshwright.errors import DeployError
from meshwright.runtime.machine import start_time

LOOPBACK = "127.0.0.1"
PROGRAM = "mosquitto"
LOG = "broker.log"
FIRST_PORT, LAST_PORT = 15_000, 32_000  # below the ports that outgoing connections are given
MAX_WAIT = 60.0  # seconds without any progress after which a wait is given up
STOP_SECONDS = 15.0  # for a process to end before it is killed


class Process(NamedTuple):
    """A process that this machine ran at some time."""

    pid: int
    started: str  # its `start_time`

    def runs(self) -> bool:
        """Return whether this very process still runs."""
        if start_time(self.pid) == self.started:
            return True
        with suppress(OSError):
            os.waitpid(self.pid, os.WNOHANG)  # a child that has ended keeps its id until now
        return False


def brokers_in(place: Path) -> list[Process]:
    """Return the brokers that run in directories of a place (on Linux; elsewhere none)."""
    # A command that is killed right after it started a broker could not record it.
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            name = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
            if name == PROGRAM and (entry / "cwd").readlink().parent == place.resolve():
                found.append(Process(int(entry.name), start_time(int(entry.name)) or "ended"))
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


def start_broker(program: str, directory: Path) -> Process:
    """Start a broker in its directory; it outlives this process and logs to a file there."""
    with (directory / LOG).open("ab") as log:
        command = [program, "-c", "mosquitto.conf"]
        child = Popen(
            command, cwd=directory, stdin=DEVNULL, stdout=log, stderr=STDOUT, start_new_session=True
        )
    child.returncode = 0  # nobody waits for it: no warning when it outlives the object
    return Process(child.pid, start_time(child.pid) or "ended at once")


def stop(processes: Iterable[Process], *, sign: int = signal.SIGTERM) -> int:
    """Stop processes and wait until they have ended; return how many still ran."""
    running = [process for process in processes if process.runs()]
    for number in (sign, signal.SIGKILL):
        for process in running:
            with suppress(ProcessLookupError):
                if process.runs():
                    os.kill(process.pid, number)
        if wait_until(lambda: not any(process.runs() for process in running), STOP_SECONDS):
            return len(running)
    left = ", ".join(str(process.pid) for process in running if process.runs())
    raise DeployError(f"processes {left} do not end; stop them by hand.")


def free_ports(n: int) -> list[int]:
    """Return ports of loopback that nothing listens on."""
    # The first differs from run to run, so that two labs started at once rarely meet.
    span = LAST_PORT - FIRST_PORT
    begin = secrets.randbelow(span)
    ports = (FIRST_PORT + (begin + i) % span for i in range(span))
    found = list(islice(filter(port_is_free, ports), n))
    if len(found) < n:
        raise DeployError(
            f"only {len(found)} of {n} ports are free on {LOOPBACK}; stop some servers."
        )
    return found


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
    """Return whether a server listens there."""
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def wait_until(condition: Callable[[], bool], seconds: float = MAX_WAIT) -> bool:
    """Wait for a condition; return whether it became true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
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
