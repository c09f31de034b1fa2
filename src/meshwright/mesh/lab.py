"""A mesh on this machine: brokers, agents in few processes, and a planner."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from meshwright.deploy.lab.processes import free_ports, last_lines, wait_until
from meshwright.errors import DeployError
from meshwright.mesh.config import MeshConfig
from meshwright.mesh.init import InitRequest, init
from meshwright.mesh.lab_brokers import LocalBroker, start_all, stop_all
from meshwright.mesh.status import MeshStatus, mesh_status

START_SECONDS = 90.0  # for agents to be linked; a busy machine starts 60 in about 10
STOP_SECONDS = 10.0


class LocalMesh:
    """A running mesh; use as a context. Nothing of it outlives the block.

    Parameters
    ----------
    place
        A directory that does not exist yet.
    nodes
        Names of the brokers.
    per_process
        Agents that share a process.
    """

    def __init__(
        self,
        place: Path,
        nodes: Sequence[str],
        *,
        per_process: int = 1,
        method: str = "gm",
        routing: str | None = None,
        survive: int = 0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        place.mkdir(parents=True)
        n = len(nodes)
        ports = free_ports(3 * n + 2)
        broker_ports, agent_ports, rest = ports[:n], ports[n : 2 * n], ports[2 * n :]
        inventory = place / "brokers.csv"
        rows = [
            f'"{node}",127.0.0.1,{port}' for node, port in zip(nodes, broker_ports, strict=True)
        ]
        inventory.write_text("\n".join(["node,host,port", *rows]) + "\n", encoding="utf-8")
        request = InitRequest(
            inventory,
            place / "mesh",
            method,
            routing,
            survive,
            "lab",
            f"127.0.0.1:{rest[0]}",
            agent_ports,
            rest[1:],
            options or {},
        )
        self.config: MeshConfig = init(request)
        self.brokers = {
            node: LocalBroker(place / "brokers" / member.directory, port)
            for node, member, port in zip(nodes, self.config.brokers, broker_ports, strict=True)
        }
        self._place, self._nodes = place, list(nodes)
        self._groups = [self._nodes[i : i + per_process] for i in range(0, n, per_process)]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            start_all(self.brokers)
            self.start_planner()
            for i in range(len(self._groups)):
                self.start_agents(i)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self._processes.values():
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        stop_all(self.brokers.values())

    def start_planner(self) -> None:
        """Start the planner."""
        self._start("planner", "planner", str(self.config.place))

    def start_agents(self, group: int) -> None:
        """Start the agents of one process."""
        directories = {member.name: member.directory for member in self.config.brokers}
        places = [str(self.config.place / directories[node]) for node in self._groups[group]]
        self._start(f"agents-{group}", "agent", *places)

    def kill(self, what: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to the planner ("planner") or to the process of a group ("agents-0")."""
        process = self._processes[what]
        process.send_signal(number)
        if number == signal.SIGKILL:
            process.wait()

    def group_of(self, node: str) -> int:
        """Return the group in whose process a broker's agent is."""
        return next(i for i, group in enumerate(self._groups) if node in group)

    def status(self) -> MeshStatus:
        """Return the state of the mesh."""
        return mesh_status(self.config.place)

    def wait_until_linked(self, seconds: float = START_SECONDS) -> float:
        """Wait until every agent has its broker, the planner and the same plan; return seconds."""
        start = time.monotonic()

        def linked() -> bool:
            ended = [
                name for name, process in self._processes.items() if process.poll() is not None
            ]
            if ended:
                raise DeployError(
                    f"{ended[0]} ended: {last_lines(self._place / f'{ended[0]}.log', 6)}"
                )
            return not self.status().findings

        if not wait_until(linked, seconds):
            found = self.status().findings
            raise DeployError(f"the mesh did not start in {seconds:.0f} s: {'; '.join(found[:3])}")
        return time.monotonic() - start

    def pids(self) -> list[int]:
        """Return the processes of agents and planner."""
        return [process.pid for process in self._processes.values() if process.poll() is None]

    def _start(self, name: str, *words: str) -> None:
        with (self._place / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, "-m", "meshwright", "mesh", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(os.environ),
                start_new_session=True,
            )
