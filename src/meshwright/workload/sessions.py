"""What a broker's clients want, followed through the lines of its log.

A subscription begins with its line and ends with the unsubscribe, with the connection of a clean
session, when the broker forgets the session, or when the client begins a new one. The log is a
hint: lines may be missing, and it does not tell how long sessions of MQTT 5 outlive their
connections. Where it leaves doubt the subscription is kept, and counted. Tried with 2.0.11.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from meshwright.model.client_ids import AGENT, TRIAL, is_bridge

# Why a subscription is left out
BRIDGE = "of bridges of a mesh"
OF_AGENT = "of agents of a mesh"
OF_TRIAL = "of `mesh verify`"
UNSUBSCRIBED = "unsubscribed"
ENDED = "ended with a clean session"
REPLACED = "of a session that a new one replaced"
EXPIRED = "of an expired session"
RESTARTED = "of clean sessions before the broker started again"
INSIDE = "of $SYS, which stays inside a broker"
# Why one is kept although its client is gone
EXPIRY_UNKNOWN = "MQTT 5 clients that left: the log does not tell when their sessions expire"
START_UNKNOWN = "clients that left: the log does not tell whether their sessions were clean"

_CONNECTED = re.compile(
    r"New client connected from \S+ as (.*) \(p([0-9]+), c([01]), k[0-9]+(?:, u'.*')?\)\.?"
)
_CONNACK = re.compile(r"Sending CONNACK to (.*) \(([0-9]+), ([0-9]+)\)")
_LEFT = re.compile(
    r"Client (.*) (?:disconnected(?:\.|,.*| due to .*| \(.*)"
    r"|closed its connection\.|has exceeded timeout, disconnecting\."
    r"|already connected, closing old connection\.)"
)
_BROKEN = re.compile(
    r"Socket error on client (.*), disconnecting\.|Bad socket read/write on client (.*): .*"
)
_EXPIRING = re.compile(r"Expiring (?:persistent )?client (.*) due to timeout\.?")
STARTING = re.compile(r"mosquitto version \S+ starting")
_ASKED = re.compile(r"Received (SUBSCRIBE|UNSUBSCRIBE) from (.*)")
_ANSWERED = re.compile(r"Sending (?:SUBACK|UNSUBACK) to .*")
_LISTED = re.compile(r"\t(.*) \(QoS [0-2]\)")
_WILL = re.compile(r"Will message specified ")
_QOS = re.compile(r" [012](?= )")  # the space after it may begin the next one
_SHARED = re.compile(r"\$share/[^/]*/")
# Other messages that could be mistaken for "client qos filter".
_MESSAGE = re.compile(
    r"\t|(?:Received|Sending|New|Client|No will|Opening|Config|Saving|Socket|Bridge|Denied|Will"
    r"|Connecting|mosquitto version|Outgoing|Loading|Log|Reloading|Expiring|Bad) |Warning|Error"
)
MQTT_5 = 5
MQTT_31 = 1  # has no "session present"


class Followed(NamedTuple):
    """The facts in the log of a broker."""

    wanted: list[tuple[str, str]]  # (client, filter as it was subscribed to)
    wills: list[str]  # topics of messages for when a client dies
    skipped: Counter[str]  # subscriptions by the reason why they are left out
    in_doubt: Counter[str]  # subscriptions that are kept, by what the log does not say


class SessionState(NamedTuple):
    """What is known of one client; as in `BrokerLog`."""

    client: str
    version: int | None
    clean: bool | None
    connected: bool
    filters: tuple[str, ...]  # those of $SYS included


@dataclass(slots=True)
class _Session:
    """What a client wants, and what is known about its session."""

    filters: dict[str, None] = field(default_factory=dict)
    inside: dict[str, None] = field(default_factory=dict)  # of $SYS: no interests
    version: int | None = None  # of the protocol; None if the client's connect line is missing
    clean: bool | None = None  # ends with its connection; None if unknown
    connected: bool = True

    def doubt(self) -> str | None:
        """Return what the log does not say about a client that has left."""
        if self.connected or self.clean is not None:
            return None
        return EXPIRY_UNKNOWN if self.version == MQTT_5 else START_UNKNOWN


def follow(
    lines: Iterable[tuple[float | None, str]],
    since: float | None = None,
    until: float | None = None,
) -> Followed:
    """Return what clients want after the last line, or at some time from `since` on.

    Lines are (seconds, text) without the time in front, in the order of the file. Those after
    `until` are not read. A line without a time has that of the line before.
    """
    log = BrokerLog()
    now = None
    for seconds, text in lines:
        now = seconds if seconds is not None else now
        if until is not None and now is not None and now > until:
            continue
        if since is not None and now is not None and now >= since:
            log.remember()
        log.read(text)
    if since is not None:
        log.remember()
    return log.result()


def readings_of(text: str) -> list[tuple[str, str]]:
    """Return all ways to read "client qos filter": ids and filters may hold spaces and digits.

    Examples
    --------
    >>> readings_of("sensor 0 2 a/b")
    [('sensor', '2 a/b'), ('sensor 0', 'a/b')]
    """
    return [(text[: cut.start()], text[cut.end() + 1 :]) for cut in _QOS.finditer(text)]


def topic_of(filter: str) -> str | None:
    """Return what a broker must get for a filter; None if it never leaves the broker.

    Examples
    --------
    >>> topic_of("$share/pool/jobs/#"), topic_of("$SYS/broker/uptime")
    ('jobs/#', None)
    """
    shared = _SHARED.match(filter)
    topic = filter[shared.end() :] if shared else filter
    return None if topic == "$SYS" or topic.startswith("$SYS/") else topic


class BrokerLog:
    """The sessions of a broker's clients while its log is read."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = {}
        self._ever: dict[tuple[str, str], None] | None = None  # wanted since the time asked for
        self._wills: dict[str, None] = {}
        self._skipped: Counter[str] = Counter()
        self._left_out: dict[tuple[str, str], str] = {}  # what no broker must get, with the reason
        self._asking: tuple[str, str] | None = None  # what a client asks for, and the client
        self._listed: list[str] = []  # filters of a request, not yet confirmed
        self._confirms = False  # whether the broker logs what it granted
        self._will_follows = False  # the topic of a will is on the next line

    def remember(self) -> None:
        """From now on a subscription stays, also when it ends."""
        if self._ever is None:
            self._ever = dict.fromkeys(self.pairs())

    def result(self) -> Followed:
        """Return what is wanted, without what is ours and what stays inside of the broker."""
        self._grant_listed()
        in_doubt = Counter[str]()
        for session in self._sessions.values() if self._ever is None else ():
            doubt = session.doubt()
            if doubt and session.filters:
                in_doubt[doubt] += len(session.filters)
        wanted = list(self.pairs() if self._ever is None else self._ever)
        skipped = self._skipped + Counter(self._left_out.values())
        # Agents must follow these clients like any other; who plans from the log must not.
        trials = sum(client.startswith(TRIAL) for client, _ in wanted)
        if trials:
            skipped[OF_TRIAL] += trials
            wanted = [pair for pair in wanted if not pair[0].startswith(TRIAL)]
        return Followed(wanted, list(self._wills), skipped, in_doubt)

    def read(self, text: str) -> None:
        """Read one line."""
        if self._asking is not None and self._read_request(*self._asking, text):
            return
        if self._will_follows and text.startswith("\t"):
            self._wills[text[1:]] = None
            self._will_follows = False
        elif match := _ASKED.fullmatch(text):
            self._grant_listed()
            self._asking = match[1], match[2]
        elif _WILL.match(text):
            self._will_follows = True
        elif match := _CONNECTED.fullmatch(text):
            self._connect(match[1], int(match[2]), clean=match[3] == "1")
        elif match := _CONNACK.fullmatch(text):
            session = self._sessions.get(match[1])
            knows = session is not None and session.version not in (None, MQTT_31)
            if knows and match[2] == match[3] == "0":
                self._end(match[1], REPLACED)
        elif match := _LEFT.fullmatch(text) or _BROKEN.fullmatch(text):
            self._leave(match[match.lastindex or 1])
        elif match := _EXPIRING.fullmatch(text):
            self._end(match[1], EXPIRED)
        elif STARTING.match(text):
            self.restart()
        else:
            self._read_pair(text)

    def _read_request(self, what: str, client: str, text: str) -> bool:
        """Read a line that belongs to a client's request; return whether it does."""
        if _ANSWERED.fullmatch(text):
            self._grant_listed()
            self._asking = None
            return True
        own = text.removeprefix(f"{client} ") if text.startswith(f"{client} ") else None
        if what == "UNSUBSCRIBE":
            name = text[1:] if text.startswith("\t") else own
            if name is not None:
                self.unsubscribe(client, name)
            return name is not None
        if own is not None and _QOS.match(f" {own}"):
            self._listed.clear()
            self._confirms = True
            self.subscribe(client, own[2:])
            return True
        if match := _LISTED.fullmatch(text):
            self._listed.append(match[1])
        return text.startswith("\t")

    def _read_pair(self, text: str) -> None:
        """Read "client qos filter" or "client filter", the lines of subscribe and unsubscribe."""
        readings = readings_of(text)
        known = [reading for reading in readings if reading[0] in self._sessions]
        if known or (readings and readings[0][0] and not _MESSAGE.match(text)):
            self.subscribe(*(known[-1] if known else readings[0]))
            return
        for client, name in _cuts(text):
            if client in self._sessions and name in self._sessions[client].filters:
                self.unsubscribe(client, name)
                return

    def _grant_listed(self) -> None:
        """Take what a client asked for as granted, where the broker does not log what it grants."""
        if self._asking is not None and not self._confirms:
            for name in self._listed:
                self.subscribe(self._asking[1], name)
        self._listed.clear()

    def subscribe(self, client: str, name: str) -> None:
        """A client wants a filter from here on; bridges, agents and $SYS are left out."""
        reason = _why_left_out(client, name)
        if reason is not None:
            self._left_out[client, name] = reason
            if reason == INSIDE:
                self._sessions.setdefault(client, _Session()).inside[name] = None
        elif name:
            self._sessions.setdefault(client, _Session()).filters[name] = None
            if self._ever is not None:
                self._ever[client, name] = None

    def unsubscribe(self, client: str, name: str) -> None:
        """A client no longer wants a filter."""
        session = self._sessions.get(client)
        if session is not None:
            session.inside.pop(name, None)
        if session is not None and name in session.filters:
            del session.filters[name]
            self._skip(UNSUBSCRIBED, 1)

    def _connect(self, client: str, version: int, *, clean: bool) -> None:
        if clean:
            self._end(client, REPLACED)
        session = self._sessions.setdefault(client, _Session())
        session.version, session.connected = version, True
        session.clean = clean if version != MQTT_5 else None

    def _leave(self, client: str) -> None:
        session = self._sessions.get(client)
        if session is not None:
            session.connected = False
            if session.clean:
                self._end(client, ENDED)

    def restart(self) -> None:
        """The broker starts again: no client is connected, and clean sessions are over."""
        self._asking = None
        for client, session in self._sessions.items():
            session.connected = False
            if session.clean:
                self._end(client, RESTARTED)

    def _end(self, client: str, reason: str) -> None:
        """Forget what a client wants."""
        session = self._sessions.get(client)
        if session is not None:
            self._skip(reason, len(session.filters))
            session.filters.clear()
            session.inside.clear()

    def _skip(self, reason: str, n: int) -> None:
        if self._ever is None:
            self._skipped[reason] += n

    def state(self) -> Iterator[SessionState]:
        """Yield what is known of each client, to `restore` it elsewhere."""
        for client, session in self._sessions.items():
            known = session.version, session.clean, session.connected
            yield SessionState(client, *known, (*session.filters, *session.inside))

    def restore(self, state: SessionState) -> None:
        """Begin with what was known of a client."""
        client, version, clean, connected, filters = state
        inside = dict.fromkeys(name for name in filters if topic_of(name) is None)
        wanted = dict.fromkeys(name for name in filters if name not in inside)
        self._sessions[client] = _Session(wanted, inside, version, clean, connected)

    def knows(self, client: str) -> bool:
        """Return whether a client has connected or subscribed."""
        return client in self._sessions

    def filters(self, client: str) -> list[str]:
        """Return what a client has subscribed to, filters of $SYS included."""
        session = self._sessions.get(client)
        return [*session.filters, *session.inside] if session else []

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield who wants what now."""
        for client, session in self._sessions.items():
            for name in session.filters:
                yield client, name


def _why_left_out(client: str, name: str) -> str | None:
    if is_bridge(client):
        return BRIDGE
    if client.startswith(AGENT):
        return OF_AGENT
    return INSIDE if topic_of(name) is None else None


def _cuts(text: str) -> Iterator[tuple[str, str]]:
    """Yield a text cut in two at each of its spaces."""
    for match in re.finditer(" ", text):
        yield text[: match.start()], text[match.end() :]
