"""One broker's agent: what it knows, and what it does when something happens. No I/O, no clock."""

from collections.abc import Iterable, Mapping
from typing import Any

from meshwright.mesh.core import events as ev
from meshwright.mesh.core.events import JOURNAL, MAILBOX, PLANNER, STATE, Action, Event
from meshwright.mesh.core.farewell import LEFT, Farewell
from meshwright.mesh.core.follower import Follower
from meshwright.mesh.core.frames import (
    Acks,
    Ask,
    Data,
    Frame,
    Hello,
    Log,
    NeedLog,
    Never,
    Refused,
    Wants,
)
from meshwright.mesh.core.intake import PACKET, Intake
from meshwright.mesh.core.origin import Origin
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.receipts import DELIVERED, FLOOR, Receipts
from meshwright.mesh.core.receiver import Receiver
from meshwright.mesh.core.relay import Relay
from meshwright.mesh.core.retained import Retained
from meshwright.mesh.core.routes import Routes
from meshwright.mesh.core.settings import AgentSettings
from meshwright.mesh.core.subscriptions import Subscriptions
from meshwright.mesh.core.traffic import TRAFFIC, Traffic
from meshwright.mesh.core.values import Left
from meshwright.patterns.filters import PatternIndex

Records = Mapping[str, Iterable[tuple[Any, Any]]]  # by store: (key, value), in order
LIFE, TERM, ENTRY = "life", "term", "entry"


class Agent:
    """The agent of one broker; `handle` is called with one event at a time."""

    def __init__(self, settings: AgentSettings, records: Records | None = None) -> None:
        """Recover from the records that the last life left on disk."""
        self.settings = settings
        self._records: Records = records or {}
        self.out = Outbox()
        self.follower = Follower(settings, self.out)
        self.log = self.follower.log
        self.routes = Routes(self.log)
        self.relay = Relay(settings.node, self.out, self.routes)
        receipts = Receipts(settings, self.out, self.relay)
        self.receiver = Receiver(settings, self.out, self.log, self.relay, receipts)
        self.origin = Origin(settings, self.out, self.log, self.routes, self.relay)
        self.subscriptions = Subscriptions(settings.node, self.out, self.log)
        self.retained = Retained(settings.node, self.out, self.log, self.origin.originate)
        self.origin.stamp_of = self.retained.stamp
        self.receiver.before_publish = self.retained.before_publish
        self.receiver.after_taken = self.retained.taken
        self.farewell = Farewell(settings.node, self.out, self.log)
        self.farewell.close = self._close
        self.farewell.term = lambda: self.follower.term
        self.farewell.is_empty = lambda: (
            not (self.origin.pending or self.origin.starting or self.receiver.held)
        )
        self.farewell.tidy = lambda: self.retained.clear_unwanted(PatternIndex())
        self.traffic = Traffic(settings.node, self.out, settings.count_for)
        self.incarnation = 0
        self._filters: set[str] | None = None  # what clients want; None: as the log says
        self._early: list[tuple[int, Data]] = []  # messages that came before their version
        self._is_closed = False  # whether this broker leaves, and what it had before is taken

    def handle(self, event: Event, now: float) -> list[Action]:
        """Return what to do about an event."""
        self.out.now = now
        match event:
            case ev.Received(peer, frame):
                self._receive(peer, frame)
            case ev.Published(message, packet, duplicate):
                if self._is_closed and not duplicate:
                    self._turn_away(packet)
                else:
                    self.origin.take(message, packet, duplicate=duplicate)
                    if not duplicate:
                        self.traffic.count(message)
            case ev.Stored(token) | ev.Taken(token) | ev.Subscribed(token):
                self.out.done(token)
            case ev.NotStored(token, reason) | ev.NotTaken(token, reason):
                self.out.done(token, reason)
            case ev.Tick():
                self._tick()
            case ev.Wanted(whole, added, removed):
                self._want(added, removed, whole=whole)
            case ev.LinkUp(peer):
                self._link_up(peer)
            case ev.LinkLost(peer):
                self._link_lost(peer)
            case ev.LinkFull(peer):
                self.out.full.add(peer)
            case ev.LinkFree(peer):
                self.out.full.discard(peer)
                self.origin.unblock()
            case ev.BrokerUp(resumed):
                self.origin.intake.connect(resumed=resumed)
                self.subscriptions.connect(resumed=resumed)
                self.retained.broker_up(self.receiver.wanted)
                self.receiver.broker_up()
                self.farewell.broker_up()
            case ev.BrokerLost():
                self.origin.intake.lose()
                self.origin.lose_packets()
                self.receiver.broker_lost()
                self.retained.broker_lost()
                self.farewell.broker_lost()
            case ev.Fetched(token, messages):
                self.retained.fetched(token, messages)
            case ev.Released(packet):
                self.receiver.packets.released(packet)
            case ev.Start(wall):
                self._start(wall)
        return self.out.take()

    # --- life ---

    def _start(self, wall: float) -> None:
        """Recover, and begin a new incarnation."""
        rows: dict[str, list[tuple[Any, Any]]] = {}
        for key, value in self._records.get(STATE, ()):
            rows.setdefault(key[0], []).append((key, value))
        self.incarnation = 1 + max((value[0] for _, value in rows.get(LIFE, ())), default=0)
        self.out.put(STATE, (LIFE,), (self.incarnation,))
        self.follower.recover(rows)
        receipts = self.receiver.receipts
        receipts.incarnation = self.incarnation
        receipts.recover(rows.get(FLOOR, ()), rows.get(DELIVERED, ()))
        offset = wall - self.out.now
        self.receiver.wall = self.origin.wall = offset
        self.receiver.recover(self._records.get(MAILBOX, ()))
        same = self.settings.same_packet_ids
        intake = Intake(self.out, rows.get(PACKET, ()), same_ids=same)
        self.origin.recover(self.incarnation, self._records.get(JOURNAL, ()), intake)
        self.retained.recover(rows)
        self._records = {}
        self.traffic.start()
        self._follow(changed=True)
        if rows.get(LEFT):
            self.farewell.end()

    def _tick(self) -> None:
        self.out.tick()
        if self.out.due("receipts"):
            self.receiver.receipts.tick()
        if self.out.due("origin"):
            self.origin.tick()
        if self.out.due("receiver"):
            self.receiver.tick()
        if self.out.due(PACKET):
            self.origin.intake.tick()
        if self.out.due("follower"):
            self.follower.tick()
        if self.out.due("farewell"):
            self.farewell.tick()
        if self.out.due(TRAFFIC):
            self.traffic.tick()

    # --- links ---

    def _link_up(self, peer: int) -> None:
        self.out.up.add(peer)
        self.out.full.discard(peer)
        self.follower.greet(peer, self.incarnation)
        if peer != PLANNER:
            self.origin.unblock()

    def _link_lost(self, peer: int) -> None:
        self.out.up.discard(peer)
        self.out.full.discard(peer)
        self.follower.lost(peer)

    def _receive(self, peer: int, frame: Frame) -> None:
        match frame:
            case Data():
                self._take(peer, frame)
            case Acks() | Refused() | Ask() | Never():
                self._answer(frame)
            case Hello():
                if self.follower.greeted(peer, frame) and peer == PLANNER:
                    self._report_wants()
            case Log(entries):
                before, newest = self.log.shape, self.log.newest
                if self.follower.extend(peer, entries):
                    self._follow(changed=self.log.shape is not before)
                    for entry in self.log.entries:
                        if entry.version > newest:
                            self.retained.follow(entry)
                            for change in entry.changes:
                                if isinstance(change, Left):
                                    self.receiver.give_up(change.node)
            case NeedLog(after):
                self.follower.serve(peer, after)
            case _:
                self.out.note("bad_frame", f"{type(frame).__name__} from {peer}")

    def _answer(self, frame: Acks | Refused | Ask | Never) -> None:
        if frame.to != self.settings.node:
            self.relay.answer(frame)
            return
        match frame:
            case Acks():
                self.origin.acknowledged(frame)
            case Refused():
                self.origin.refused(frame)
            case Ask():
                self.origin.asked(frame)
            case Never():
                self.receiver.never(frame)

    # --- messages ---

    def _take(self, peer: int, frame: Data) -> None:
        """Pass a message on along its route, and deliver it if it is for the own broker."""
        version, me = frame.version, self.settings.node
        if not self.log.knows(version):
            if version > self.log.newest and len(self._early) < self.settings.early:
                self._early.append((peer, frame))
                self.out.send(peer, NeedLog(self.log.newest))
            else:
                self.relay.refuse(frame, frame.targets, "stale")
            return
        route = self.routes.route(version, frame.id.origin, frame.message.topic)
        hop = route.hops[frame.hop] if 0 <= frame.hop < len(route.hops) else None
        if hop is None or hop.receiver != me or hop.sender != peer:
            self.out.note("bad_hop", f"{frame.message.topic!r} from {peer}")
            return
        self.relay.relay(frame, route)
        for_us = hop.low == me and me in route.wanted
        if for_us and (not frame.targets or me in frame.targets):
            self.receiver.accept(frame)
        elif me not in route.wanted:
            self.out.note("relayed", times=1)

    def _follow(self, *, changed: bool) -> None:
        """Do what new entries of the log ask for."""
        self.farewell.follow()
        is_member = self.settings.node in self.log.joined
        self.subscriptions.is_closed = self.farewell.is_leaving or not is_member
        self.subscriptions.follow()
        if self._filters is None:
            own = self.log.filters_of.get(self.settings.node, set())
            self.receiver.wanted = PatternIndex(own)
        if changed:
            self.follower.set_links()
            self.origin.reconsider()
        early, self._early = self._early, []
        for peer, frame in early:
            self._take(peer, frame)

    # --- leaving ---

    def _close(self) -> None:
        self._is_closed = True

    def _turn_away(self, packet: int) -> None:
        """Leave a message to the own broker alone."""
        self.out.note("not_taken", "a message that came after this broker left the mesh")
        if packet:
            self.out.actions.append(ev.Accept(packet))

    # --- interests ---

    def _want(self, added: Iterable[str], removed: Iterable[str], *, whole: bool) -> None:
        """Note what the own broker's clients want, and tell the planner."""
        known = self.log.filters_of.get(self.settings.node, set())
        before = self._filters if self._filters is not None else known
        now = set(added) if whole else (set(before) | set(added)) - set(removed)
        if now == self._filters:
            return
        self._filters = now
        self.receiver.wanted = PatternIndex(now)
        self.retained.clear_unwanted(self.receiver.wanted)
        more, fewer = tuple(sorted(now - before)), tuple(sorted(set(before) - now))
        self.out.to_planner(Wants(self.settings.node, False, more, fewer))

    def _report_wants(self) -> None:
        if self._filters is not None:
            wants = Wants(self.settings.node, True, tuple(sorted(self._filters)), ())
            self.out.to_planner(wants)
