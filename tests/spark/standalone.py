"""A real Spark cluster on loopback: a master and workers, each a process of its own."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyspark

LAUNCHER = Path(pyspark.__file__).parent / "bin" / "spark-class"
PATIENCE = 300.0  # seconds at most for a process to start or to reach its first result


class Cluster:
    """A standalone cluster; workers can be killed."""

    def __init__(self, place: Path, n_workers: int, variables: Mapping[str, str]) -> None:
        self._place = place
        self._environment = {
            **os.environ,
            **variables,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_NO_DAEMONIZE": "1",
        }
        self._master, self.url = self._start(
            "master", "Master", "--port", "0", pattern=r"(spark://[\d.]+:\d+)"
        )
        self.workers = [self.add_worker(f"worker-{i}") for i in range(n_workers)]

    def add_worker(self, name: str) -> subprocess.Popen[bytes]:
        """Start a worker of one core; return its process, the leader of a group."""
        worker, _ = self._start(
            name, "Worker", self.url, "--cores", "1", "--memory", "1g",
            "--work-dir", str(self._place / name), pattern=r"(Successfully registered)",
        )  # fmt: skip
        return worker

    def _start(
        self, name: str, role: str, *arguments: str, pattern: str
    ) -> tuple[subprocess.Popen[bytes], str]:
        log = self._place / f"{name}.log"
        command = [str(LAUNCHER), f"org.apache.spark.deploy.{role.lower()}.{role}"]
        ports = ["--host", "127.0.0.1", "--webui-port", "0"]
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*command, *ports, *arguments],
                stdout=file,
                stderr=file,
                env=self._environment,
                cwd=self._place,
                start_new_session=True,
            )
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and process.poll() is None:
            if found := re.search(pattern, log.read_text(errors="replace")):
                return process, found.group(1)
            time.sleep(0.1)
        kill(process)
        raise AssertionError(f"no {role}: {log.read_text(errors='replace')[-2000:]}")

    def stop(self) -> None:
        """Stop all processes."""
        for process in (*self.workers, self._master):
            kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its group, the executors of a worker included, as a power cut would."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
