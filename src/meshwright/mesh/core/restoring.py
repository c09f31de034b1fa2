"""What a planner without a log does: it collects that of the agents, or refuses to begin anew."""

from meshwright.mesh.core.events import Members
from meshwright.mesh.core.frames import Hello
from meshwright.mesh.core.log import MeshLog
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.settings import PlannerSettings
from meshwright.mesh.core.values import NO_VERSION

LOST = (
    "the agent of {} holds version {}.{} of the mesh's log, and this planner has no log: its files "
    "were lost, or it was started in another place. If another planner of this mesh runs, leave it "
    "at that one; otherwise go on from the agents' copies with --restore."
)


class Restoring:
    """The agents that greeted this life of a planner, and what they hold."""

    def __init__(self, settings: PlannerSettings, out: Outbox) -> None:
        self._settings = settings
        self._out = out
        self.began_empty = False  # whether this life began without a log
        self._met: set[int] = set()
        self._met_at = 0.0  # when the first agent greeted
        self._newest = NO_VERSION  # that one of them held

    def meets(self, node: int, hello: Hello) -> bool:
        """Take note of a greeting; return whether it is the first of this agent."""
        is_first = node not in self._met
        if not self._met:
            self._met_at = self._out.now
        self._met.add(node)
        self._newest = max(self._newest, hello.version)
        return is_first

    def lost_log(self, node: int, hello: Hello, members: Members) -> str | None:
        """Return why this planner must not go on: an agent holds a log it never wrote."""
        if not self.began_empty or self._settings.restores or node in self._met:
            return None
        if hello.version == NO_VERSION or not hello.term:
            return None  # it holds nothing, or only what it has from neighbours that know us
        names = [repr(one.name) for one in members.brokers if one.node == node]
        return LOST.format(*(names or [f"number {node}"]), *hello.version)

    def may_begin(self, members: Members, log: MeshLog) -> bool:
        """Return whether agents were heard as far as they have to be."""
        if not self._settings.restores:
            return bool(self._met) or not self.began_empty
        expected = {one.node for one in members.brokers} | set(members.leaving)
        missing = expected - self._met
        if not self._met or self._newest > log.newest or (missing and not self._is_late()):
            words = f"{len(expected - missing)} of {len(expected)} agents have answered"
            newest = f"{self._newest.term}.{self._newest.number}"
            self._out.note("restoring", f"{words}; the newest version is {newest}")
            return False
        if missing:
            names = {one.node: one.name for one in (*log.joined.values(), *members.brokers)}
            listed = ", ".join(names.get(node, f"number {node}") for node in sorted(missing))
            self._out.note("restored_without", f"agents that do not answer: {listed}")
        return True

    def _is_late(self) -> bool:
        return self._out.now >= self._met_at + self._settings.restore_for
