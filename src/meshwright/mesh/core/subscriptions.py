"""What an agent subscribes to at its own broker: what others want, without what is covered."""

from meshwright.mesh.core.events import SetSubscriptions
from meshwright.mesh.core.log import MeshLog
from meshwright.mesh.core.outbox import Outbox
from meshwright.patterns.filters import PatternIndex


class Subscriptions:
    """The subscriptions of one agent's data session."""

    def __init__(self, node: int, out: Outbox, log: MeshLog) -> None:
        self._node = node
        self._out = out
        self._log = log
        self._wanted: set[str] = set()  # by others
        self.filters: set[str] = set()  # subscribed to, or on the way
        self._is_up = False

    def follow(self) -> None:
        """Subscribe to what others want at the newest version."""
        wanted = {
            pattern
            for node, filters in self._log.filters_of.items()
            if node != self._node
            for pattern in filters
        }
        if wanted != self._wanted:
            self._wanted = wanted
            self._update()

    def connect(self, *, resumed: bool) -> None:
        """Subscribe anew: a resumed session may lack what changed while it was away."""
        self._is_up = True
        if not resumed:
            self.filters.clear()
        self._update(again=resumed)

    def _update(self, *, again: bool = False) -> None:
        if not self._is_up:
            return
        goal = uncovered(self._wanted)
        added = goal if again else goal - self.filters
        removed = self.filters - goal
        self.filters = goal
        if added or removed:
            names = tuple(sorted(added)), tuple(sorted(removed))
            self._out.actions.append(SetSubscriptions(self._out.token(), *names))


def uncovered(patterns: set[str]) -> set[str]:
    """Return the patterns that no other one covers.

    Examples
    --------
    >>> sorted(uncovered({"a/b", "a/+", "c"}))
    ['a/+', 'c']
    """
    index = PatternIndex(pattern for pattern in patterns if "+" in pattern or "#" in pattern)
    return {
        pattern
        for pattern in patterns
        if all(wider == pattern for wider in index.covering(pattern))
    }
