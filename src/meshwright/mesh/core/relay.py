"""Passing on: messages along their routes, and answers from agent to agent."""

from collections import OrderedDict
from collections.abc import Iterable

from meshwright.mesh.core.frames import Acks, Ask, Data, Never, Refused
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.routes import Route, Routes
from meshwright.mesh.core.values import MessageId, Version

Answer = Acks | Refused | Ask | Never
MOST_HOPS = 64  # of an answer; only disagreement about the log can make it wander
MOST_PASSED = 50_000  # copies remembered, so that none is passed on twice


class Relay:
    """What an agent does for others."""

    def __init__(self, node: int, out: Outbox, routes: Routes) -> None:
        self.node = node
        self._out = out
        self._routes = routes
        self._passed: OrderedDict[tuple[MessageId, Version, int, int], None] = OrderedDict()

    def pass_on(self, frame: Data, route: Route, hop: int) -> set[int]:
        """Send a message over the hops after `hop`; return the targets that it cannot reach."""
        left: set[int] = set()
        for child in route.children.get(hop, ()):
            serves = route.serves[child]
            if frame.targets:  # not all: leave out the ways that lead to none of them
                serves = serves.intersection(frame.targets)
                if not serves:
                    continue
            receiver = route.hops[child].receiver
            if receiver in self._out.up and receiver not in self._out.full:
                self._out.send(receiver, frame._replace(hop=child))
            else:
                left |= serves
        return left

    def relay(self, frame: Data, route: Route) -> None:
        """Pass on a message of another agent, once; tell its origin where it cannot go."""
        key = (frame.id, frame.version, frame.attempt, frame.hop)
        if key in self._passed:
            return
        self._passed[key] = None
        if len(self._passed) > MOST_PASSED:
            self._passed.popitem(last=False)
        left = self.pass_on(frame, route, frame.hop)
        if left:
            lost = any(
                route.hops[child].receiver not in self._out.up and route.serves[child] & left
                for child in route.children.get(frame.hop, ())
            )
            self.refuse(frame, left, "lost" if lost else "full")

    def refuse(self, frame: Data, nodes: Iterable[int], reason: str) -> None:
        """Tell an origin that its message goes no further from here."""
        self._out.note("refused", f"{reason}: a message of {frame.message.topic!r}")
        if frame.message.qos:
            refused = (frame.id, frame.attempt, tuple(sorted(nodes)), reason)
            self.answer(Refused(frame.id.origin, self.node, *refused, MOST_HOPS))

    def answer(self, frame: Answer) -> None:
        """Send an answer on its way: to the neighbour that is nearest to its goal."""
        if frame.hops_left <= 0 or frame.to == self.node:
            return
        up = self._out.up
        if frame.to in up:
            self._out.send(frame.to, frame._replace(hops_left=frame.hops_left - 1))
            return
        far = self._routes.distances(frame.to)
        best = min(((far[peer], peer) for peer in up if peer in far), default=None)
        if best is not None:
            self._out.send(best[1], frame._replace(hops_left=frame.hops_left - 1))
