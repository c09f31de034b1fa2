"""Move a running lab from one configuration to another, as one would move real brokers.

New files are put in place first; then brokers are reloaded, stopped, started and restarted in
the order of `deploy diff`, in which no topic ever has a cycle.
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
        access = prepare(after, plan, place, ports, like=lab.access)
        for broker in plan.brokers:
            own = lab.place / broker.directory
            shutil.copytree(place / broker.directory, own, dirs_exist_ok=True)
    finally:
        shutil.rmtree(place)
    lab.plan, lab.access = plan, access
    for step in steps:
        _take(lab, step)
        done(step)
    return steps


def _take(lab: Lab, step: Step) -> None:
    process = lab.processes.get(step.node)
    if step.action == "reload" and process is not None:
        if process.runs():
            os.kill(process.pid, signal.SIGHUP)
        return
    if process is not None and step.action in ("stop", "restart"):
        stop([process])
        del lab.processes[step.node]
        lab.save()
    if step.action in ("start", "restart"):
        lab.start([step.node])
