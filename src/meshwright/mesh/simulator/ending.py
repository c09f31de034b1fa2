"""How a mesh must look when all has been calm for long: agents agree, and nothing is left over."""

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from meshwright.mesh.core.agent import Agent
from meshwright.mesh.core.events import PLANNER
from meshwright.mesh.core.routes import components
from meshwright.mesh.simulator.mesh import Mesh
from meshwright.mesh.simulator.oracle import Violation
from meshwright.patterns.filters import covers


class Kept(NamedTuple):
    """A client had a message retained, or cleared one with an empty payload."""

    time: float
    broker: int
    topic: str
    payload: bytes


Wanted = Collection[tuple[int, str]]  # broker and filter


def left_over(mesh: Mesh, gone: set[int], wanted: Wanted) -> list[Violation]:
    """Return where agents disagree, what they still hold, and what nothing was designed for."""
    found = []
    if mesh.notes["bad_hop"]:
        found.append(Violation(1, "route: agents disagree about a hop of a message"))
    if mesh.notes["failures"]:
        found.append(Violation(6, "the planner gave up"))
    for node, part in sorted(mesh.parts.items()):
        if node in gone:
            found.append(Violation(1, f"agent {node} has not left"))
        if left := gone & part.log.joined.keys():
            found.append(Violation(1, f"{node} still counts {sorted(left)}"))
        if isinstance(part, Agent) and (part.origin.pending or part.receiver.held):
            kept = f"{len(part.origin.pending)} sent, {len(part.receiver.held)} received"
            found.append(Violation(1, f"agent {node} still holds messages: {kept}"))
    return [*found, *_unplanned(mesh, wanted)]


def _unplanned(mesh: Mesh, wanted: Wanted) -> list[Violation]:
    """Return what the last overlay was not designed for."""
    planner = mesh.parts.get(PLANNER)
    if planner is None:
        return []
    topology, going = planner.log.shape.topology, planner.log.joined.keys()
    if topology.routing != "tree":
        apart = sorted(going - set(topology.ring)) if len(going) > 1 else []
        return [Violation(1, f"unplanned: {apart} are not on the ring")] if apart else []
    found = []
    for pattern in sorted({pattern for node, pattern in wanted if node in going}):
        nodes = {node for node, wide in wanted if node in going and covers(wide, pattern)}
        near = {
            node: [v for edge in topology.edges if node in edge for v in edge if v in nodes]
            for node in nodes
        }
        if len(components(nodes, near)) > 1:
            text = f"unplanned: {pattern!r} at {sorted(nodes)} needs relays"
            found.append(Violation(1, text))
    return found


def wrongly_kept(
    mesh: Mesh, wanted: Wanted, steady: Wanted, kept: Collection[Kept]
) -> list[Violation]:
    """Return the topics of which brokers that want them retain different or old messages.

    The last message of each writer may win over those of the others: only agents that hear of each
    other agree about what is later. Of one writer it is the last one. A topic is judged if two
    brokers want it all the time (`steady`): an agent does not hear what its clients set while no
    other broker wants it.
    """
    found = []
    last: dict[str, dict[int, bytes]] = defaultdict(dict)
    for each in sorted(kept):
        last[each.topic][each.broker] = each.payload
    for topic, by_writer in sorted(last.items()):
        if len({node for node, wide in steady if covers(wide, topic)}) < 2:
            continue
        there = {}
        for node in sorted({node for node, wide in wanted if covers(wide, topic)}):
            message = mesh.brokers[node].state.retained.get(topic)
            there[node] = b"" if message is None else message.payload
        if len(set(there.values())) > 1 or not set(there.values()) <= set(by_writer.values()):
            text = f"retained: {topic!r} is {there}, and its writers left {by_writer}"
            found.append(Violation(1, text))
    return found
