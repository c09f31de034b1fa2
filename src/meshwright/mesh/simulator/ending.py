"""How a mesh must look when all has been calm for long: agents agree, and nothing is left over."""

from collections.abc import Collection

from meshwright.mesh.core.agent import Agent
from meshwright.mesh.core.events import PLANNER
from meshwright.mesh.core.routes import components
from meshwright.mesh.simulator.mesh import Mesh
from meshwright.mesh.simulator.oracle import Violation
from meshwright.patterns.filters import covers

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
