"""The JVM that PySpark starts for us: in a process group of its own, which ends with this process.

A JVM that is still starting does not notice that PySpark has gone. The leader of its group does: a
shell that reads a pipe from this process and ends the group when the pipe closes, also after
`kill -9`.
"""

import atexit
import functools
import logging
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from types import SimpleNamespace
from typing import Any

from meshwright.runtime import interrupts

LEADER = "read _; trap '' TERM; kill -TERM 0; sleep 2; kill -KILL 0"
STOP_SECONDS = 5.0  # for Spark to stop before its JVM is killed; it takes less than one
ARCHIVE_SECONDS = 600.0  # for a JVM that writes an archive of its classes when it ends


def own_jvm(log: Path) -> None:
    """Make PySpark start its JVM in our group, log to a file, and leave our signals alone."""
    from pyspark import accumulators, java_gateway
    from pyspark.core import context

    def launch(conf: object = None) -> object:
        start: Any = java_gateway.launch_gateway
        with log.open("ab") as file:
            return start(conf, {"stderr": file, "process_group": jvm_group()})

    vars(context)["launch_gateway"] = launch
    # It prints a traceback when the JVM ends before it.
    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        # PySpark's handler calls the JVM in the middle of other calls, which mixes up the answers.
        vars(context)["signal"] = SimpleNamespace(SIGINT=signal.SIGINT, signal=lambda *_: None)


def end_jvm() -> str:
    """Let the JVM of this process exit normally; return its class path once it has ended."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    class_path: str = gateway.jvm.java.lang.System.getProperty("java.class.path")
    gateway.proc.stdin.close()  # it waits for this
    gateway.proc.wait(ARCHIVE_SECONDS)
    return class_path


def connect_port() -> int:
    """Return the port of the Spark Connect service in the JVM of this process."""
    from pyspark import SparkContext

    service = "org.apache.spark.sql.connect.service.SparkConnectService$"
    jvm: Any = SparkContext._jvm
    return int(getattr(getattr(jvm, service), "MODULE$").localPort())


@functools.cache
def jvm_group() -> int:
    """Return the id of the JVMs' process group, which starts at the first call and ends with us."""
    leader = Popen(
        ["sh", "-c", LEADER], stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, process_group=0
    )
    end = functools.partial(_end, leader)
    atexit.register(end)
    interrupts.before_raising(end)
    return leader.pid


def _end(leader: Popen[bytes]) -> None:
    """End the group: Spark stops its session on SIGTERM; what is left is killed."""
    logging.disable()  # Py4J logs every call that this cuts off, on the root logger
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):  # all have ended
            os.killpg(leader.pid, number)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            try:
                ended, _ = os.waitpid(-leader.pid, os.WNOHANG)
            except ChildProcessError:  # none is left
                leader.returncode = 0
                return
            time.sleep(0 if ended else 0.01)
