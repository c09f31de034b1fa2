"""A running lab: started from a configuration directory, remembered in a file, stopped again.

The state is written after every start, and interrupts wait until it is, so that whatever ends the
command, `down` knows each process that was started.
"""

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from meshwright.deploy.lab import processes
from meshwright.deploy.lab.clients import Clients
from meshwright.deploy.lab.configurations import Access, write_local_copy
from meshwright.deploy.lab.processes import LOG, LOOPBACK, Process
from meshwright.deploy.plan import Plan, read_plan
from meshwright.deploy.restart import Step, compare_confs
from meshwright.deploy.route import Link
from meshwright.errors import DeployError, InputError
from meshwright.runtime import interrupts

STATE = "lab.json"
KIND = "lab"
ACCESS_FILES = ("acl", "passwd")  # what SIGHUP makes a broker read again
PORT_IN_USE = "Address already in use"  # in the broker's log
PORT_TRIES = 5  # other programs may take a port between our choice and the broker's start


class PortTakenError(DeployError):
    """Another program listens on the port of a broker."""


@dataclass
class Lab:
    """The brokers of a plan as processes of this machine."""

    place: Path
    plan: Plan
    access: Access
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def up(self) -> tuple[str, ...]:
        """The brokers that run now."""
        return tuple(node for node, process in self.processes.items() if process.runs())

    def clients(self) -> Clients:
        """Connect a client that subscribes to everything to each broker that runs."""
        return Clients(
            self.access, self.up, self.require, qos=self.plan.qos, topics=self.plan.match_all
        )

    def require(self, node: str) -> None:
        """Raise DeployError, with the end of the broker's log, if a broker has ended."""
        process = self.processes.get(node)
        if process is not None and not process.runs():
            log = self.directory(node) / LOG
            last = processes.last_lines(log)
            raise DeployError(
                f"the broker {node!r} has ended; the last lines of '{log}': {last}",
                f"{LOOPBACK}:{self.access.ports[node]}",
            )

    def directory(self, node: str) -> Path:
        """Return the directory a broker runs in."""
        return self.place / self.plan.directories[node]

    def start(self, nodes: Iterable[str]) -> None:
        """Start brokers and wait until each listens."""
        program = processes.find_mosquitto()
        waiting = list(nodes)
        for node in waiting:
            port = self.access.ports[node]
            if not processes.port_is_free(port):
                raise PortTakenError(
                    f"the broker {node!r} cannot start: another program listens on port {port}. "
                    "Stop that program and try again.",
                    f"{LOOPBACK}:{port}",
                )
            with interrupts.held():
                self.processes[node] = processes.start_broker(program, self.directory(node))
                self.save()
        for node in waiting:
            self._wait_for_listener(node)

    def _wait_for_listener(self, node: str) -> None:
        port, process = self.access.ports[node], self.processes[node]
        processes.wait_until(lambda: processes.accepts(port) or not process.runs())
        if not (process.runs() and processes.accepts(port)):
            log = processes.last_lines(self.directory(node) / LOG)
            error = PortTakenError if PORT_IN_USE in log else DeployError
            raise error(f"the broker {node!r} did not start: {log}", f"{LOOPBACK}:{port}")

    def kill(self, node: str) -> None:
        """Kill a broker as a crash would."""
        processes.stop([self.processes[node]], sign=signal.SIGKILL)

    def save(self) -> None:
        """Write the state; the last version stays intact if this process is killed."""
        state = {"kind": KIND, **asdict(self.access), "processes": self.processes}
        new = self.place / f"{STATE}.new"
        new.touch(mode=0o600)
        new.write_text(json.dumps(state, indent=1), encoding="utf-8")
        new.replace(self.place / STATE)

    def stop_brokers(self) -> int:
        """Stop the brokers and return how many still ran; the next `up` or `down` cleans up."""
        return processes.stop({*self.processes.values(), *processes.brokers_in(self.place)})

    def stop(self) -> None:
        """Stop the brokers and remove the lab's directory."""
        self.stop_brokers()
        _remove(self.place)


def lab_place(conf: Path, place: Path | None = None) -> Path:
    """Return where the lab of a configuration directory lives: next to it."""
    return place if place is not None else conf.resolve().with_name(f"{conf.resolve().name}.lab")


def up(
    conf: Path,
    *,
    place: Path | None = None,
    without: Iterable[str] = (),
    any_ports: bool = False,
    plan: Plan | None = None,
    ports: Mapping[str, int] | None = None,
    via: Mapping[Link, int] | None = None,
    extra: Mapping[str, tuple[str, ...]] | None = None,
) -> Lab:
    """Start the brokers of a configuration directory on loopback, except those in `without`.

    A plan whose hosts are all loopback keeps its ports unless `any_ports`; others get free ones,
    except where `ports` gives one.
    """
    processes.find_mosquitto()
    plan = plan or read_plan(conf)
    absent = set(without)
    unknown = absent.difference(plan.nodes)
    if unknown:
        raise InputError(
            f"{', '.join(map(repr, sorted(unknown)))} is not a broker of '{conf}'; choose from: "
            f"{', '.join(plan.nodes[:10])}{', ...' if len(plan.nodes) > 10 else ''}"
        )
    where = lab_place(conf, place)
    chosen = any_ports or not all(broker.on_loopback for broker in plan.brokers)

    def start() -> Lab:
        _make_place(where, conf)
        lab = None
        try:
            with interrupts.let_in():
                listens = {**_ports(plan, chosen), **(ports or {})}
                access = write_local_copy(conf, plan, where, listens, via=via, extra=extra)
                lab = Lab(where, plan, access)
                lab.save()  # from now on `down` knows the place, whatever ends this process
                for nodes in start_order(plan):
                    lab.start(node for node in nodes if node not in absent)
                return lab
        except BaseException:
            if lab is not None:
                lab.stop_brokers()
            _remove(where)
            raise

    with interrupts.held():
        for _ in range(PORT_TRIES - 1 if chosen else 0):
            with suppress(PortTakenError):
                return start()
        return start()


@contextmanager
def running_lab(conf: Path, **options: Any) -> Iterator[Lab]:
    """Start a lab as `up` does, and stop it when the block ends."""
    with interrupts.held():
        lab = up(conf, **options)
        try:
            with interrupts.let_in():
                yield lab
        finally:
            lab.stop()


def find_lab(conf: Path, place: Path | None = None) -> Lab:
    """Return the lab that was started from a configuration directory."""
    where = lab_place(conf, place)
    state = _read_state(where)
    if state is None:
        raise InputError(f"no lab of '{conf}' is up; start it with `meshwright lab up {conf}`.")
    plan = read_plan(conf)
    if set(state["ports"]) != set(plan.nodes):
        raise InputError(
            f"the lab in '{where}' was started from another plan than '{conf}' holds now; "
            f"stop it with `meshwright lab down {conf}` and start it again."
        )
    access = Access(state["ports"], state["password"], tuple(state["tls"]), state["certificate"])
    return Lab(where, plan, access, _processes(state))


def down(conf: Path, *, place: Path | None = None, keep: bool = False) -> tuple[int, int]:
    """Stop the lab of a configuration directory; return (brokers stopped, brokers ended before)."""
    # Uses only the lab's own directory: the configuration may be gone or changed.
    where = lab_place(conf, place)
    state = _read_state(where)
    if state is None:
        raise InputError(f"no lab of '{conf}' is up: '{where / STATE}' does not exist.")
    known = set(_processes(state).values())
    n_ended = sum(not process.runs() for process in known)
    n_stopped = processes.stop(known.union(processes.brokers_in(where)))
    if keep:
        (where / STATE).unlink()
    else:
        _remove(where)
    return n_stopped, n_ended


def start_order(plan: Plan) -> list[list[str]]:
    """Return the brokers in groups, those that are dialled before those that dial them."""
    # A bridge that cannot connect waits many seconds before it tries again.
    dials: dict[str, set[str]] = {node: set() for node in plan.nodes}
    for u, v in plan.links:
        dials[u].add(v)
    groups: list[list[str]] = []
    while dials:
        ready = [node for node, others in dials.items() if others.isdisjoint(dials)]
        groups.append(ready or [next(iter(dials))])  # bridges that dial in a cycle: any one first
        for node in groups[-1]:
            del dials[node]
    return groups


def redeploy(
    lab: Lab, before: Path, after: Path, *, done: Callable[[Step], None] = lambda _: None
) -> tuple[Step, ...]:
    """Move a lab that runs `before` to `after`; return the steps and call `done` after each.

    Brokers are reloaded, stopped, started and restarted in the order of `deploy diff`, in which no
    topic ever has a cycle. Each gets its new files at its own step: one that crashes and is started
    again before must come back as it was. The lab keeps its place and ports, and brokers keep what
    they have stored.
    """
    if set(lab.plan.nodes) != set(read_plan(before).nodes):
        raise InputError(f"the lab in '{lab.place}' does not run '{before}'.")
    plan = read_plan(after)
    if any(broker.tls for broker in plan.brokers) and lab.access.certificate is None:
        raise InputError("the lab runs without TLS and cannot add it. Stop it and start it again.")
    steps = compare_confs(before, after).steps
    ports = dict(lab.access.ports)
    new = [node for node in plan.nodes if node not in ports]
    ports |= dict(zip(new, processes.free_ports(len(new)), strict=True))
    place = lab.place / "next"
    place.mkdir(mode=0o700)
    try:
        lab.access = write_local_copy(after, plan, place, ports, like=lab.access)
        lab.plan = plan
        for step in steps:
            _take(lab, step, place)
            done(step)
    finally:
        shutil.rmtree(place)
    return steps


def _take(lab: Lab, step: Step, new: Path) -> None:
    """Take one step of a redeploy, with the new files of a broker."""
    process = lab.processes.get(step.node)
    if step.action == "reload" and process is not None:
        own = lab.directory(step.node)
        for file in ACCESS_FILES:
            if (new / own.name / file).exists():
                shutil.copy(new / own.name / file, own / file)
        if process.runs():
            os.kill(process.pid, signal.SIGHUP)
        return
    if process is not None and step.action in ("stop", "restart"):
        processes.stop([process])
        del lab.processes[step.node]
        lab.save()
    if step.action in ("start", "restart"):
        own = lab.directory(step.node)
        shutil.copytree(new / own.name, own, dirs_exist_ok=True)
        lab.start([step.node])


def _ports(plan: Plan, chosen: bool) -> dict[str, int]:
    """Return the port of each broker: free ones that the lab chooses, or those of the plan."""
    if chosen:
        return dict(zip(plan.nodes, processes.free_ports(len(plan.nodes)), strict=True))
    taken = [f"{b.node} ({b.port})" for b in plan.brokers if not processes.port_is_free(b.port)]
    if taken:
        raise DeployError(
            f"{len(taken)} ports of the plan are in use here: {', '.join(taken[:5])}. Stop what "
            f"listens there, or let the lab choose with --any-ports."
        )
    return {broker.node: broker.port for broker in plan.brokers}


def _make_place(where: Path, conf: Path) -> None:
    """Make the directory of a lab, in the place of one whose brokers have all ended."""
    state = _read_state(where)
    if state is not None:
        known = {process for process in _processes(state).values() if process.runs()}
        n_running = len(known.union(processes.brokers_in(where)))
        if n_running:
            raise InputError(
                f"the lab of '{conf}' is up already with {n_running} brokers; stop it first: "
                f"meshwright lab down {conf}"
            )
        _remove(where)
    if where.exists():
        raise InputError(
            f"'{where}' exists and is not a lab; move it away or name another place with --lab."
        )
    where.mkdir(mode=0o700, parents=True)


def _remove(where: Path) -> None:
    """Remove the directory of a lab; interrupts wait, as half of one would not be recognised."""
    with interrupts.held():
        shutil.rmtree(where)


def _read_state(where: Path) -> dict[str, Any] | None:
    """Return the state of the lab at a place, None if there is none."""
    try:
        state = json.loads((where / STATE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise InputError(
            f"'{where / STATE}' cannot be read ({error}); look for mosquitto processes that run "
            f"in '{where}', stop them, and remove the directory."
        ) from error
    if not isinstance(state, dict) or state.get("kind") != KIND:
        raise InputError(
            f"'{where / STATE}' is not the state of a lab; name another place with --lab."
        )
    return state


def _processes(state: dict[str, Any]) -> dict[str, Process]:
    return {node: Process(int(pid), started) for node, (pid, started) in state["processes"].items()}
