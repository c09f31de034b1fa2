"""An agent's data session with its broker.

It takes what clients publish and others want, and publishes what clients here want. It outlives its
connection, so that the broker keeps messages while the agent is away. Retained messages are fetched
over a connection of their own: no-local does not cover them. What a broker cannot do
(`Capabilities`) is made up for here.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import mqtt5

from meshwright.errors import DeployError
from meshwright.mesh.adapters.adapter import ALL, Capabilities, Endpoint
from meshwright.mesh.adapters.echo import EchoFilter
from meshwright.mesh.adapters.fetching import Fetcher
from meshwright.mesh.adapters.messages import message_of
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
from meshwright.mesh.core.values import Message
from meshwright.mesh.shell.mqtt import FIRST_ID, Connection, connect
from meshwright.patterns.filters import PatternIndex

log = logging.getLogger(__name__)

FIRST_PAUSE, LAST_PAUSE = 0.1, 2.0  # seconds before connecting again, doubled each time
SESSION_SECONDS = 7 * 86_400  # that the broker keeps messages for an agent that is away
FAILURE = 128  # reason codes from here on
MOST_TOPICS = 100_000  # remembered: topics without end must not fill the memory
LAST_SUBSCRIPTION_ID = 268_435_455
SUBSCRIPTION, ECHO = "subscription", "echo"  # kinds of records
FENCE = "meshwright-fence/"  # begins topics that agents publish to themselves (`echo.py`)

Records = Sequence[tuple[tuple[Any, ...], tuple[Any, ...]]]


class DataSession:
    """The session over which messages go both ways.

    Parameters
    ----------
    deliver
        Takes the events of the core.
    note
        Counts and logs what went wrong.
    known
        The records (key, value) that `remember` was told, in this process or an earlier one.
    remember
        Keeps a record on disk; None: forget it.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        deliver: Callable[[Any], None],
        note: Callable[[str, str], None],
        known: Records,
        remember: Callable[[tuple[Any, ...], tuple[Any, ...] | None], None],
        can: Capabilities = ALL,
    ) -> None:
        self._endpoint, self._deliver, self._note = endpoint, deliver, note
        self._remember, self._can = remember, can
        # The identifier of the subscription to each filter; without MQTT 5 just its number.
        self._numbers = {key[1]: value[0] for key, value in known if key[0] == SUBSCRIPTION}
        self._last_number = max(self._numbers.values(), default=0)
        self._connection: Connection | None = None
        self._index = PatternIndex(self._numbers)
        self._first: dict[str, int] = {}  # topic -> the smallest identifier of its filters
        self._qos: dict[int, tuple[int, int]] = {}  # packet id and QoS of what is not accepted yet
        self._next_packet = self._life = time.time_ns() // 1000  # unlike any of an earlier process
        self._tokens: dict[int, int] = {}  # our packets -> tokens of the core
        self._grants: dict[int, tuple[tuple[str, ...], list[int]]] = {}  # requests on their way
        self._wishes: dict[int, int] = {}  # tokens of SetSubscriptions -> requests not answered
        self._leaving: set[str] = set()  # filters whose end is on its way
        self._renewed: set[str] = set()  # filters that this connection subscribed to
        self._tasks: set[asyncio.Task[None]] = set()
        self._fetching = asyncio.Lock()
        self._fetcher = Fetcher(endpoint.of("retained"))
        self._echoes: EchoFilter | None = None
        if not can.no_local:
            due = [(key[1], *value) for key, value in known if key[0] == ECHO]
            self._echoes = EchoFilter(due, self._remember_echo)
        # A client id may hold what the broker would change in a name.
        self._fence = FENCE + hashlib.sha256(endpoint.login.client_id.encode()).hexdigest()[:16]
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
            self._begin_echoes(resumed=resumed)
            self._deliver(BrokerUp(resumed))
            await self._lost
            await asyncio.sleep(pause)

    @property
    def n_filters(self) -> int:
        """Filters that it is subscribed to."""
        return len(self._numbers)

    async def close(self) -> None:
        """Disconnect; the broker keeps the session."""
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._fetcher.close()
        if self._connection is not None:
            self._connection.close()

    # Actions of the core

    def publish(self, action: Publish) -> None:
        """Publish a message; `Taken` follows."""
        connection = self._connection
        if connection is None or not self.is_up:
            return  # void: the core has heard or will hear that the broker is lost
        message, given = action.message, action.packet
        if not self._can.carries(message.topic):
            self._deliver(NotTaken(action.token, "the broker would change its name"))
            return
        qos = min(2 if given is not None else message.qos, self._can.qos)
        packet_id = 0
        if qos:
            found = given if given is not None else connection.take_id()
            if found is None:
                self._deliver(NotTaken(action.token, "all packet ids are in use"))
                return
            packet_id = found
            self._tokens[packet_id] = action.token
        self.n_out += 1
        if self._echoes is not None:
            if self._echoes.needs_fence(time.monotonic()):
                self._send_fence()
            if set(self._index.covering(message.topic)) - self._leaving:
                self._echoes.published(message.topic, message.payload)
        connection.send(message, qos, packet_id, duplicate=action.duplicate)
        if not qos:
            self._deliver(Taken(action.token))

    def release(self, action: Release) -> None:
        """Send PUBREL for a packet of the core's own; `Released` follows."""
        if self._connection is not None and self.is_up:
            self._connection.release(action.packet)

    def accept(self, action: Accept) -> None:
        """Acknowledge a packet of the broker."""
        found = self._qos.pop(action.packet, None)
        if found is not None and self._connection is not None:
            self._connection.acknowledge(*found)

    def set_subscriptions(self, action: SetSubscriptions) -> None:
        """Change what the session is subscribed to; `Subscribed` follows."""
        connection = self._connection
        if connection is None or not self.is_up:
            return
        n_requests = 0
        for name in action.added:
            if not self._can.carries(name):  # no name at this broker matches it
                continue
            number = self._numbers.get(name)
            if number is None:
                number = self._last_number = self._last_number % LAST_SUBSCRIPTION_ID + 1
                self._numbers[name] = number
                self._remember((SUBSCRIPTION, name), (number,))
                self._index.add(name)
            n_requests += 1
            self._renewed.add(name)
            packet_id = connection.subscribe([_data_filter(name)], number)
            self._grants[packet_id] = ((), [action.token])
        self._leaving -= set(action.added)
        removed = tuple(name for name in action.removed if name in self._numbers)
        if removed:
            n_requests += 1
            self._leaving |= set(removed)
            if self._can.protocol != "5" and (old := set(removed) - self._renewed):
                # RabbitMQ 3.10 ends only what was subscribed to on the same connection.
                connection.subscribe([_data_filter(name) for name in sorted(old)])
            self._renewed -= set(removed)
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
        qos, number = int(packet.qos), 0
        if qos and not self._can.same_packet_ids:
            self._next_packet = number = self._next_packet + 1
        elif qos:
            number = packet.packet_id
        if qos:
            self._qos[number] = (packet.packet_id, qos)
        if not self._is_first(packet) or self._is_own(packet):
            if qos:
                self.accept(Accept(number))
            return
        self.n_in += 1
        self._deliver(Published(message_of(packet), number, bool(packet.duplicate)))

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
            self._leaving.discard(name)
            if self._numbers.pop(name, None) is not None:
                self._remember((SUBSCRIPTION, name), None)
                self._index.discard(name)
        if removed:
            self._first.clear()
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
        self._renewed.clear()
        self._leaving.clear()
        self._note("broker_losses", f"the broker is lost: {reason}")
        self._deliver(BrokerLost())
        if not self._lost.done():
            self._lost.set_result(None)

    # Inside

    def _begin_echoes(self, *, resumed: bool) -> None:
        """Before anything is published: find out which of our messages still come back."""
        if self._echoes is None or self._connection is None:
            return
        self._connection.subscribe([_data_filter(self._fence)])
        if self._echoes.connect(resumed=resumed):
            self._send_fence()

    def _send_fence(self) -> None:
        if self._echoes is None or self._connection is None:
            return
        packet_id = self._connection.take_id()
        if packet_id is not None:
            fence = self._echoes.fence(self._life, time.monotonic())
            self._connection.send(Message(self._fence, fence), 1, packet_id)

    def _is_own(self, packet: Any) -> bool:
        """Return whether a packet is an echo, or a retained message that nobody asked for here."""
        if packet.retain and not self._can.retain_as_published:
            return True
        if self._echoes is None:
            return False
        if packet.topic.startswith(FENCE):
            if packet.topic == self._fence:
                self._echoes.returned(packet.payload)
            return True
        duplicate = bool(packet.duplicate)
        return self._echoes.is_echo(
            packet.topic, packet.payload, time.monotonic(), duplicate=duplicate
        )

    def _remember_echo(self, name: bytes, n_due: int, n_back: int) -> None:
        self._remember((ECHO, name), (n_due, n_back) if n_due or n_back else None)

    def _is_first(self, packet: Any) -> bool:
        """Return whether this is the copy to keep: the broker sends one for each matching filter.

        It is the one with the smallest subscription identifier.
        """
        ids = packet.subscription_ids
        if not ids:
            return True
        first = self._first.get(packet.topic)
        if first is None:
            found = self._index.covering(packet.topic)
            first = min((self._numbers[name] for name in found), default=0)
            if len(self._first) > MOST_TOPICS:
                self._first.clear()
            self._first[packet.topic] = first
        return first == 0 or min(ids) == first

    def _forget_session(self) -> None:
        """The broker begins a new session: nothing is subscribed to, identifiers start anew."""
        for name in self._numbers:
            self._remember((SUBSCRIPTION, name), None)
        self._numbers.clear()
        self._index = PatternIndex()
        self._first.clear()

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
                    found = await self._fetcher.fetch(action.filters)
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
