"""The warm server: one JVM with Spark Connect that answers the small jobs of many commands.

``python -m meshwright.runtime.server DIRECTORY`` is started by the first command that needs it
(`warm.py`) and outlives it. This process only keeps the JVM: it hands out sessions over the socket
in its directory, takes them back, and ends itself and the JVM when nobody has used them for some
time. A command holds its connection until it ends, so the server knows who uses it, however they
end; the jobs of a command that was killed are cancelled. A lock makes it one server per directory.

Messages are lines of JSON. A command sends ``{"ask": "use"}``, receives "starting", then "ready"
with an address and a session, and sends "done" at its end. The others are "describe" and "stop".
"""

import fcntl
import json
import os
import re
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from meshwright.runtime import class_archive, interrupts
from meshwright.runtime import session as own
from meshwright.runtime.java import require_java
from meshwright.runtime.jvm import jvm_group
from meshwright.runtime.machine import process_name
from meshwright.runtime.server_place import (
    LOG,
    MOST_BYTES,
    NOTE,
    SOCKET,
    dial,
    idle_seconds,
    make_private,
    note_failure,
    remove,
)
from meshwright.runtime.worker_daemon import IMPORTS_VARIABLE

SERVER_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
STARTED = re.compile(rb"Spark Connect server started at: \S*:(\d+)")
MEMORY = 1024  # megabytes at most: enough for the few rows that commands bring
LOOK_SECONDS = 0.02  # between looks at a JVM that starts
IDLE_LOOK_SECONDS = 1.0
LOCK_SECONDS = 10.0  # for another server of this directory that is ending
# Modules that the tasks of small jobs need; imported once, before workers are forked.
WORKER_IMPORTS = (
    "meshwright.workload.tables",
    "meshwright.workload.names",
    "meshwright.overlay.topics",
    "meshwright.smallworld.routing.spark_simulation",
)
# Cancels what a session runs, and closes it; the server keeps nothing of a command that was killed.
RELEASE = """
import sys
from meshwright.runtime.warm import open_session
url, token = sys.stdin.read().split()
open_session(url, token).client.release_session()
"""


@dataclass
class Command:
    """A command that is connected."""

    unread: bytes = b""
    session: str | None = None  # the one it was given
    waits: bool = False  # for the JVM to be ready
    ended: bool = False  # it has said that it needs the session no longer


@dataclass
class Server:
    """The state of this process."""

    place: Path
    listener: socket.socket
    token: str = field(default_factory=lambda: secrets.token_hex(32))
    port: int | None = None  # None while the JVM starts
    free: list[str] = field(default_factory=list)  # sessions that nobody uses
    commands: dict[socket.socket, Command] = field(default_factory=dict)
    used: float = field(default_factory=time.monotonic)
    ending: bool = False

    def run(self) -> str | None:
        """Serve until the end; return why the JVM did not start, or None."""
        archive = class_archive.jvm_options(require_java())
        jvm = self._start(archive)
        with selectors.DefaultSelector() as selector:
            selector.register(self.listener, selectors.EVENT_READ)
            while not self.ending:
                pause = IDLE_LOOK_SECONDS if self.port else LOOK_SECONDS
                for key, _ in selector.select(pause):
                    if key.fileobj is self.listener:
                        self._accept(selector)
                    else:
                        self._read(selector, key.fileobj)  # type: ignore[arg-type]
                if jvm.poll() is not None:
                    if self.port is None and archive:  # it may be the archive's fault
                        class_archive.discard(require_java())
                        archive, jvm = [], self._start([])
                        continue
                    return None if self.port else self._fail()
                if self.port is None:
                    self._look()
                idle = time.monotonic() - self.used
                self.ending |= not self.commands and idle > idle_seconds()
        return None

    def _start(self, archive: list[str]) -> subprocess.Popen[bytes]:
        scratch = own.new_scratch()
        log = self.place / LOG
        imports = ",".join(WORKER_IMPORTS)
        secret = {"SPARK_CONNECT_AUTHENTICATE_TOKEN": self.token}  # nobody else reads variables
        with log.open("wb") as file:
            return subprocess.Popen(
                submit_command(scratch, own.jvm_options(archive, small=True)),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                cwd=scratch,
                env={**os.environ, **secret, IMPORTS_VARIABLE: imports},
                process_group=jvm_group(),
            )

    def _look(self) -> None:
        """Find the port in the log; then those who wait for it are answered."""
        found = STARTED.search((self.place / LOG).read_bytes())
        if found is None:
            return
        self.port = int(found[1])
        for connection, command in list(self.commands.items()):
            if command.waits:
                self._give_session(connection, command)

    def _fail(self) -> str:
        """Tell those who wait that the JVM has ended; return why."""
        lines = (self.place / LOG).read_text(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else "its JVM ended without a word"
        for connection, command in self.commands.items():
            if command.waits:
                self._answer(connection, {"state": "failed", "reason": reason})
        return reason

    def _accept(self, selector: selectors.BaseSelector) -> None:
        with suppress(OSError):
            connection, _ = self.listener.accept()
            connection.settimeout(1.0)
            selector.register(connection, selectors.EVENT_READ)
            self.commands[connection] = Command()

    def _read(self, selector: selectors.BaseSelector, connection: socket.socket) -> None:
        command, content = self.commands[connection], b""
        with suppress(OSError):
            content = connection.recv(MOST_BYTES)
        if not content or len(command.unread) > MOST_BYTES:
            selector.unregister(connection)
            connection.close()
            del self.commands[connection]
            self._take_back(command)
            return
        *lines, command.unread = (command.unread + content).split(b"\n")
        for line in lines:
            with suppress(ValueError, AttributeError):
                self._obey(connection, command, json.loads(line).get("ask"))

    def _obey(self, connection: socket.socket, command: Command, ask: str) -> None:
        if ask == "use":
            command.waits = True
            self._answer(connection, {"state": "starting"})
            if self.port is not None:
                self._give_session(connection, command)
        elif ask == "done":
            command.ended = True
        elif ask == "describe":
            self._answer(connection, self.facts())
        elif ask == "stop":
            self.ending = True

    def facts(self) -> dict[str, Any]:
        """Return what `spark status` shows."""
        return {
            "pid": os.getpid(),
            "state": "ready" if self.port else "starting",
            "commands": sum(one.session is not None for one in self.commands.values()),
            "idle_seconds": round(time.monotonic() - self.used),
            "ends_after_seconds": round(idle_seconds()),
        }

    def _give_session(self, connection: socket.socket, command: Command) -> None:
        command.waits = False
        command.session = self.free.pop() if self.free else str(uuid.uuid4())
        facts = {"url": self._url(command.session), "token": self.token}
        self._answer(connection, {"state": "ready", **facts})
        self.used = time.monotonic()

    def _url(self, session: str) -> str:
        return f"sc://localhost:{self.port}/;user_id=meshwright;session_id={session}"

    def _take_back(self, command: Command) -> None:
        """Keep the session of a command that has ended; close it if the command was killed."""
        if command.session is None:
            return
        self.used = time.monotonic()
        if command.ended:
            self.free.append(command.session)
            return
        closing = subprocess.Popen(
            [sys.executable, "-c", RELEASE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=jvm_group(),
        )
        with suppress(OSError), closing.stdin as words:  # type: ignore[union-attr]
            words.write(f"{self._url(command.session)} {self.token}".encode())

    def _answer(self, connection: socket.socket, message: dict[str, Any]) -> None:
        with suppress(OSError):  # it has gone, as will be read next
            connection.sendall(json.dumps(message).encode() + b"\n")


def submit_command(scratch: Path, options: str) -> list[str]:
    """Return the command that starts the JVM, with the settings of a session for few rows."""
    from pyspark.find_spark_home import _find_spark_home

    settings: Mapping[str, str] = {
        **own.session_settings(scratch, local=True, small=True),
        "spark.master": "local[*]",
        "spark.driver.memory": f"{memory()}m",
        own.JVM_OPTIONS: options,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.connect.session.manager.defaultSessionTimeout": "7d",  # this process decides
    }
    words = [f"{name}={value}" for name, value in settings.items()]
    confs = [word for setting in words for word in ("--conf", setting)]
    submit = str(Path(_find_spark_home()) / "bin" / "spark-submit")
    return [submit, "--class", SERVER_CLASS, "--name", "meshwright", *confs]


def memory() -> int:
    """Return the megabytes of the JVM: little, unless less was asked for."""
    number, unit = own.driver_memory()[:-1], own.driver_memory()[-1]
    return min(MEMORY, int(number) * (1024 if unit == "g" else 1))


def only_one(place: Path) -> IO[bytes] | None:
    """Return the lock of the directory; None if another server has it."""
    until = time.monotonic() + LOCK_SECONDS
    while time.monotonic() < until:
        make_private(place)  # a server that has just ended may have removed it
        lock = (place / "lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock.fileno()).st_ino == (place / "lock").stat().st_ino:
                return lock
        except OSError:
            other = dial(place)
            if other is not None:
                other.close()
                return None
        lock.close()
        time.sleep(0.05)
    return None


def serve(place: Path) -> None:
    """Be the server of a directory, unless there is one."""
    lock = only_one(place)
    if lock is None:
        return
    (place / SOCKET).unlink(missing_ok=True)
    note = {"pid": os.getpid(), "name": process_name(), "started": time.time()}
    (place / NOTE).write_text(json.dumps(note), encoding="utf-8")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(place / SOCKET))
        listener.listen(64)
        own.sweep_dead_scratch()
        try:
            note_failure(place, Server(place, listener).run())
        except Exception as error:
            note_failure(place, f"{type(error).__name__}: {error}")
            raise
        finally:
            remove(place)
            lock.close()


def main() -> None:
    """Run the process; SIGTERM ends it and its JVM."""
    interrupts.raise_on(signal.SIGTERM)
    os.chdir(tempfile.gettempdir())
    serve(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
