"""Who takes part: what the planner appends when the operator's list differs from the log."""

from collections.abc import Iterable

from meshwright.mesh.core.events import Members
from meshwright.mesh.core.log import MeshLog
from meshwright.mesh.core.patch import connected, without_others
from meshwright.mesh.core.values import Change, Health, Interests, Joined, Leaving, Left, Linked


def arrivals(members: Members, log: MeshLog) -> list[Change]:
    """Return the brokers of the list that the log lacks or knows by another name or endpoint."""
    return [
        one
        for one in members.brokers
        if log.joined.get(one.node) != one and not _is_known(one, log)
    ]


def conflicts(members: Members, log: MeshLog) -> list[str]:
    """Return where list and log disagree in a way that only the operator can settle."""
    found = []
    for one in members.brokers:
        if _is_known(one, log):
            number = next(row.node for row in log.joined.values() if row.name == one.name)
            found.append(f"{one.name!r} is number {number} in the log and {one.node} in mesh.toml")
    listed = {one.node for one in members.brokers} | {*members.leaving, *members.removed}
    for row in log.joined.values():
        if row.node not in listed:
            found.append(f"{row.name!r} takes part but is not in mesh.toml")
    return found


def _is_known(one: Joined, log: MeshLog) -> bool:
    """Return whether the log has a broker's name under another number: numbers never change."""
    return any(row.name == one.name and row.node != one.node for row in log.joined.values())


def departures(members: Members, log: MeshLog) -> list[Change]:
    """Return what makes brokers begin to leave."""
    changes: list[Change] = []
    for node in members.leaving:
        if node in log.joined and node not in log.leaving:
            changes += [*_no_interests(node, log), Leaving(node)]
    return changes


def removals(nodes: Iterable[int], log: MeshLog, routing: str) -> list[Change]:
    """Return what takes brokers out of the log, with the overlay of those who stay."""
    gone = sorted(log.joined.keys() & set(nodes))
    if not gone:
        return []
    changes: list[Change] = []
    for node in gone:
        changes += [*_no_interests(node, log), Left(node)]
    stay = [node for node in log.joined if node not in gone]
    before, known = log.shape.topology, log.shape.health
    down = tuple(link for link in known.down if not set(link).intersection(gone))
    health = Health(tuple(node for node in known.away if node not in gone), down)
    if health != known:
        changes.append(health)
    topology = connected(without_others(before, stay), stay, health, routing)
    if topology != before:
        changes.append(Linked(topology))
    return changes


def _no_interests(node: int, log: MeshLog) -> list[Change]:
    filters = log.filters_of.get(node)
    return [Interests(node, (), tuple(sorted(filters)))] if filters else []
