"""Own publishes that come back, at a broker that cannot leave them out (no no-local).

Every publish that matches a subscription of the same session comes back once. A multiset of what
is due to come back tells it from what clients publish: of two equal messages one is taken and one
left out, whichever comes first, so a client's message is never lost to an equal one of ours.

What is due may never come: the connection broke before the broker had it, or the broker dropped a
message of QoS 0. Such an entry would swallow a message of a client later. So the session publishes
a *fence* to itself, a message that nobody else sends. The broker passes messages of a session on in
the order in which they came; when the fence is back, whatever was due before it will not come any
more. A fence is sent when a session goes on after a reconnect, and now and then. With QoS 2 this
would not hold, for a message counts from PUBREL on; so nothing is published with it.

What came back may come again, when the acknowledgement was lost with the connection. So it is
remembered for some seconds, and after a reconnect left out once more, if the broker marks it as a
duplicate and the fence is not back.
"""

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable

FENCE_EVERY = 20.0  # seconds between fences while anything is due
AGAIN_FOR = 10.0  # seconds after which the broker surely has an acknowledgement


class EchoFilter:
    """What one session published and has not got back.

    Parameters
    ----------
    known
        What `remember` was told last in an earlier process.
    remember
        Keeps on disk how many of a digest are due, and how many came back just now.
    """

    def __init__(
        self,
        known: Iterable[tuple[bytes, int, int]],
        remember: Callable[[bytes, int, int], None],
    ) -> None:
        self._remember = remember
        # One multiset for what was published before each fence on its way, one for what was after.
        self._due: deque[Counter[bytes]] = deque([Counter()])
        self._back: deque[Counter[bytes]] = deque([Counter(), Counter()])  # just now, and before
        self._repeats = Counter[bytes]()  # what came back on the last connection, and may again
        for name, n_due, n_back in known:
            self._due[0][name] = n_due
            self._back[0][name] = n_back
        self._fences: deque[bytes] = deque()
        self._n_fences = 0
        self._fenced_at = self._turned_at = 0.0

    def connect(self, *, resumed: bool) -> bool:
        """Begin a connection; return whether a fence is needed before anything is published."""
        due = sum(self._due, Counter[bytes]())
        back = sum(self._back, self._repeats)
        self._fences.clear()
        self._due = deque([due if resumed else Counter[bytes]()])
        self._repeats = back if resumed else Counter()
        self._back = deque([Counter(), Counter()])
        self._write(due + back)
        return bool(self._due[0] or self._repeats)

    def fence(self, life: int, now: float) -> bytes:
        """Return the payload of a fence to publish now."""
        self._n_fences += 1
        made = b"%d.%d" % (life, self._n_fences)
        self._fences.append(made)
        self._due.append(Counter())
        self._fenced_at = now
        return made

    def needs_fence(self, now: float) -> bool:
        """Return whether something may be due for long, and no fence is on its way."""
        if not self._due[0]:
            self._fenced_at = now
        return now - self._fenced_at > FENCE_EVERY and not self._fences

    def returned(self, payload: bytes) -> None:
        """Take note that a fence is back; one of an earlier connection says nothing."""
        if payload not in self._fences:
            return
        gone = self._repeats
        self._repeats = Counter()
        while self._fences.popleft() != payload:
            gone += self._due.popleft()
        self._write(gone + self._due.popleft())

    def published(self, topic: str, payload: bytes) -> None:
        """Expect a message back."""
        name = digest(topic, payload)
        self._due[-1][name] += 1
        self._write((name,))

    def is_echo(self, topic: str, payload: bytes, now: float, *, duplicate: bool) -> bool:
        """Return whether a message that arrived is one of ours."""
        name = digest(topic, payload)
        if duplicate and self._take(self._repeats, name):
            self._back[0][name] += 1
            return True
        if not any(self._take(due, name) for due in self._due):
            return False
        if now - self._turned_at > AGAIN_FOR:
            self._turned_at = now
            self._back.appendleft(Counter())
            self._write(self._back.pop())
        self._back[0][name] += 1
        self._write((name,))
        return True

    @property
    def n_due(self) -> int:
        """How many messages are due."""
        return sum(due.total() for due in self._due)

    @staticmethod
    def _take(where: Counter[bytes], name: bytes) -> bool:
        if where[name] > 1:
            where[name] -= 1
            return True
        return where.pop(name, 0) > 0

    def _write(self, names: Iterable[bytes]) -> None:
        for name in names:
            n_due = sum(due[name] for due in self._due)
            n_back = self._repeats[name] + sum(back[name] for back in self._back)
            self._remember(name, n_due, n_back)


def digest(topic: str, payload: bytes) -> bytes:
    """Return sixteen bytes that tell messages apart; flags may change on the way."""
    head = topic.encode()
    made = hashlib.blake2b(len(head).to_bytes(4, "big") + head, digest_size=16)
    made.update(payload)
    return made.digest()
