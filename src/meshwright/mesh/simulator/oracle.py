"""What clients must see, computed from what they did and when parts failed; nothing of the core.

For each message and each broker a delivery is required, allowed or forbidden. Required: the
broker's clients wanted the topic long enough before the message was published, and go on wanting
it. Forbidden: they did not want it at any time at which the message could have been routed. What
lies between is allowed once. "Long enough" is one second of calm: no part is down and none was
shortly before.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

from meshwright.mesh.simulator.clock import LARGEST_DELAY
from meshwright.patterns.filters import covers

FOREVER = 1e9
SECOND = 1.0  # a subscription works within a second (promise 5)
ON_THE_WAY = 0.5  # seconds on pipes between broker, agents and broker, for which nobody can count
# A message passes each agent at most once, and its broker's pipes and disks at both ends. Where
# the window is one message it stands in line behind those of a burst, each a round trip long.
ENDS = 4
IN_LINE = 20
RECOVERY = 4.0  # seconds after the end of a fault until the mesh is calm again


class Post(NamedTuple):
    """A message that a client published."""

    number: int
    time: float
    broker: int
    topic: str
    payload: bytes
    qos: int
    expiry: float | None = None  # seconds after which nobody may get it any more


class Interest(NamedTuple):
    """Clients of a broker wanted a filter from `since` until `until`."""

    broker: int
    pattern: str
    since: float
    until: float


class Fault(NamedTuple):
    """Something failed: an agent, a broker (kept, saved, wiped), the planner, a link."""

    kind: str
    node: int
    start: float
    end: float
    saved_at: float = 0.0


class Membership(NamedTuple):
    """A broker takes part from `since` until `until`; it was removed `at_once`, or in peace."""

    broker: int
    since: float
    until: float
    at_once: bool = False


class Seen(NamedTuple):
    """A message that arrived at a broker."""

    broker: int
    time: float
    payload: bytes
    topic: str


class History(NamedTuple):
    """What happened outside of the core."""

    posts: list[Post]
    interests: list[Interest]
    faults: list[Fault]
    seen: list[Seen]
    window: int  # messages that a crash may double at the broker of the agent that crashed
    exactly_once: bool
    memberships: tuple[Membership, ...] = ()  # of brokers that came or went
    n_dropped: int = 0  # messages that agents said they dropped, for each broker that lacks them
    crossed_slow: frozenset[bytes] = frozenset()  # payloads of messages on links that were slow


class Violation(NamedTuple):
    """A broken promise."""

    promise: int
    text: str


class Oracle:
    """Judges one history."""

    def __init__(self, history: History) -> None:
        self._history = history
        rough = sorted((fault.start, fault.end + RECOVERY) for fault in history.faults)
        self._disturbed = rough
        self._interests: dict[int, list[Interest]] = defaultdict(list)
        for interest in history.interests:
            self._interests[interest.broker].append(interest)

    def settled(self, time: float) -> float:
        """Return when a change made at a time is known everywhere: after a calm second."""
        moved = True
        while moved:
            moved = False
            for start, end in self._disturbed:
                if start < time + SECOND and end > time:
                    time, moved = end, True
        return time + SECOND

    def violations(self) -> list[Violation]:
        """Return the broken promises."""
        return [*self._counts(), *self._order(), *self._unwanted(), *self._late(), *self._slowed()]

    # --- how often ---

    def _counts(self) -> list[Violation]:
        found: list[Violation] = []
        lost: list[Violation] = []
        least: Counter[tuple[int, str, bytes]] = Counter()
        most: Counter[tuple[int, str, bytes]] = Counter()
        brokers = {interest.broker for interest in self._history.interests}
        brokers |= {seen.broker for seen in self._history.seen}
        for post in self._history.posts:
            for broker in brokers - {post.broker}:
                low, high = self._allowed(post, broker)
                key = (broker, post.topic, post.payload)
                least[key] += low
                most[key] += high
        got = Counter((seen.broker, seen.topic, seen.payload) for seen in self._history.seen)
        extra: Counter[int] = Counter()
        for key in sorted(least.keys() | got.keys()):
            broker, topic, payload = key
            what = f"{payload!r} on {topic!r} at broker {broker}"
            if got[key] < least[key]:
                lost.append(Violation(1, f"lost: {what}"))
            if most[key] == 0 and got[key]:
                found.append(Violation(1, f"not for it: {what}"))
            elif got[key] > most[key]:
                extra[broker] += got[key] - most[key]
                if extra[broker] > self._may_double(broker):
                    found.append(Violation(3, f"doubled: {what}"))
        return [*lost[self._history.n_dropped :], *found]  # what is dropped must be counted

    def _may_double(self, broker: int) -> int:
        kinds = ("saved", "wiped") if self._history.exactly_once else CRASHES
        faults = self._history.faults
        return self._history.window * sum(
            fault.node == broker and fault.kind in kinds for fault in faults
        )

    def _allowed(self, post: Post, broker: int) -> tuple[int, int]:
        """Return how often at least and at most a broker may get a message."""
        routed_by = self.settled(post.time)  # when its origin has surely routed it
        wanted = [
            (interest.since, interest.until)
            for interest in self._interests[broker]
            if covers(interest.pattern, post.topic)
        ]
        if not any(
            since <= routed_by and self.settled(until) >= post.time for since, until in wanted
        ):
            return 0, 0
        most = 1 + self._repeats(post)
        if post.qos == 0 or self._may_be_lost(post):
            return 0, most
        calm = self.settled(post.time) == post.time + SECOND
        if post.expiry is not None and not calm:
            return 0, most  # it may have expired before it could be delivered
        until_enough = post.time + SECOND if calm else FOREVER
        required = any(
            self.settled(since) <= post.time and until >= until_enough
            for since, until in joined(wanted)
        )
        return int(required), most

    def _may_be_lost(self, post: Post) -> bool:
        """Return whether its own broker may have lost a message, or had no agent's session."""
        for member in self._history.memberships:
            if member.broker == post.broker:
                reached = self.settled(post.time) if member.at_once else post.time
                if post.time <= self.settled(member.since) or reached >= member.until:
                    return True
        for fault in self._history.faults:
            if fault.node == post.broker and fault.kind in ("saved", "wiped"):
                if post.time <= fault.start <= self.settled(post.time):
                    return True
                if fault.start <= post.time <= self.settled(fault.end):
                    return True
        return False

    def _repeats(self, post: Post) -> int:
        """Return how often its own broker may have published a message anew: old saves do so."""
        return sum(
            fault.node == post.broker and fault.kind == "saved" and post.time <= fault.start
            for fault in self._history.faults
        )

    # --- order ---

    def _order(self) -> list[Violation]:
        found = []
        posts = {post.payload: post for post in self._history.posts if post.qos}
        unique = Counter(post.payload for post in self._history.posts)
        last: dict[tuple[int, int, str, int], Post] = {}
        once: set[tuple[int, bytes]] = set()
        for seen in sorted(self._history.seen, key=lambda seen: seen.time):
            post = posts.get(seen.payload)
            if post is None or unique[seen.payload] > 1 or (seen.broker, seen.payload) in once:
                continue
            once.add((seen.broker, seen.payload))
            key = (seen.broker, post.broker, post.topic, post.qos)
            before = last.get(key)
            if before is not None and before.number > post.number and not self._repeats(post):
                text = f"{post.payload!r} after {before.payload!r} at broker {seen.broker}"
                found.append(Violation(2, f"out of order: {text}"))
            last[key] = post
        return found

    # --- late ---

    def _late(self) -> list[Violation]:
        """Return the messages that arrived after their expiry; time on the way does not count."""
        found = []
        posts = {post.payload: post for post in self._history.posts}
        unique = Counter(post.payload for post in self._history.posts)
        for seen in self._history.seen:
            post = posts.get(seen.payload)
            if post is None or post.expiry is None or unique[seen.payload] > 1:
                continue
            if seen.time > post.time + post.expiry + ON_THE_WAY:
                text = f"{seen.payload!r} at broker {seen.broker}, {seen.time - post.time:.1f} s"
                found.append(Violation(4, f"late: {text} after it was published"))
        return found

    # --- slowed ---

    def _slowed(self) -> list[Violation]:
        """Return the messages that came slowly though nothing on their way was slow."""
        found = []
        posts = {post.payload: post for post in self._history.posts if post.qos}
        unique = Counter(post.payload for post in self._history.posts)
        brokers = {interest.broker for interest in self._history.interests}
        longest = LARGEST_DELAY * (len(brokers) + ENDS) * IN_LINE
        for seen in self._history.seen:
            post = posts.get(seen.payload)
            if post is None or unique[seen.payload] > 1 or seen.time <= post.time + longest:
                continue
            if not self._is_hindered(post, seen.broker):
                text = f"{seen.payload!r} at broker {seen.broker}, {seen.time - post.time:.2f} s"
                found.append(Violation(7, f"slowed: {text} after it was published"))
        return found

    def _is_hindered(self, post: Post, broker: int) -> bool:
        """Return whether something may have held a message up on its way to a broker."""
        if post.payload in self._history.crossed_slow:
            return True
        return any(
            fault.start <= post.time + SECOND and fault.end + RECOVERY >= post.time
            for fault in self._history.faults
            if fault.kind != "slow link"
            and (fault.kind != "slow broker" or fault.node in (post.broker, broker))
        )

    # --- unwanted ---

    def _unwanted(self) -> list[Violation]:
        found = []
        for seen in self._history.seen:
            if not any(
                covers(interest.pattern, seen.topic)
                and interest.since <= seen.time <= self.settled(interest.until)
                for interest in self._interests[seen.broker]
            ):
                text = f"{seen.payload!r} on {seen.topic!r} at broker {seen.broker}"
                found.append(Violation(8, f"unwanted: {text}"))
        return found


CRASHES = ("agent", "broker link", "kept", "saved", "wiped")


def joined(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the union of intervals that overlap.

    Examples
    --------
    >>> joined([(0, 2), (1, 3), (5, 6)])
    [(0, 3), (5, 6)]
    """
    found: list[tuple[float, float]] = []
    for since, until in sorted(intervals):
        if found and since <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until))
        else:
            found.append((since, until))
    return found
