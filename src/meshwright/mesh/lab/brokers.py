"""Mosquitto brokers for the mesh on this machine: with the log lines that agents read."""

import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from meshwright.deploy.lab.processes import (
    LOG,
    LOOPBACK,
    Process,
    accepts,
    find_mosquitto,
    last_lines,
    start_broker,
    stop,
    wait_until,
)
from meshwright.errors import DeployError
from meshwright.mesh.adapters.log_connection import LINES

CONF = """\
listener {port} 127.0.0.1
allow_anonymous true
persistence true
persistence_location {place}/
max_queued_messages 0
{log}log_dest stderr
log_type error
log_type warning
"""
TLS = """\
cafile {}
certfile {}
keyfile {}
require_certificate true
"""


class RunningBroker(ABC):
    """A broker of any kind on this machine."""

    port: int
    process: Process | None = None

    @abstractmethod
    def start(self) -> None:
        """Start it, without waiting."""

    @abstractmethod
    def wait(self) -> None:
        """Wait until it takes connections."""

    @property
    def processes(self) -> list[Process]:
        """All that it runs."""
        return [self.process] if self.process is not None else []

    def kill(self) -> None:
        """End it with kill -9."""
        if self.process is not None:
            stop([self.process], sign=signal.SIGKILL)

    def signal(self, number: int) -> None:
        """Send it a signal."""
        if self.process is not None and self.process.runs():
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, number)


class LocalBroker(RunningBroker):
    """One broker in a directory of its own."""

    def __init__(
        self, place: Path, port: int, *, log: str = LINES, tls: Sequence[str] = ()
    ) -> None:
        self.place, self.port = place, port
        place.mkdir(parents=True, exist_ok=True)
        text = CONF.format(port=port, place=place.resolve(), log=log)
        if tls:
            text += TLS.format(*tls)
        # Started as root, mosquitto would become another user, which may not write here.
        text += "user root\n" if os.geteuid() == 0 else ""
        (place / "mosquitto.conf").write_text(text, encoding="utf-8")

    def start(self) -> None:
        """Start it, without waiting."""
        self.process = start_broker(find_mosquitto(), self.place)

    def wait(self) -> None:
        """Wait until it takes connections."""
        process = self.process
        if process is None or not wait_until(lambda: accepts(self.port) or not process.runs()):
            raise DeployError(f"the broker at {LOOPBACK}:{self.port} does not answer.")
        if not process.runs():
            words = last_lines(self.place / LOG)
            raise DeployError(f"the broker at {LOOPBACK}:{self.port} ended: {words}")


def start_all(brokers: Mapping[str, RunningBroker]) -> None:
    """Start brokers and wait until all take connections; after a failure none runs."""
    try:
        for broker in brokers.values():
            broker.start()
        for broker in brokers.values():
            broker.wait()
    except BaseException:
        stop_all(brokers.values())
        raise


def stop_all(brokers: Iterable[RunningBroker]) -> None:
    """Stop brokers."""
    stop([process for broker in brokers for process in broker.processes])
