"""Commands on the warm server (`server.py`): find it or start it, and use one of its sessions.

A fault of the server must not break a command: `warm_session` raises `UnusableError` with the
reason, and the caller starts Spark itself.
"""

from __future__ import annotations

import atexit
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import first_line, is_of_spark
from meshwright.runtime import interrupts
from meshwright.runtime.machine import process_name
from meshwright.runtime.server_place import (
    Channel,
    dial,
    make_private,
    note_failure,
    read_note,
    remove,
    server_directories,
    server_directory,
    server_environment,
    why_failed,
    why_off,
)
from meshwright.runtime.session import SMALL_ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWER_SECONDS = 10.0  # for a server that runs; it answers in milliseconds
START_SECONDS = 120.0  # for the JVM of a server that starts
CANCEL_SECONDS = 3.0  # for the jobs of a command that is interrupted
STOP_SECONDS = 15.0  # for a server that was told to stop
LOOK_SECONDS = 0.02
CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"  # PySpark's functions look for it
HEAVY = ("pyspark.sql.connect.session", "pyspark.sql.connect.functions", "pandas")


class UnusableError(Exception):
    """The server cannot be used."""


@dataclass
class Use:
    """A session of the server that this process uses."""

    session: Any
    channel: Channel  # the server sees by it that this process runs
    lost: bool = False  # the server has gone, or a job failed on it
    ended: bool = False

    def watch(self) -> None:
        """Wait until the server ends; then unblock the calls that wait for its answers."""
        with suppress(OSError):
            while self.channel.receive() is not None:
                pass
        if not self.ended:
            self.lost = True
            with suppress(Exception):
                self.session.client._channel.close()

    def give_back(self) -> None:
        """Return the session to the server, unless a job may still run in it."""
        self.ended = True
        with suppress(OSError):
            if not self.lost and not interrupts.came():
                self.channel.send({"ask": "done"})
            self.channel.close()

    def cancel(self) -> None:
        """Cancel what runs in the session, before an interrupt ends this process."""
        if self.ended:
            return
        closing = threading.Thread(target=self._release, daemon=True)
        closing.start()  # not here: the interrupt may have come in the middle of a call
        closing.join(CANCEL_SECONDS)

    def _release(self) -> None:
        with suppress(Exception):
            self.session.client.release_session()


_use: Use | None = None  # a process has one session


def fits(master: str | None, n_rows: int | None) -> bool:
    """Return whether a job belongs on the server: few rows, on this machine, not switched off.

    A process that has started its own Spark keeps using it.
    """
    if master is not None or n_rows is None or n_rows > SMALL_ROWS:
        return False
    pyspark = sys.modules.get("pyspark.sql.session")
    has_own = pyspark is not None and pyspark.SparkSession._instantiatedSession is not None
    return not has_own and why_off() is None


def warm_session() -> SparkSession | None:
    """Return a session of the server, which is started if necessary.

    Return None if starting it failed recently. Raise UnusableError, with the reason, if the server
    cannot be used.
    """
    global _use
    if _use is not None and not _use.ended and not _use.lost:
        return _use.session
    place = server_directory()
    if why_failed(place):
        return None
    try:
        make_private(place)
        _use = _open(place, *_reach(place))
    except OSError as error:
        _leave()
        raise UnusableError(first_line(error)) from error
    except UnusableError:
        _leave()
        raise
    threading.Thread(target=_use.watch, daemon=True).start()
    atexit.register(_use.give_back)
    interrupts.before_raising(_use.cancel)
    return _use.session


def open_session(url: str, token: str) -> Any:
    """Return the session of an address; nothing is sent yet."""
    os.environ[CONNECT_MODE] = "1"
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession

    # The user's proxy cannot reach our loopback.
    builder = DefaultChannelBuilder(f"{url};token={token}", [("grpc.enable_http_proxy", 0)])
    return SparkSession.builder.channelBuilder(builder).create()


def leave_after(error: Exception) -> str | None:
    """Return why a job should be run again without the server; None if the server is not the cause.

    Wrong input fails everywhere. An error of Spark may come from a server that ended or that is too
    small, so this process stops using it.
    """
    if _use is None or _use.ended:
        return None
    if not (_use.lost or is_of_spark(error) or type(error).__module__.startswith("grpc")):
        return None
    ended = _use.lost
    _use.lost = True
    _use.give_back()
    _leave()
    return "it has ended" if ended else first_line(error)


def describe() -> list[dict[str, Any]]:
    """Return the facts of every server of the user that runs; the one that fits comes first."""
    fitting = server_directory()
    found = []
    for place in sorted(server_directories(), key=lambda one: one != fitting):
        channel = dial(place)
        if channel is None:
            continue
        channel.limit(ANSWER_SECONDS)
        facts: dict[str, Any] = {"state": "does not answer", "commands": 0}
        with suppress(OSError):
            facts = channel.ask("describe") or facts
        channel.close()
        pid = read_note(place).get("pid")
        found.append({"pid": pid, **facts, "fits": place == fitting, "directory": str(place)})
    return found


def stop_all() -> int:
    """Stop all servers of the user and remove the files of dead ones; return how many ran."""
    n_stopped = 0
    for place in server_directories():
        note, channel = read_note(place), dial(place)
        if channel is not None:
            n_stopped += 1
            with suppress(OSError):
                channel.send({"ask": "stop"})
                channel.limit(STOP_SECONDS)
                channel.receive()  # the server's end
            channel.close()
        _end(note)
        remove(place)
        note_failure(place, None)
    return n_stopped


def _reach(place: Path) -> tuple[Channel, dict[str, Any]]:
    """Return a channel to the server with the address that it gave; start it if need be."""
    for _ in range(2):  # the first may be a server that is ending
        channel = dial(place)
        if channel is None:
            _spawn(place)
        for name in HEAVY:  # while the server starts
            importlib.import_module(name)
        channel = channel or _wait_for(place)
        try:
            channel.limit(ANSWER_SECONDS)
            answer = channel.ask("use")
            if answer == {"state": "starting"}:
                channel.limit(START_SECONDS)
                answer = channel.receive()
        except TimeoutError as error:
            channel.close()
            raise _broken(place, "it did not answer, and was ended") from error
        if answer is not None and answer["state"] == "ready":
            channel.limit(None)
            return channel, answer
        channel.close()
        if answer is not None:
            raise UnusableError(str(answer["reason"]))
    raise UnusableError("it ended again and again")


def _spawn(place: Path) -> None:
    """Start the server of a directory; it outlives this process."""
    subprocess.Popen(
        [sys.executable, "-P", "-m", "meshwright.runtime.server", str(place)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
        env=server_environment(),
    )


def _wait_for(place: Path) -> Channel:
    """Return a channel to a server that is being started."""
    until = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < until:
        channel = dial(place)
        if channel is not None:
            return channel
        time.sleep(LOOK_SECONDS)
    note_failure(place, "its process did not start")
    raise UnusableError("its process did not start")


def _open(place: Path, channel: Channel, facts: dict[str, Any]) -> Use:
    """Return the session that the server has given, once Spark has answered in it."""
    session = open_session(facts["url"], facts["token"])
    answers: list[str] = []

    def ask() -> None:
        with suppress(Exception):
            answers.append(session.version)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(ANSWER_SECONDS)
    if not answers:
        channel.close()
        raise _broken(place, "its Spark did not answer, and was ended")
    return Use(session, channel)


def _broken(place: Path, reason: str) -> UnusableError:
    """End a server that hangs; return the error that says so."""
    _end(read_note(place))
    remove(place)
    return UnusableError(reason)


def _end(note: dict[str, Any]) -> None:
    """Kill the process of a server, if it still runs; its JVM ends with it."""
    pid = note.get("pid")
    if isinstance(pid, int) and process_name(pid) == note.get("name"):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _leave() -> None:
    """Undo what a session of the server has changed in this process."""
    os.environ.pop(CONNECT_MODE, None)
    connect = sys.modules.get("pyspark.sql.connect.session")
    if connect is not None:
        connect.SparkSession._default_session = None
        connect.SparkSession._active_session = threading.local()
