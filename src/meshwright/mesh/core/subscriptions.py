"""What an agent subscribes to at its own broker: what others want, without what is covered."""

from meshwright.mesh.core.events import SetSubscriptions
from meshwright.mesh.core.log import MeshLog
from meshwright.mesh.core.outbox import Outbox
from meshwright.patterns.filters import PatternIndex, is_filter


class Subscriptions:
    """The subscriptions of one agent's data session."""

    def __init__(self, node: int, out: Outbox, log: MeshLog) -> None:
        self._node = node
        self._out = out
        self._log = log
        self._wanted: set[str] = set()  # by others
        self._goal: set[str] = set()  # of these, the ones that no other one covers
        self.filters: set[str] = set()  # subscribed to, or on the way
        self._is_up = False
        self.is_closed = False  # whether this broker leaves: nothing more is taken from it

    def follow(self) -> None:
        """Subscribe to what others want at the newest version."""
        wanted = {
            pattern
            for node, filters in self._log.filters_of.items()
            if node != self._node and not self.is_closed
            for pattern in filters
        }
        if wanted != self._wanted:
            before, self._wanted = self._wanted, wanted
            self._goal = changed_cover(self._goal, before, wanted)
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
        goal = set(self._goal)
        added = goal if again else goal - self.filters
        removed = self.filters - goal
        self.filters = goal
        if added or removed:
            names = tuple(sorted(added)), tuple(sorted(removed))
            self._out.actions.append(SetSubscriptions(self._out.token(), *names))


def changed_cover(cover: set[str], before: set[str], now: set[str]) -> set[str]:
    """Return `uncovered(now)`, from that of `before`; quick where only names came and went.

    Examples
    --------
    >>> sorted(changed_cover({"a/+", "c"}, {"a/b", "a/+", "c"}, {"a/b", "a/+", "d"}))
    ['a/+', 'd']
    """
    added, removed = now - before, before - now
    if any(map(is_filter, added | removed)):
        return uncovered(now)
    wide = PatternIndex(filter(is_filter, cover))
    return (cover - removed) | {name for name in added if not wide.covering(name)}


def uncovered(patterns: set[str]) -> set[str]:
    """Return the patterns that no other one covers.

    Examples
    --------
    >>> sorted(uncovered({"a/b", "a/+", "c"}))
    ['a/+', 'c']
    """
    index = PatternIndex(filter(is_filter, patterns))
    return {
        pattern
        for pattern in patterns
        if all(wider == pattern for wider in index.covering(pattern))
    }
