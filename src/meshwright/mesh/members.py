"""`mesh add` and `mesh remove`: brokers come and go while the mesh runs.

mesh.toml says who takes part; the planner makes the log follow it. A broker that is removed is
first listed as leaving: its agent sends what it has, and is then taken out of the log. Its number
stays in mesh.toml, since numbers are part of the identities of messages.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from meshwright.deploy.plan import Broker
from meshwright.errors import DeployError, InputError
from meshwright.mesh.config import REMOVED_PLACE, Member, MeshConfig, read_mesh
from meshwright.mesh.init import (
    plan_members,
    read_brokers,
    refuse_shared_ports,
    refuse_unreachable,
    write_broker,
    write_mesh_file,
)
from meshwright.mesh.monitoring import write_monitoring
from meshwright.mesh.status import ask_agent, ask_planner, post

LOOK_EVERY = 0.25  # seconds
MEMBERS = "/members"  # the path at which the planner is told to read mesh.toml again


class AddRequest(NamedTuple):
    """What `mesh add` is asked for."""

    place: Path
    inventory: Path
    agent_ports: Sequence[int] = ()  # one for each broker, in the order of the inventory
    metrics_ports: Sequence[int] = ()


class Added(NamedTuple):
    """What `mesh add` did."""

    members: tuple[Member, ...]
    planner_knows: bool  # otherwise it takes them in when it is started


def add(request: AddRequest) -> Added:
    """Write directories for further brokers, and have the planner take them in."""
    config = read_mesh(request.place)
    brokers, kinds = read_brokers(request.inventory)
    _refuse_known(config, request.inventory, brokers)
    listed = plan_members(
        brokers,
        kinds,
        request.agent_ports,
        request.metrics_ports,
        first=1 + max(config.numbers),
        taken=[path.name for path in config.place.iterdir()],
    )
    config = config._replace(brokers=(*config.brokers, *listed))
    refuse_shared_ports(config)
    refuse_unreachable(config)
    for member, broker in zip(listed, brokers, strict=True):
        write_broker(config, member, broker, kinds[broker.node], {})
    _save(config)
    return Added(tuple(listed), _tell_planner(config))


def _refuse_known(config: MeshConfig, inventory: Path, brokers: Sequence[Broker]) -> None:
    if not brokers:
        raise InputError(f"'{inventory}' lists no broker.")
    known = {member.name for member in (*config.brokers, *config.leaving)}
    for broker in brokers:
        if broker.node in known:
            raise InputError(
                f"'{inventory}' lists {broker.node!r}, which is in the mesh already. List only the "
                "brokers to add."
            )
    if bool(brokers[0].ca) != bool(config.ca):
        has, lacks = ("has", "lists none") if config.ca else ("has no", "lists some")
        raise InputError(
            f"the mesh {has} certificates and '{inventory}' {lacks}. Links use TLS between all "
            "agents or between none: make the inventory agree with the mesh."
        )


class Waiting(NamedTuple):
    """What the agent of a broker holds."""

    journal: int  # messages of this broker's clients that not everybody has
    mailbox: int  # messages for this broker


class Removal(NamedTuple):
    """What `mesh remove` did, or found."""

    member: Member
    waiting: Waiting | None  # None if its agent does not answer
    is_gone: bool
    planner_knows: bool = True


def look_at(place: Path, name: str) -> Removal:
    """Return what the agent of a broker still holds; raise InputError if it cannot be removed."""
    config = read_mesh(place)
    member = _member(config, name)
    stay = len(config.brokers) - (member in config.brokers)
    if stay < 2:
        raise InputError(
            f"{name!r} cannot be removed: {stay} broker would be left, and a mesh needs two. To "
            "end the mesh, stop its agents and its planner."
        )
    if config.survive > stay - 2:
        raise InputError(
            f"{name!r} cannot be removed: mesh.toml asks for survive = {config.survive}, and "
            f"{stay} brokers can survive the loss of {stay - 2} at most. Change it there first."
        )
    return Removal(member, _waiting(config, member), False)


def remove(
    place: Path,
    name: str,
    *,
    at_once: bool = False,
    seconds: float = 60.0,
    said: Callable[[Waiting | None], None] = lambda _: None,
) -> Removal:
    """Remove a broker; `said` is told from time to time what its agent still holds.

    Unless `at_once`, its agent first sends what it has. After `seconds` this function returns all
    the same: the removal goes on, and calling it again waits again.
    """
    member = look_at(place, name).member
    config = read_mesh(place)
    config = config._replace(
        brokers=tuple(each for each in config.brokers if each.node != member.node),
        leaving=tuple(each for each in config.leaving if each.node != member.node),
    )
    gone = config._replace(removed=(*config.removed, member))
    _save(gone if at_once else config._replace(leaving=(*config.leaving, member)))
    knows = _tell_planner(config)
    end = time.monotonic() + seconds
    waiting = _waiting(config, member)
    while knows and time.monotonic() < end:
        if _is_gone(config, member):
            if not at_once:
                _save(gone)
                _tell_planner(config)
            _put_away(config, member)
            return Removal(member, waiting, True)
        waiting = _waiting(config, member)
        said(waiting)
        time.sleep(LOOK_EVERY)
    return Removal(member, waiting, False, knows)


def _save(config: MeshConfig) -> None:
    """Write who takes part, for the planner and for Prometheus."""
    write_mesh_file(config)
    write_monitoring(config)


def _member(config: MeshConfig, name: str) -> Member:
    for member in (*config.brokers, *config.leaving):
        if member.name == name:
            return member
    known = ", ".join(member.name for member in config.brokers[:5])
    more = ", ..." if config.brokers[5:] else ""
    raise InputError(f"the mesh has no broker {name!r}. It has: {known}{more}")


def _waiting(config: MeshConfig, member: Member) -> Waiting | None:
    status = ask_agent(config, member)
    if status is None:
        return None
    return Waiting(*(status["stores"][store]["records"] for store in ("journal", "mailbox")))


def _is_gone(config: MeshConfig, member: Member) -> bool:
    status = ask_planner(config)
    # An older planner does not say who takes part, and cannot take anybody out.
    return status is not None and member.node not in status.get("members", [member.node])


def _tell_planner(config: MeshConfig) -> bool:
    """Have the planner read mesh.toml again; return whether it did."""
    found = post(config, MEMBERS)
    if found is not None and "error" in found:
        raise DeployError(f"the planner cannot use mesh.toml: {found['error']}", config.planner)
    return found is not None


def _put_away(config: MeshConfig, member: Member) -> None:
    """Move the directory of a removed broker aside: its name may be used again."""
    place = config.place / member.directory
    if place.exists():
        aside = config.place / REMOVED_PLACE
        aside.mkdir(exist_ok=True)
        place.rename(aside / f"{member.node}-{member.directory}")
