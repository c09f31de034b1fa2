"""A mesh on this machine: brokers, agents in few processes, and a planner."""

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from meshwright.deploy.lab.configurations import CERTIFICATES, make_certificate
from meshwright.deploy.lab.processes import free_ports, last_lines, wait_until
from meshwright.errors import DeployError
from meshwright.mesh.adapters.log_connection import LINES
from meshwright.mesh.config import AGENT_FILE, MESH_FILE, METHODS, MeshConfig, read_mesh
from meshwright.mesh.design import compile_designs
from meshwright.mesh.init import InitRequest, init
from meshwright.mesh.lab.brokers import LocalBroker, RunningBroker, start_all, stop_all
from meshwright.mesh.lab.proxies import Pair, Proxies
from meshwright.mesh.lab.rabbitmq import MORE_PORTS, LocalRabbit
from meshwright.mesh.members import AddRequest, Removal, add, remove
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
    tls
        Use TLS with certificates made for this mesh, for brokers, agents and the planner.
    proxied
        Put a proxy in front of each agent, so that links can be cut.
    kinds
        The adapters of brokers that are not "mosquitto": "rabbitmq", or "declared" (a Mosquitto
        that does not publish its log).
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
        tls: bool = False,
        proxied: bool = False,
        kinds: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        place.mkdir(parents=True)
        n = len(nodes)
        rabbits = [node for node in nodes if kinds.get(node) == "rabbitmq"]
        ports = free_ports(3 * n + 2 + n * proxied + MORE_PORTS * len(rabbits))
        more = {node: tuple(ports.pop() for _ in range(MORE_PORTS)) for node in rabbits}
        broker_ports, agent_ports, rest = ports[:n], ports[n : 2 * n], ports[2 * n : 3 * n + 2]
        inventory = place / "brokers.csv"
        files: tuple[str, ...] = ()  # ca, cert and key
        if tls:
            made = Path(make_certificate(place))
            files = tuple(str(made.with_name(name)) for name in CERTIFICATES.values())
        head = ["node", "host", "port", "adapter", "management"]
        head += ["ca", "cert", "key"] if tls else []
        with inventory.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(head)
            for node, port in zip(nodes, broker_ports, strict=True):
                url = f"http://127.0.0.1:{more[node][0]}" if node in more else ""
                rows.writerow([node, "127.0.0.1", port, kinds.get(node, ""), url, *files])
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
        self.brokers: dict[str, LocalBroker | LocalRabbit] = {}
        self._removed: list[RunningBroker] = []  # whose names others have now
        for node, member, port in zip(nodes, self.config.brokers, broker_ports, strict=True):
            own = place / "brokers" / member.directory
            if node in more:
                self.brokers[node] = LocalRabbit(own, (port, *more[node]))
            else:
                log = "" if kinds.get(node) == "declared" else LINES
                self.brokers[node] = LocalBroker(own, port, log=log, tls=files)
        self._place, self._nodes = place, list(nodes)
        self.is_exactly_once = (options or {}).get("delivery") == "exactly-once"
        listening = ports[3 * n + 2 :]
        for member, old, new in zip(self.config.brokers, agent_ports, listening, strict=False):
            settings = place / "mesh" / member.directory / AGENT_FILE
            _set_line(settings, "listen", f"127.0.0.1:{old}", f"127.0.0.1:{new}")
        self._proxies = Proxies(dict(enumerate(zip(agent_ports, listening, strict=False))))
        self._groups = [self._nodes[i : i + per_process] for i in range(0, n, per_process)]
        self.environment: dict[str, dict[str, str]] = {}  # by process, beside that of this one
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        # Before the clock of `wait_until_linked` runs: on a new installation it takes a minute.
        own = self.config
        more = {"survive": own.survive} if own.survive else {}
        compile_designs(own.method, own.routing, **more)
        try:
            start_all(self.brokers)
            self._proxies.start()
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
        stop_all([*self.brokers.values(), *self._removed])
        self._proxies.stop()

    def start_planner(self, *words: str) -> None:
        """Start the planner."""
        self._start("planner", "planner", str(self.config.place), *words)

    def start_agents(self, group: int) -> None:
        """Start the agents of one process."""
        directories = {member.name: member.directory for member in self.config.brokers}
        places = [str(self.config.place / directories[node]) for node in self._groups[group]]
        self._start(f"agents-{group}", "agent", *places)

    def add(self, node: str) -> None:
        """Add a broker to the running mesh, as an operator does; start it and its agent."""
        broker_port, agent_port, metrics_port = free_ports(3)
        inventory = self._place / "added.csv"
        inventory.write_text(f"node,host,port\n{node},127.0.0.1,{broker_port}\n", "utf-8")
        request = AddRequest(self.config.place, inventory, [agent_port], [metrics_port])
        member = add(request).members[0]
        self.config = read_mesh(self.config.place)
        broker = LocalBroker(self._place / "brokers" / member.directory, broker_port)
        if node in self.brokers:  # removed before; its clients may still be there
            self._removed.append(self.brokers[node])
        self.brokers[node] = broker
        broker.start()
        broker.wait()
        self._groups.append([node])
        self.start_agents(len(self._groups) - 1)

    def remove(self, node: str, **options: Any) -> Removal:
        """Remove a broker from the running mesh, as an operator does; it goes on alone."""
        found = remove(self.config.place, node, **options)
        self.config = read_mesh(self.config.place)
        if found.is_gone:
            self._processes.pop(f"agents-{self.group_of(node)}").wait(STOP_SECONDS)
        return found

    def kill(self, what: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to the planner ("planner") or to the process of a group ("agents-0")."""
        process = self._processes[what]
        process.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            process.wait(STOP_SECONDS)

    def group_of(self, node: str) -> int:
        """Return the group in whose process a broker's agent is."""
        return next(i for i, group in enumerate(self._groups) if node in group)

    def cut(self, links: Iterable[Pair], *, silently: bool = False) -> None:
        """Cut links of a mesh with proxies, given by the numbers of their agents."""
        self._proxies.cut(links, silently=silently)

    def heal(self) -> None:
        """Restore all links."""
        self._proxies.heal()

    def links_up(self) -> list[Pair]:
        """Return the links that are up."""
        return self.status().links

    def set_method(self, method: str) -> None:
        """Change how links are chosen; the planner reads it when it starts."""
        file = self.config.place / MESH_FILE
        _set_line(file, "method", self.config.method, method)
        _set_line(file, "routing", self.config.routing, METHODS[method][0])
        self.config = read_mesh(self.config.place)

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
            found = self.status()  # all agree on nothing before the planner has begun
            return not found.findings and found.version != "0.0"

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
                env=os.environ | self.environment.get(name, {}),
                start_new_session=True,
            )


def _set_line(file: Path, key: str, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert f'{key} = "{old}"' in text
    file.write_text(text.replace(f'{key} = "{old}"', f'{key} = "{new}"'), encoding="utf-8")
