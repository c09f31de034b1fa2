"""``meshwright mesh add`` and ``remove``: brokers come and go while the mesh runs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from meshwright.cli import command_name, show
from meshwright.cli.mesh import Mesh, mesh, print_next_steps
from meshwright.cli.options import Json
from meshwright.errors import CheckError, InputError
from meshwright.runtime.progress import Progress

if TYPE_CHECKING:
    from meshwright.mesh.members import Removal, Waiting


@mesh.command()
def add(
    mesh: Mesh,
    inventory: Path = Option(help="The brokers to add: a CSV file with node, host and port."),
    json: Json = False,
) -> None:
    """Add brokers to a mesh, also while it runs."""
    from meshwright.mesh.members import AddRequest
    from meshwright.mesh.members import add as stage

    progress = Progress(1)
    with progress.step("writing directories and telling the planner"):
        found = stage(AddRequest(mesh, inventory))
    names = [member.name for member in found.members]
    if json:
        show.print_json({"added": names, "planner_knows": found.planner_knows})
        return
    facts = {
        "added": ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else ""),
        "planner": "knows them" if found.planner_knows else "does not answer",
    }
    show.print_facts(f"mesh {mesh}", facts)
    print_next_steps(mesh, found.members)
    if not found.planner_knows:
        print(f"the planner takes them in when it runs: {command_name()} mesh planner {mesh}")
    print(f"then see: {command_name()} mesh status {mesh}")


@mesh.command()
def remove(
    mesh: Mesh,
    node: str = Argument(help="The broker, as the inventory names it."),
    yes: bool = Option(False, "--yes", help="Do it; otherwise only say what would happen."),
    now: bool = Option(False, "--now", help="Do not wait for what its agent still has to send."),
    seconds: float = Option(60.0, min=0, help="How long to wait until its agent has sent all."),
    json: Json = False,
) -> None:
    """Remove a broker from a mesh, also while it runs."""
    from meshwright.mesh.members import look_at
    from meshwright.mesh.members import remove as stage

    found = look_at(mesh, node)
    if not yes:
        if json:
            show.print_json(as_dict(found))
        else:
            print_waiting(node, found.waiting)
            print_consequences(node, at_once=now)
        more = " --now" if now else ""
        raise InputError(
            f"nothing was changed. To remove the broker: {removal(mesh, node)}{more} --yes"
        )
    if not json:
        print_waiting(node, found.waiting)
    progress = Progress(1)
    with progress.step(f"removing {node}"):
        found = stage(mesh, node, at_once=now, seconds=seconds)
    if json:
        show.print_json(as_dict(found))
    if not found.is_gone:
        raise CheckError(why_not_gone(mesh, node, found))
    if not json:
        print(f"{node} was removed from the mesh; its agent ends by itself")
        print(f"see the others: {command_name()} mesh status {mesh}")


def removal(mesh: Path, node: str) -> str:
    """Return the command that removes a broker."""
    return f"{command_name()} mesh remove {shlex.quote(str(mesh))} {shlex.quote(node)}"


def as_dict(found: Removal) -> dict[str, object]:
    """Return a removal for JSON."""
    waiting = None if found.waiting is None else found.waiting._asdict()
    return {"broker": found.member.name, "waiting": waiting, "is_gone": found.is_gone}


def print_waiting(node: str, waiting: Waiting | None) -> None:
    """Say what the agent of a broker still holds."""
    if waiting is None:
        show.print_sentence(
            f"the agent of {node!r} does not answer, so nobody knows what it still holds"
        )
        return
    facts = {
        "from its clients": f"{waiting.journal:,} messages that not everybody has yet",
        "for its clients": f"{waiting.mailbox:,} messages that the broker has not taken",
    }
    show.print_facts(f"the agent of {node!r} holds on disk", facts)


def print_consequences(node: str, *, at_once: bool) -> None:
    """Say what a removal does."""
    print()
    if at_once:
        show.print_sentence(
            f"with --now {node} is out at once: what its agent holds is not delivered any more."
        )
    else:
        show.print_sentence(
            f"{node} would first send and take what its agent holds, and then be out. Its "
            "clients keep their broker, but get nothing from others, and others nothing from them."
        )


def why_not_gone(mesh: Path, node: str, found: Removal) -> str:
    """Return why a removal is not complete yet, and what to do."""
    again = f"{removal(mesh, node)} --yes"
    if not found.planner_knows:
        return (
            f"the planner does not answer; it takes {node!r} out when it runs again. Then wait for "
            f"it with: {again}"
        )
    if found.waiting is None:
        return (
            f"the agent of {node!r} does not answer, so it cannot send what it holds. Start it and "
            f"run this again, or give up what it holds: {again} --now"
        )
    held = found.waiting.journal + found.waiting.mailbox
    return (
        f"{node!r} is leaving, and its agent still holds {held:,} messages; it needs its broker "
        f"and those it sends to. Wait again: {again}, or give them up with --now"
    )
