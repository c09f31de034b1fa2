"""How an agent leaves the mesh: it takes nothing new, sends what it has, and says when it is done.

A broker that leaves stays linked until its agent has sent everything and its own broker has taken
everything; the planner then takes it out. If the broker is away, its session may hold messages of
clients, so the agent waits for it. A removal at once (`Left` without `Leaving`) waits for nothing.
"""

from collections.abc import Callable

from meshwright.mesh.core.events import PLANNER, STATE, End
from meshwright.mesh.core.frames import Drained
from meshwright.mesh.core.log import MeshLog
from meshwright.mesh.core.outbox import Outbox

LEFT = "left"
SETTLE = 2.0  # seconds in which the broker passes on what clients published before they left
LOOK_EVERY = 0.2
WHY = "this broker was removed from the mesh; its agent ends"


class Farewell:
    """Notices that the own broker leaves, and sees to it."""

    def __init__(self, node: int, out: Outbox, log: MeshLog) -> None:
        self._node = node
        self._out = out
        self._log = log
        self._was_joined = False
        self.is_leaving = False
        self._close_at: float | None = None  # None while the broker is away
        self._is_broker_up = False
        self._drained_at: float | None = None
        self.term: Callable[[], int] = lambda: 0  # the highest planner term that is confirmed
        self.close: Callable[[], None] = lambda: None  # take nothing more from the own broker
        self.is_empty: Callable[[], bool] = lambda: True  # whether nothing is left to be sent
        self.tidy: Callable[[], None] = lambda: None  # clear what others retained here

    def follow(self) -> None:
        """Compare with the log."""
        log, me = self._log, self._node
        if me in log.joined:
            self._was_joined = True
            if me in log.leaving and not self.is_leaving:
                self.is_leaving = True
                self._out.note("leaving", "this broker leaves the mesh")
                self._begin()
        elif self._was_joined or self._is_unknown():
            self._was_joined = False
            self._out.put(STATE, (LEFT,), (), self.end)

    def _is_unknown(self) -> bool:
        """Return whether a planner that we obey lists others and not us.

        So it is with a broker that was added and removed while the planner was away: the first
        entry of a planner's term names all who join.
        """
        return bool(self._log.joined) and self._log.newest.term == self.term() > 0

    def end(self) -> None:
        """End this agent."""
        self._out.actions.append(End(WHY, False))

    def broker_up(self) -> None:
        """Begin to wait for what the broker passes on."""
        self._is_broker_up = True
        self._begin()

    def broker_lost(self) -> None:
        """Wait for the broker: its session may hold messages."""
        self._is_broker_up = False
        self._close_at = self._drained_at = None

    def _begin(self) -> None:
        if self.is_leaving and self._is_broker_up:
            self._close_at = self._out.now + SETTLE
            self._out.wake("farewell", self._close_at)

    def tick(self) -> None:
        """Look whether all is sent."""
        now = self._out.now
        if self._close_at is None or now < self._close_at:
            return
        self.close()
        if self._drained_at is None and self.is_empty():
            self.tidy()
            self._drained_at = now
        elif self._drained_at is not None and self.is_empty():
            self.tell()
        self._out.wake("farewell", now + (LOOK_EVERY if self._drained_at is None else SETTLE))

    def tell(self) -> None:
        """Tell the planner, again if it did not hear it."""
        drained = self._drained_at
        if drained is not None and self._out.now > drained and PLANNER in self._out.up:
            self._out.to_planner(Drained(self._node))
