"""Move a running lab from one configuration to another, as one would move real brokers.

Brokers are reloaded, stopped, started and restarted in the order of `deploy diff`, in which no
topic ever has a cycle. Each gets its new files at its own step: one that crashes and is started
again before must come back as it was.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from meshwright.deployment.restart import Step, restart_order
from meshwright.errors import InputError
from meshwright.lab.plan import read_plan
from meshwright.lab.prepare import prepare
from meshwright.lab.processes import free_ports, stop
from meshwright.lab.running import Lab

ACCESS_FILES = ("acl", "passwd")  # what SIGHUP makes a broker read again


def redeploy(
    lab: Lab, before: Path, after: Path, *, done: Callable[[Step], None] = lambda _: None
) -> list[Step]:
    """Bring a lab that runs `before` to `after`; return the steps, each told to `done`.

    The lab keeps its place and its ports, and brokers keep what they have stored.
    """
    if set(lab.plan.nodes) != set(read_plan(before).nodes):
        raise InputError(f"the lab in '{lab.place}' does not run '{before}'.")
    plan = read_plan(after)
    if any(broker.tls for broker in plan.brokers) and lab.access.authority is None:
        raise InputError("the lab runs without TLS and cannot get it while it runs; start it anew.")
    steps = restart_order(before, after)
    ports = dict(lab.access.ports)
    new = [node for node in plan.nodes if node not in ports]
    ports |= dict(zip(new, free_ports(len(new)), strict=True))
    place = lab.place / "next"
    place.mkdir(mode=0o700)
    try:
        lab.access = prepare(after, plan, place, ports, like=lab.access)
        lab.plan = plan
        for step in steps:
            _take(lab, step, place)
            done(step)
    finally:
        shutil.rmtree(place)
    return steps


def _take(lab: Lab, step: Step, new: Path) -> None:
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
        stop([process])
        del lab.processes[step.node]
        lab.save()
    if step.action in ("start", "restart"):
        own = lab.directory(step.node)
        shutil.copytree(new / own.name, own, dirs_exist_ok=True)
        lab.start([step.node])
