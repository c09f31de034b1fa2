"""A lab that runs: started from a configuration directory, remembered in a file, stopped again.

The state is written after every start, so that whatever ends the command, `down` knows each
process that was started.
"""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from meshwright.errors import DeployError, InputError
from meshwright.lab.plan import Link, Plan, read_plan
from meshwright.lab.prepare import Access, prepare
from meshwright.lab.processes import (
    LOG,
    Process,
    accepts,
    brokers_in,
    find_mosquitto,
    free_ports,
    last_lines,
    port_is_free,
    start_broker,
    stop,
    wait_until,
)

STATE = "lab.json"
KIND = "lab"


@dataclass
class Lab:
    """The brokers of a plan as processes of this machine."""

    place: Path
    plan: Plan
    access: Access
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def up(self) -> tuple[str, ...]:
        """Return the brokers that run now."""
        return tuple(node for node, process in self.processes.items() if process.runs())

    def directory(self, node: str) -> Path:
        """Return the directory a broker runs in."""
        return next(self.place / b.directory for b in self.plan.brokers if b.node == node)

    def start(self, nodes: Iterable[str]) -> None:
        """Start brokers and wait until each listens."""
        program = find_mosquitto()
        waiting = list(nodes)
        for node in waiting:
            self.processes[node] = start_broker(program, self.directory(node))
            self.save()
        for node in waiting:
            self._wait_for_listener(node)

    def kill(self, node: str) -> None:
        """Kill a broker as a crash would."""
        stop([self.processes[node]], sign=signal.SIGKILL)

    def save(self) -> None:
        """Write the state; the last version stays whole if we are killed."""
        text = json.dumps(
            {
                "kind": KIND,
                "ports": dict(self.access.ports),
                "password": self.access.password,
                "tls": sorted(self.access.tls),
                "authority": self.access.authority,
                "processes": {n: [p.pid, p.started] for n, p in self.processes.items()},
            },
            indent=1,
        )
        new = self.place / f"{STATE}.new"
        new.touch(mode=0o600)
        new.write_text(text, encoding="utf-8")
        new.replace(self.place / STATE)

    def stop_brokers(self) -> int:
        """Stop the brokers and return how many still ran; the next `up` or `down` clears away."""
        return stop(self.processes.values())

    def stop(self, *, keep: bool = False) -> int:
        """Stop the brokers, take the lab's directory away, and return how many still ran."""
        n_stopped = self.stop_brokers()
        if keep:
            (self.place / STATE).unlink(missing_ok=True)
        else:
            shutil.rmtree(self.place)
        return n_stopped

    def _wait_for_listener(self, node: str) -> None:
        port, process = self.access.ports[node], self.processes[node]
        wait_until(lambda: accepts(port) or not process.runs())
        if process.runs() and accepts(port):
            return
        log = self.directory(node) / LOG
        raise DeployError(
            f"the broker {node!r} did not start: {last_lines(log)}", f"127.0.0.1:{port}"
        )


def lab_place(conf: Path, place: Path | None = None) -> Path:
    """Return where the lab of a configuration directory lives: beside it."""
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
    """Start the brokers of a configuration directory on loopback, those `without` left out.

    A plan whose hosts are all loopback keeps its ports unless `any_ports`; others get free ones,
    but for those that `ports` names.
    """
    find_mosquitto()
    plan = plan or read_plan(conf)
    absent = set(without)
    if not absent <= set(plan.nodes):
        raise InputError(
            f"{', '.join(map(repr, sorted(absent - set(plan.nodes))))} is no broker of '{conf}'; "
            f"choose from: {', '.join(plan.nodes[:10])}{', ...' if len(plan.nodes) > 10 else ''}"
        )
    where = lab_place(conf, place)
    _make_place(where, conf)
    try:
        listens = {**_ports(plan, any_ports), **(ports or {})}
        lab = Lab(where, plan, prepare(conf, plan, where, listens, via=via, extra=extra))
    except BaseException:
        shutil.rmtree(where)
        raise
    try:
        lab.save()  # from now on `down` knows the place, whatever ends us
        for nodes in start_order(plan):
            lab.start([node for node in nodes if node not in absent])
    except BaseException:
        lab.stop()
        raise
    return lab


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
    access = Access(state["ports"], state["password"], frozenset(state["tls"]), state["authority"])
    return Lab(where, plan, access, _processes(state))


def down(conf: Path, *, place: Path | None = None, keep: bool = False) -> tuple[int, int]:
    """Stop the lab of a configuration directory; return (brokers stopped, brokers gone before).

    Needs nothing but the lab's own directory: the configuration may be gone or changed.
    """
    where = lab_place(conf, place)
    state = _read_state(where)
    if state is None:
        raise InputError(f"no lab of '{conf}' is up: '{where / STATE}' is not there.")
    access = Access({}, "", frozenset(), None)
    known = _processes(state)
    lab = Lab(where, Plan((), (), (), 0), access, known)
    n_ran = sum(process.runs() for process in known.values())
    n_strays = stop(process for process in brokers_in(where) if process not in known.values())
    lab.stop(keep=keep)
    return n_ran + n_strays, len(known) - n_ran


def start_order(plan: Plan) -> list[list[str]]:
    """Return the brokers in groups, those that are dialled before those that dial them.

    A bridge that finds nobody waits many seconds before it tries again.
    """
    dials: dict[str, set[str]] = {node: set() for node in plan.nodes}
    for u, v in plan.links:
        dials[u].add(v)
    groups: list[list[str]] = []
    started: set[str] = set()
    while len(started) < len(dials):
        ready = [n for n in dials if n not in started and dials[n] <= started]
        if not ready:  # bridges dial in a circle: somebody has to be first
            ready = [next(n for n in dials if n not in started)]
        groups.append(ready)
        started.update(ready)
    return groups


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by its own name for itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _ports(plan: Plan, any_ports: bool) -> dict[str, int]:
    if any_ports or not all(is_loopback(broker.host) for broker in plan.brokers):
        return dict(zip(plan.nodes, free_ports(len(plan.nodes)), strict=True))
    taken = [f"{b.node} ({b.port})" for b in plan.brokers if not port_is_free(b.port)]
    if taken:
        raise DeployError(
            f"{len(taken)} ports of the plan are in use here: {', '.join(taken[:5])}. Stop what "
            f"listens there, or let the lab choose with --any-ports."
        )
    return {broker.node: broker.port for broker in plan.brokers}


def _make_place(where: Path, conf: Path) -> None:
    state = _read_state(where)
    if state is not None:
        known = {process for process in _processes(state).values() if process.runs()}
        n_running = len(known.union(brokers_in(where)))
        if n_running:
            raise InputError(
                f"the lab of '{conf}' is up already with {n_running} brokers; stop it first: "
                f"meshwright lab down {conf}"
            )
        shutil.rmtree(where)  # of a lab whose brokers have all ended
    if where.exists():
        raise InputError(
            f"'{where}' is there and holds no lab; move it away or name another place with --lab."
        )
    where.mkdir(mode=0o700, parents=True)


def _read_state(where: Path) -> dict[str, Any] | None:
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
        raise InputError(f"'{where / STATE}' is no state of a lab; name another place with --lab.")
    return state


def _processes(state: dict[str, Any]) -> dict[str, Process]:
    return {node: Process(int(pid), started) for node, (pid, started) in state["processes"].items()}
