"""The connection that follows what the clients of a Mosquitto broker subscribe to."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import mqtt5

from meshwright.errors import DeployError, InputError
from meshwright.mesh.adapters.adapter import Endpoint, Teller
from meshwright.mesh.adapters.fetching import CONNECTIONS, bridge_of, own_bridges
from meshwright.mesh.adapters.interests import SUBSCRIBED, TOPICS, Interests, without_time
from meshwright.mesh.adapters.session import FIRST_PAUSE, LAST_PAUSE
from meshwright.mesh.shell.mqtt import Connection, connect
from meshwright.workload.sessions import SessionState

log = logging.getLogger(__name__)

UPTIME, COUNT = "$SYS/broker/uptime", "$SYS/broker/subscriptions/count"
KEPT_SECONDS = 20  # that lines wait for an agent that is away: the broker gives them no more
PROOF_SECONDS = 5.0  # within which the broker must log our own subscription
SAME_START = 15.0  # seconds by which two readings of a broker's start may differ: 10 s pass
# between two of its figures, and the last one is retained
# The last four are Mosquitto's defaults: naming any destination or type switches them off.
LINES = """\
log_dest topic
log_type subscribe
log_type unsubscribe
log_type notice
log_dest stderr
log_type error
log_type warning
log_type information
"""


class LogConnection:
    """Tells the core what clients want.

    Parameters
    ----------
    known
        The state of clients and the time of the broker's start that `remember` was last told.
    remember
        Keeps the state of a client under its id; None: forget it.
    log_file
        The broker's own log, from which the first start learns what clients wanted before.
    """

    remedy = "add the lines of its mosquitto.conf and send it SIGHUP"

    def __init__(
        self,
        endpoint: Endpoint,
        deliver: Callable[[Any], None],
        note: Callable[[str, str], None],
        known: tuple[Iterable[SessionState], float | None],
        remember: Callable[[str, SessionState | float | None], None],
        log_file: Path | None = None,
    ) -> None:
        self._endpoint, self._note = endpoint, note
        self._remember = remember
        self.interests = Interests()
        states, self._started = known
        self.interests.restore(states)
        self._states = self.interests.states()
        if not self._states and log_file is not None:
            read_log_file(self.interests, log_file)
        self._teller = Teller(deliver)
        self._connection: Connection | None = None
        self._lost: asyncio.Future[None]
        self._update: asyncio.Handle | None = None
        self.has_lines = False  # the broker logs subscriptions
        self.n_subscriptions: int | None = None  # as the broker counts them
        self._gone_at: float | None = None

    async def check(self) -> None:
        """Refuse a broker with bridges of a static deployment."""
        found = await own_bridges(self._endpoint.of("retained"))
        if found:
            raise InputError(
                "the broker has bridges of a static deployment "
                f"({', '.join(found[:3])}{', ...' if found[3:] else ''}); with an agent beside "
                "them messages would arrive twice. Take them out (meshwright deploy merge "
                "--remove), restart the broker, then start this agent again."
            )

    async def run(self) -> None:
        """Keep the connection open, for ever."""
        pause = FIRST_PAUSE
        while True:
            try:
                login = self._endpoint.of("log", clean=False, expiry=KEPT_SECONDS)
                self._connection, resumed = await connect(login, self)
            except DeployError as error:
                log.debug("log connection: %s", error)
                pause = min(2 * pause, LAST_PAUSE)
                await asyncio.sleep(pause)
                continue
            pause = FIRST_PAUSE
            self._lost = asyncio.get_running_loop().create_future()
            if not resumed and self._gone_at is not None:
                self._missed_lines(time.monotonic() - self._gone_at)
            names = (*TOPICS[1:], UPTIME, COUNT, CONNECTIONS)
            self._connection.subscribe([_filter(SUBSCRIBED)])
            self._connection.subscribe([_filter(name) for name in names])
            proof = asyncio.get_running_loop().call_later(PROOF_SECONDS, self._check_lines)
            await self._lost
            proof.cancel()
            self._gone_at = time.monotonic()
            await asyncio.sleep(pause)

    def close(self) -> None:
        """Disconnect."""
        if self._connection is not None:
            self._connection.close()

    @property
    def is_following(self) -> bool:
        """Whether the broker publishes its log."""
        return self.has_lines

    def wanted(self) -> set[str]:
        """Return the filters that clients want."""
        return self.interests.wanted()

    def doubts(self) -> dict[str, int]:
        """Return why interests are kept that may be none, and how many."""
        return self.interests.doubts()

    # What the connection calls

    def broker_message(self, packet: Any) -> None:
        """Read a line of the log, or a figure of the broker."""
        text = packet.payload.decode(errors="replace")
        if packet.topic in TOPICS:
            if packet.topic == SUBSCRIBED and not self.has_lines:
                self.has_lines = True
                log.info("the broker at port %s publishes its log", self._endpoint.login.port)
            if self.interests.read(packet.topic, text):
                self._soon()
        elif packet.topic == COUNT and text.isdigit():
            self.n_subscriptions = int(text)
        elif packet.topic == UPTIME:
            self._read_uptime(text)
        elif (bridge := bridge_of(packet.topic)) and text == "1":
            self._note("static_bridges", f"the bridge {bridge} carries messages a second time")
        if int(packet.qos) and self._connection is not None:
            self._connection.acknowledge(packet.packet_id, int(packet.qos))

    def broker_unreadable(self, packet_id: int | None, qos: int) -> None:
        """Let the broker forget it."""
        if packet_id is not None and self._connection is not None:
            self._connection.acknowledge(packet_id, qos)

    def broker_release(self, packet_id: int) -> None:
        """Complete a message of QoS 2."""
        if self._connection is not None:
            self._connection.complete(packet_id)

    def broker_granted(self, _packet_id: int, reasons: Sequence[int]) -> None:
        """Tell the core what is known, from here on line by line."""
        if any(reason >= 128 for reason in reasons):
            self._note("refused_subscriptions", "the broker does not let the agent read its log")
        self._soon()

    def broker_acknowledged(self, packet_id: int, reason: int) -> None:
        """Not called: nothing is published here."""

    def broker_received(self, packet_id: int, reason: int) -> None:
        """Not called either."""

    def broker_lost(self, reason: str) -> None:
        """Connect again."""
        log.debug("log connection lost: %s", reason)
        self._connection = None
        if not self._lost.done():
            self._lost.set_result(None)

    # Inside

    def _soon(self) -> None:
        """Tell the core what changed, once for all lines that have arrived."""
        if self._update is None:
            self._update = asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._update = None
        states = self.interests.states()
        for client in states.keys() | self._states.keys():
            if states.get(client) != self._states.get(client):
                self._remember(client, states.get(client))
        self._states = states
        self._teller.tell(self.interests.wanted())

    def _read_uptime(self, text: str) -> None:
        """Notice that the broker was started again: its clean sessions are over."""
        seconds = text.partition(" ")[0]
        if not seconds.isdigit():
            return
        started = time.time() - int(seconds)
        if self._started is not None and started - self._started > SAME_START:
            self._restarted()
        elif self._started is not None:
            return
        self._started = started
        self._remember("", started)

    def _missed_lines(self, seconds: float) -> None:
        """Take note that the broker has not kept lines of the log for this connection."""
        if seconds < KEPT_SECONDS:  # it would have, if it had not been started again
            self._restarted()
        else:
            self._note("log_gaps", f"the broker's log was not read for {seconds:.0f} s")

    def _restarted(self) -> None:
        self._note("broker_restarts", "the broker was started again")
        self.interests.restarted()
        self._soon()

    def _check_lines(self) -> None:
        if not self.has_lines:
            self._note(
                "brokers_without_log",
                "the broker does not publish its subscriptions, so no message can be brought to "
                "it. Add the lines of the agent's mosquitto.conf to its own, and send it SIGHUP",
            )


def read_log_file(interests: Interests, path: Path) -> None:
    """Learn from a broker's log file what its clients want, if it is there."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                interests.log.read(without_time(line.rstrip("\n")))
    except OSError as error:
        log.warning("the broker's log '%s' cannot be read: %s", path, error.strerror)


def _filter(name: str) -> Any:
    return mqtt5.TopicFilter(name, max_qos=mqtt5.QoS.EXACTLY_ONCE)
