"""The connection that follows what the clients of a Mosquitto broker subscribe to."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mqtt5

from meshwright.errors import DeployError, InputError
from meshwright.mesh.adapters.adapter import Endpoint, Teller
from meshwright.mesh.adapters.counting import Comparison
from meshwright.mesh.adapters.fetching import CONNECTIONS, bridge_of, own_bridges
from meshwright.mesh.adapters.interests import SUBSCRIBED, TOPICS, Interests, without_time
from meshwright.mesh.adapters.log_file import catch_up, read_log_file
from meshwright.mesh.adapters.session import FIRST_PAUSE, LAST_PAUSE
from meshwright.mesh.shell.mqtt import Connection, connect
from meshwright.workload.sessions import SessionState

log = logging.getLogger(__name__)

UPTIME, COUNT = "$SYS/broker/uptime", "$SYS/broker/subscriptions/count"
BRIDGES = CONNECTIONS.partition("+")[0]
NAMES = (UPTIME, COUNT, *TOPICS, CONNECTIONS)
KEPT_SECONDS = 20  # that lines wait for an agent that is away: the broker gives them no more
PROOF_SECONDS = 5.0  # within which the broker must log our own subscription, made again after each
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


class Mark(NamedTuple):
    """How far the log was followed, in this process or an earlier one."""

    uptime: int | None = None  # the last that the broker told, in seconds
    is_settled: bool = True  # what was missed before is made up for, or was reported


class Known(NamedTuple):
    """What `remember` was told in an earlier process."""

    states: Sequence[SessionState] = ()
    mark: Mark | None = None  # None: the log was never followed


class LogConnection:
    """Tells the core what clients want.

    Parameters
    ----------
    known
        The states of clients and the mark that `remember` was last told.
    remember
        Keeps the state of a client under its id, the mark under ""; None: forget it.
    log_file
        The broker's own log: each process reads there what was missed before, and each gap.
    n_own
        Returns how many subscriptions the agent has at the broker over other connections.
    """

    remedy = "add the lines of its mosquitto.conf and send it SIGHUP"

    def __init__(
        self,
        endpoint: Endpoint,
        deliver: Callable[[Any], None],
        note: Callable[[str, str], None],
        known: Known,
        remember: Callable[[str, SessionState | Mark | None], None],
        log_file: Path | None = None,
        n_own: Callable[[], int] = lambda: 0,
    ) -> None:
        self._endpoint, self._note = endpoint, note
        self._remember = remember
        self.interests = Interests()
        self._mark = known.mark
        self.interests.restore(known.states)
        self._states = self.interests.states()
        if not self._states and log_file is not None:
            read_log_file(self.interests, log_file)
        self._teller = Teller(deliver)
        self._connection: Connection | None = None
        self._lost: asyncio.Future[None]
        self._update: asyncio.Handle | None = None
        self.has_lines = False  # the broker logs subscriptions
        self._is_proved = False  # it did since this connection was opened
        self.comparison = Comparison(
            lambda: self.interests.n_subscriptions() + len(NAMES) + n_own(), note
        )
        self._log_file = log_file
        self._reads_file = log_file is not None  # once in each process, beside gaps
        self._held: list[Any] | None = None  # what comes while the log file is read
        self._catching: asyncio.Task[None] | None = None

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
            self._begin(resumed=resumed)
            self._is_proved = False
            # The figures come before any line: a restart must not end what lines have told.
            for names in (NAMES[:2], NAMES[2:3], NAMES[3:]):
                self._connection.subscribe([_filter(name) for name in names])
            proving = asyncio.create_task(self._prove())
            try:
                await self._lost
            finally:
                proving.cancel()
            if self._catching is not None:
                await self._catching
            await asyncio.sleep(pause)

    def close(self) -> None:
        """Disconnect."""
        if self._catching is not None:
            self._catching.cancel()
        if self._connection is not None:
            self._connection.close()

    @property
    def is_following(self) -> bool:
        """Whether the broker publishes its log."""
        return self.has_lines

    def wanted(self) -> set[str]:
        """Return the filters that clients want."""
        return self.interests.wanted()

    @property
    def n_unknown(self) -> int:
        """Subscriptions that the broker has and that were missed, at least."""
        return self.comparison.n_unknown

    def doubts(self) -> dict[str, int]:
        """Return why interests are kept that may be none, and how many."""
        return self.interests.doubts()

    # What the connection calls

    def broker_message(self, packet: Any) -> None:
        """Read a line of the log, or a figure of the broker."""
        self._is_proved |= packet.topic == SUBSCRIBED
        if self._held is None:
            self._read(packet)
        else:
            self._held.append(packet)
        if int(packet.qos) and self._connection is not None:
            self._connection.acknowledge(packet.packet_id, int(packet.qos))

    def _read(self, packet: Any) -> None:
        text = packet.payload.decode(errors="replace")
        if packet.topic in TOPICS:
            if packet.topic == SUBSCRIBED and not self.has_lines:
                self.has_lines = True
                log.info("the broker at port %s publishes its log", self._endpoint.login.port)
            if self.interests.read(packet.topic, text):
                self._soon()
            elif packet.topic == SUBSCRIBED and self._is_ours(text):
                self._settle(text)
        elif packet.topic == COUNT and text.isdigit():
            self.comparison.count(int(text))
        elif packet.topic == UPTIME:
            self._read_uptime(text)
            if not packet.retain:  # a retained figure is older than what is known
                self.comparison.uptime()
        elif packet.topic.startswith(BRIDGES):
            self.comparison.has_bridges = True
        if (bridge := bridge_of(packet.topic)) and text == "1":
            self._note("static_bridges", f"the bridge {bridge} carries messages a second time")

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
        """Notice that the broker was started again: its clean sessions are over.

        Only an uptime that fell proves it. Figures come in order and rise while a broker runs; how
        much time passed between two of them proves nothing: clocks are set, hosts are suspended,
        and figures wait while this process is stopped. So a broker that was started again while
        the agent was away, and has run longer since than before, is not noticed. Clean sessions of
        its earlier life are kept then until their clients connect again; what was missed is
        reported as a gap.
        """
        seconds = text.partition(" ")[0]
        if not seconds.isdigit():
            return
        mark = self._mark or Mark()
        if mark.uptime is not None and int(seconds) < mark.uptime:
            self._restarted()
        if mark.uptime != int(seconds):
            self._keep(mark._replace(uptime=int(seconds)))

    def _keep(self, mark: Mark) -> None:
        self._mark = mark
        self._remember("", mark)

    def _begin(self, *, resumed: bool) -> None:
        """Take note whether the broker has kept what it logged since the last connection."""
        self.comparison.begin()
        if self._mark is None:
            self._keep(Mark())
        elif not resumed and self._mark.is_settled:
            self._keep(self._mark._replace(is_settled=False))

    def _is_ours(self, line: str) -> bool:
        return without_time(line).startswith(f"{self._endpoint.of('log').client_id} ")

    def _settle(self, line: str) -> None:
        """Make up for lines that are missing before this one, of our own subscription."""
        is_settled = self._mark is None or self._mark.is_settled
        if is_settled and not self._reads_file:
            return
        if self._log_file is None:
            self._report_gap("To learn of them from its log file, set log_file in agent.toml")
            return
        self._held = []
        work = self._catch_up(self._log_file, line)
        self._catching = asyncio.get_running_loop().create_task(work)

    async def _catch_up(self, path: Path, line: str) -> None:
        """Read the log file up to a line, then what has come since."""
        client_id = self._endpoint.of("log").client_id
        try:
            self.interests, why = await catch_up(self.interests, path, line, client_id)
        finally:
            held, self._held = self._held or (), None
        self._reads_file = False
        mark = self._mark or Mark()
        if not why:
            self._keep(mark._replace(is_settled=True))
            log.info("what clients wanted before was read from '%s'", path)
        elif not mark.is_settled:
            self._report_gap(why)
        else:
            log.info(why)
        for packet in held:
            self._read(packet)
        self._soon()

    def _report_gap(self, remedy: str) -> None:
        self._keep((self._mark or Mark())._replace(is_settled=True))
        self._note(
            "log_gaps",
            f"the broker kept no lines of its log while the agent was away (it does for "
            f"{KEPT_SECONDS} s, unless it is started again): clients that subscribed meanwhile get "
            f"nothing from other brokers until they subscribe again. {remedy}",
        )

    def _restarted(self) -> None:
        self._note("broker_restarts", "the broker was started again")
        self.interests.restarted()
        self._soon()

    async def _prove(self) -> None:
        """Subscribe until the broker logs it: its lines may come, by a SIGHUP, or have gone."""
        is_noted = False
        while True:
            await asyncio.sleep(PROOF_SECONDS)
            if self._is_proved or self._connection is None:
                return
            self.has_lines = False
            if self._mark is not None and not self._mark.is_settled:
                self._report_gap("It does not even log that the agent subscribed")
            if not is_noted:
                is_noted = True
                self._note(
                    "brokers_without_log",
                    "the broker does not publish its subscriptions, so no message can be brought "
                    "to it. Add the lines of the agent's mosquitto.conf to its own, and send it "
                    "SIGHUP",
                )
            self._connection.subscribe([_filter(SUBSCRIBED)])


def _filter(name: str) -> Any:
    # Then only figures from before the subscription say that they are retained.
    return mqtt5.TopicFilter(name, max_qos=mqtt5.QoS.EXACTLY_ONCE, retain_as_published=False)
