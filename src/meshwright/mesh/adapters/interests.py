"""What the clients of a Mosquitto broker want, followed live through the lines of its log.

The broker publishes its log under $SYS; the topic of a line says whether it is a subscription, the
end of one, or a notice. The log is a hint: a line "client qos filter" can be read in several ways
when client ids hold spaces and digits, and it is cut at 999 bytes. Where there is doubt the
interest is kept, wider rather than narrower, and counted. Tried with 2.0.11.
"""

import re
from collections import Counter
from collections.abc import Iterable

from meshwright.model.client_ids import AGENT, is_bridge
from meshwright.patterns.filters import is_allowed, is_filter
from meshwright.workload.sessions import BrokerLog, SessionState, readings_of, topic_of

PREFIX = "$SYS/broker/log/"
SUBSCRIBED, UNSUBSCRIBED, NOTICE = (
    f"{PREFIX}{end}" for end in ("M/subscribe", "M/unsubscribe", "N")
)
TOPICS = (SUBSCRIBED, UNSUBSCRIBED, NOTICE)
CUT_AT = 999  # bytes of a line, its time included
# Why an interest is kept that may be none
AMBIGUOUS = "lines that can be read in several ways"
CUT = "filters that the log cut, and that were widened"

_OF_AGENTS = re.compile(
    rf"New connection from |(New client connected from \S+ as |Client ){re.escape(AGENT)}"
)
_TIME = re.compile(r"^[0-9][0-9TZ:./,+ -]*?: ")


class Interests:
    """The filters that clients of one broker want; agents and bridges do not count."""

    def __init__(self) -> None:
        self.log = BrokerLog()
        self.in_doubt = Counter[str]()
        self.bridges: set[str] = set()  # clients that are bridges of a static deployment

    def read(self, topic: str, line: str) -> bool:
        """Read one line of the log, as it was published under a topic of `TOPICS`.

        Return whether it is about anybody but an agent: agents are most of the log while clients
        come and go, and none of their lines changes what is wanted.
        """
        is_cut = len(line.encode()) >= CUT_AT
        text = without_time(line)
        if text.startswith(AGENT) or (topic == NOTICE and _OF_AGENTS.match(text)):
            return False
        if topic == SUBSCRIBED:
            self._subscribed(text, is_cut=is_cut)
        elif topic == UNSUBSCRIBED:
            self._unsubscribed(text, is_cut=is_cut)
        elif not is_cut:
            self.log.read(text)
        return True

    def restore(self, states: Iterable[SessionState]) -> None:
        """Begin with what was known of clients before."""
        for state in states:
            self.log.restore(state)

    def states(self) -> dict[str, SessionState]:
        """Return what is known of each client, agents left out."""
        states = self.log.state()
        return {state.client: state for state in states if not state.client.startswith(AGENT)}

    def restarted(self) -> None:
        """Forget clean sessions: the broker was started again."""
        self.log.restart()

    def doubts(self) -> dict[str, int]:
        """Return why interests are kept that may be none, and how many."""
        return dict(self.in_doubt + self.log.result().in_doubt)

    def pairs(self) -> set[tuple[str, str]]:
        """Return who wants what, agents left out."""
        return {(c, name) for c, name in self.log.pairs() if not c.startswith(AGENT)}

    def n_subscriptions(self) -> int:
        """Return how many subscriptions Mosquitto would count: shared ones it does not."""
        return sum(
            not name.startswith("$share/")
            for state in self.log.state()
            if not state.client.startswith(AGENT)
            for name in state.filters
        )

    def wanted(self) -> set[str]:
        """Return the filters that the broker must get from elsewhere."""
        found = (topic_of(name) for _, name in self.pairs())
        # Filters that begin with $ stay inside the broker, except the inner ones of $share.
        return {name for name in found if name and not name.startswith("$")}

    def _subscribed(self, text: str, *, is_cut: bool) -> None:
        readings = [reading for reading in readings_of(text) if reading[0]]
        if is_cut:
            readings = [(client, _widened(name)) for client, name in readings]
            if not readings:  # the cut took the filter: it may be any
                readings = [(text, "#")]
            self.in_doubt[CUT] += 1
        readings = [(client, name) for client, name in readings if _may_be_filter(name)]
        known = [reading for reading in readings if self.log.knows(reading[0])]
        chosen = known or readings
        if len(chosen) > 1:
            self.in_doubt[AMBIGUOUS] += 1
        for client, name in chosen:
            self.log.subscribe(client, name)
            if is_bridge(client):
                self.bridges.add(client)

    def _unsubscribed(self, text: str, *, is_cut: bool) -> None:
        readings = []
        for match in re.finditer(" ", text):
            client, name = text[: match.start()], text[match.end() :]
            if is_cut:
                name = _widened(name)
            if name in self.log.filters(client):
                readings.append((client, name))
        if len(readings) == 1 and not is_cut:
            self.log.unsubscribe(*readings[0])
        elif readings:  # several readings, or the widened filter stands for others too
            self.in_doubt[CUT if is_cut else AMBIGUOUS] += 1


def is_dated(line: str) -> bool:
    """Return whether a line of the log has its time in front."""
    return _TIME.match(line) is not None


def without_time(line: str) -> str:
    """Return a line of the log without the time in front."""
    return _TIME.sub("", line, count=1)


def _widened(name: str) -> str:
    """Return a filter that covers all that begin with this text."""
    parent, _, _ = name.rpartition("/")
    return f"{parent}/#" if parent else "#"


def _may_be_filter(name: str) -> bool:
    """Return whether Mosquitto would grant this filter."""
    if not name or not all(map(is_allowed, name)):
        return False
    if not is_filter(name):
        return True
    *above, last = name.split("/")
    whole = all(level == "+" or not is_filter(level) for level in above)
    return whole and "#" not in above and (last in ("+", "#") or not is_filter(last))
