"""An agent's connections to its Mosquitto broker.

Three of them: the *data session* takes what clients publish and others want, and publishes what
clients here want; it outlives its connection, so that the broker keeps messages while the agent is
away. The *log connection* follows what clients subscribe to. Retained messages are fetched over a
connection of their own, each time one is asked for: no-local does not cover them.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import mqtt5

from meshwright.errors import DeployError
from meshwright.mesh.adapters.fetching import fetch
from meshwright.mesh.adapters.interests import AGENT
from meshwright.mesh.adapters.messages import message_of, packet_of
from meshwright.mesh.core.events import (
    Accept,
    BrokerLost,
    BrokerUp,
    Fetch,
    Fetched,
    NotTaken,
    Publish,
    Published,
    Release,
    Released,
    SetSubscriptions,
    Subscribed,
    Taken,
)
from meshwright.mesh.shell.mqtt import FIRST_ID, Connection, Login, connect
from meshwright.patterns.filters import PatternIndex

log = logging.getLogger(__name__)

FIRST_PAUSE, LAST_PAUSE = 0.1, 2.0  # seconds before connecting again, doubled each time
SESSION_SECONDS = 7 * 86_400  # that the broker keeps messages for an agent that is away
FAILURE = 128  # reason codes from here on
LAST_SUBSCRIPTION_ID = 268_435_455


class Endpoint(NamedTuple):
    """Where the broker is, and as whom the agent connects."""

    login: Login  # client id: that of the agent, without the connection's own ending
    max_message: int

    def of(self, connection: str, **options: Any) -> Login:
        """Return how one of the connections logs in."""
        client_id = f"{self.login.client_id}.{connection}"
        return self.login._replace(client_id=client_id, **options)


def client_id(mesh: str, directory: str) -> str:
    """Return the first part of the client ids of an agent."""
    return f"{AGENT}{mesh}.{directory}"


class DataSession:
    """The session over which messages go both ways.

    Parameters
    ----------
    deliver
        Takes the events of the core.
    note
        Counts and logs what went wrong.
    numbers
        The subscription identifier of each filter, as `remember` was told in an earlier process.
    remember
        Keeps the identifier of a filter; None: forget it.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        deliver: Callable[[Any], None],
        note: Callable[[str, str], None],
        numbers: dict[str, int],
        remember: Callable[[str, int | None], None],
    ) -> None:
        self._endpoint, self._deliver, self._note = endpoint, deliver, note
        self._numbers, self._remember = numbers, remember
        self._last_number = max(numbers.values(), default=0)
        self._connection: Connection | None = None
        self._index = PatternIndex(numbers)
        self._first: dict[str, int] = {}  # topic -> the smallest identifier of its filters
        self._qos: dict[int, int] = {}  # of the broker's packets that are not acknowledged yet
        self._tokens: dict[int, int] = {}  # our packets -> tokens of the core
        self._grants: dict[int, tuple[tuple[str, ...], list[int]]] = {}  # requests on their way
        self._wishes: dict[int, int] = {}  # tokens of SetSubscriptions -> requests not answered
        self._tasks: set[asyncio.Task[None]] = set()
        self._fetching = asyncio.Lock()
        self.is_up = False
        self.n_in = self.n_out = 0

    async def run(self) -> None:
        """Keep the session connected, for ever."""
        pause = FIRST_PAUSE
        while True:
            try:
                login = self._endpoint.of("data", clean=False, expiry=SESSION_SECONDS)
                self._connection, resumed = await connect(login, self)
            except DeployError as error:
                self._note("broker_refusals", str(error))
                pause = min(2 * pause, LAST_PAUSE)
                await asyncio.sleep(pause)
                continue
            pause = FIRST_PAUSE
            self._lost = asyncio.get_running_loop().create_future()
            if not resumed:
                self._forget_session()
            self.is_up = True
            self._deliver(BrokerUp(resumed))
            await self._lost
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Disconnect; the broker keeps the session."""
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self._connection is not None:
            self._connection.close()

    # Actions of the core

    def publish(self, action: Publish) -> None:
        """Publish a message; `Taken` follows."""
        connection = self._connection
        if connection is None or not self.is_up:
            return  # void: the core has heard or will hear that the broker is lost
        message, given = action.message, action.packet
        qos = 2 if given is not None else message.qos
        packet_id = 0
        if qos:
            found = given if given is not None else connection.take_id()
            if found is None:
                self._deliver(NotTaken(action.token, "all packet ids are in use"))
                return
            packet_id = found
            self._tokens[packet_id] = action.token
        self.n_out += 1
        connection.publish(packet_id, packet_of(message, qos, packet_id, action.duplicate))
        if not qos:
            self._deliver(Taken(action.token))

    def release(self, action: Release) -> None:
        """Send PUBREL for a packet of the core's own; `Released` follows."""
        if self._connection is not None and self.is_up:
            self._connection.release(action.packet)

    def accept(self, action: Accept) -> None:
        """Acknowledge a packet of the broker."""
        qos = self._qos.pop(action.packet, None)
        if qos is not None and self._connection is not None:
            self._connection.acknowledge(action.packet, qos)

    def set_subscriptions(self, action: SetSubscriptions) -> None:
        """Change what the session is subscribed to; `Subscribed` follows."""
        connection = self._connection
        if connection is None or not self.is_up:
            return
        n_requests = 0
        for name in action.added:
            number = self._numbers.get(name)
            if number is None:
                number = self._last_number = self._last_number % LAST_SUBSCRIPTION_ID + 1
                self._numbers[name] = number
                self._remember(name, number)
                self._index.add(name)
            n_requests += 1
            packet_id = connection.subscribe([_data_filter(name)], number)
            self._grants[packet_id] = ((), [action.token])
        removed = tuple(name for name in action.removed if name in self._numbers)
        if removed:
            n_requests += 1
            self._grants[connection.unsubscribe(removed)] = (removed, [action.token])
        self._first.clear()
        self._wishes[action.token] = n_requests
        self._answer(action.token, 0)

    def fetch(self, action: Fetch) -> None:
        """Fetch retained messages; `Fetched` follows."""
        self._start(self._fetch(action))

    # What the connection calls

    def broker_message(self, packet: Any) -> None:
        """Pass a message on, unless it is another copy of one."""
        packet_id = packet.packet_id or 0
        qos = int(packet.qos)
        if qos:
            self._qos[packet_id] = qos
        if not self._is_first(packet):
            if qos:
                self.accept(Accept(packet_id))
            return
        self.n_in += 1
        self._deliver(Published(message_of(packet), packet_id, bool(packet.duplicate)))

    def broker_unreadable(self, packet_id: int | None, qos: int) -> None:
        """Count a message that no rule of MQTT allows, and let the broker forget it."""
        self._note("unreadable_messages", "the broker sent a message that breaks MQTT's rules")
        if packet_id is not None and self._connection is not None:
            self._connection.acknowledge(packet_id, qos)

    def broker_release(self, packet_id: int) -> None:
        """Complete a message of QoS 2."""
        if self._connection is not None:
            self._connection.complete(packet_id)

    def broker_acknowledged(self, packet_id: int, reason: int) -> None:
        """Tell the core what became of a message."""
        token = self._tokens.pop(packet_id, None)
        if packet_id < FIRST_ID and reason < FAILURE:  # PUBCOMP of a packet of the core's
            self._deliver(Released(packet_id))
        elif token is not None and reason >= FAILURE:
            self._deliver(NotTaken(token, f"the broker refused it with reason {reason}"))
        elif token is not None:
            self._deliver(Taken(token))

    def broker_received(self, packet_id: int, reason: int) -> None:
        """Go on with a message of QoS 2."""
        if reason >= FAILURE:
            self.broker_acknowledged(packet_id, reason)
        elif packet_id < FIRST_ID:  # of the core's own: it says when to go on
            token = self._tokens.pop(packet_id, None)
            if token is not None:
                self._deliver(Taken(token))
        elif self._connection is not None:
            self._connection.release(packet_id)

    def broker_granted(self, packet_id: int, reasons: Sequence[int]) -> None:
        """Take note of a subscription, or of the end of some."""
        removed, tokens = self._grants.pop(packet_id, ((), []))
        for name in removed:
            if self._numbers.pop(name, None) is not None:
                self._remember(name, None)
        if removed:
            self._reindex()
        if any(reason >= FAILURE for reason in reasons):
            self._note("refused_subscriptions", f"the broker refused a filter: {list(reasons)}")
        for token in tokens:
            self._answer(token, 1)

    def broker_lost(self, reason: str) -> None:
        """Forget what belonged to the connection."""
        self.is_up = False
        self._connection = None
        for pending in (self._qos, self._tokens, self._grants, self._wishes):
            pending.clear()
        self._note("broker_losses", f"the broker is lost: {reason}")
        self._deliver(BrokerLost())
        if not self._lost.done():
            self._lost.set_result(None)

    # Inside

    def _is_first(self, packet: Any) -> bool:
        """Return whether this is the copy of the smallest identifier that matches."""
        ids = packet.subscription_ids
        if not ids:
            return True
        first = self._first.get(packet.topic)
        if first is None:
            found = self._index.covering(packet.topic)
            first = min((self._numbers[name] for name in found), default=0)
            if len(self._first) > 100_000:  # topics without end must not fill the memory
                self._first.clear()
            self._first[packet.topic] = first
        return first == 0 or min(ids) == first

    def _reindex(self) -> None:
        self._index = PatternIndex(self._numbers)
        self._first.clear()

    def _forget_session(self) -> None:
        """The broker begins a new session: nothing is subscribed to, identifiers start anew."""
        for name in self._numbers:
            self._remember(name, None)
        self._numbers.clear()
        self._reindex()

    def _answer(self, token: int, n_more: int) -> None:
        left = self._wishes.get(token, 0) - n_more
        if left <= 0:
            self._wishes.pop(token, None)
            self._deliver(Subscribed(token))
        else:
            self._wishes[token] = left

    async def _fetch(self, action: Fetch) -> None:
        """Fetch; as long as the broker is away, try again."""
        pause = FIRST_PAUSE
        async with self._fetching:
            while True:
                try:
                    found = await fetch(self._endpoint.of("retained"), action.filters)
                    break
                except DeployError as error:
                    self._note("fetch_failures", str(error))
                    pause = min(2 * pause, LAST_PAUSE)
                    await asyncio.sleep(pause)
        self._deliver(Fetched(action.token, found))

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _data_filter(name: str) -> Any:
    return mqtt5.TopicFilter(
        name,
        max_qos=mqtt5.QoS.EXACTLY_ONCE,
        no_local=True,
        retain_as_published=True,
        retain_handling=mqtt5.RetainHandling.SEND_NEVER,
    )
