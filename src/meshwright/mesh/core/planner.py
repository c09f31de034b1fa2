"""The planner: gathers interests, appends to the log, and has the overlay designed.

It is not on the path of messages. Its log and term are on disk; a planner that starts takes the
next term, and for a moment listens for agents that hold a longer log than its own. One whose files
were lost does not begin anew where agents hold a log: an operator has to ask it to restore that.

What is urgent is patched at once: an agent that nobody reaches is marked away, a link that is down
is marked so, and agents that the rest of the overlay leaves apart get a link. The design that
follows puts the overlay in order.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from meshwright.mesh.core import events as ev
from meshwright.mesh.core.events import PLANNER, STATE, Action, Design, End, Event
from meshwright.mesh.core.frames import (
    Confirm,
    Drained,
    Frame,
    Hello,
    Log,
    NeedLog,
    Neighbours,
    Took,
    Wants,
)
from meshwright.mesh.core.log import KEPT_ENTRIES, NO_TOPOLOGY, MeshLog, is_snapshot
from meshwright.mesh.core.members import arrivals, conflicts, departures, removals
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.patch import connected, without_others
from meshwright.mesh.core.records import entry_from, entry_record
from meshwright.mesh.core.restoring import Restoring
from meshwright.mesh.core.settings import PlannerSettings
from meshwright.mesh.core.values import (
    Change,
    Entry,
    Health,
    Interests,
    Joined,
    Leaving,
    Left,
    Linked,
    Snapshot,
    Topology,
    Version,
)

ENTRY, TERM = "entry", "term"
DESIGNED_FOR = (Interests, Joined, Health, Leaving, Left, Snapshot)  # what calls for a design


class Planner:
    """The planner of one mesh; `handle` is called with one event at a time."""

    def __init__(
        self,
        settings: PlannerSettings,
        members: ev.Members,
        records: Mapping[str, Iterable[tuple[Any, Any]]] | None = None,
    ) -> None:
        """Recover from records; `members` says who takes part."""
        self._settings = settings
        self._members = members
        self._drained: set[int] = set()  # brokers that leave and whose agents have sent everything
        self._records = records or {}
        self.out = Outbox()
        self.log = MeshLog()
        self.term = 0
        self.is_retired = False  # a planner of a higher term is there
        self._stored: list[int] = []
        self._confirmed: set[int] = set()  # agents that are connected and obey us
        self._linked: dict[int, set[int]] = {}  # by agent: the links it says are up
        self._lost: dict[int, set[int]] = {}  # and those it says are not
        self._gone: dict[int, float] = {}  # agents that are not connected, and since when
        self._active = False
        self._restoring = Restoring(settings, self.out)
        self._changes: dict[int, tuple[set[str], set[str]]] = {}  # wished, not appended
        self._design_token = 0
        self._design_waits = False  # whether one is due that could not begin yet
        self._designed_at = -1e9
        self._fresh = False  # whether the next design is one from scratch

    def handle(self, event: Event, now: float) -> list[Action]:
        """Return what to do about an event."""
        self.out.now = now
        match event:
            case ev.Received(node, frame):
                self._receive(node, frame)
            case ev.LinkUp(node):
                self.out.up.add(node)
                newest = self.log.newest
                self.out.send(node, Hello(self._settings.mesh, PLANNER, 0, newest, self.term))
            case ev.LinkLost(node):
                self._leave(node)
            case ev.Stored(token):
                self.out.done(token)
            case ev.NotStored(token, reason):
                self.out.done(token, reason)
            case ev.Tick():
                self._tick()
            case ev.Designed(token, topology):
                self._take_design(token, topology)
            case ev.Members():
                self._members = event
                if self._active:
                    self._follow_members()
                    self._append_wishes()
            case ev.Replan():
                self._fresh = True
                self._want_design(now)
            case ev.Start():
                self._start()
        return self.out.take()

    # --- life ---

    @property
    def has_begun(self) -> bool:
        """Whether it appends to the log: it has heard the agents as far as it has to."""
        return self._active

    def _start(self) -> None:
        rows: dict[str, list[tuple[Any, Any]]] = {}
        for key, value in self._records.get(STATE, ()):
            rows.setdefault(key[0], []).append((key, value))
        self._records = {}
        for _, value in sorted(rows.get(ENTRY, ()), key=lambda row: row[0][1]):
            entry = entry_from(value)
            self._stored.append(entry.version.number)
            if self.log.follows(entry):
                self.log.apply(entry)
        self._restoring.began_empty = not self.log.entries
        last = max((value[0] for _, value in rows.get(TERM, ())), default=0)
        self._take_term(1 + max(last, self.log.newest.term))
        self.out.wake("listen", self.out.now + self._settings.listen_for)

    def _take_term(self, term: int) -> None:
        self.term = term
        self.out.put(STATE, (TERM,), (term,))

    def _activate(self) -> None:
        """Begin to append: nobody was heard with a longer log."""
        self._active = True
        if not self.log.entries:
            brokers = self._members.brokers
            self._append([Snapshot(brokers, NO_TOPOLOGY, Health((), ()), ())])
        if self._design_waits or self._is_undesigned():
            self._want_design(self.out.now + self._settings.design_after)
        self._follow_members()
        self._append_wishes()

    def _follow_members(self) -> None:
        """Append who came and who goes, as the operator's list says."""
        members, log = self._members, self.log
        for words in conflicts(members, log):
            self.out.note("members_in_conflict", words)
        for changes in (arrivals(members, log), departures(members, log)):
            if changes:
                self._append(changes)
        for node in log.joined:
            if node not in self._confirmed:
                self._gone.setdefault(node, self.out.now)
        self._look_after()
        self._remove({*members.removed, *(self._drained & log.leaving)})

    def _remove(self, nodes: Iterable[int]) -> None:
        changes = removals(nodes, self.log, self._settings.routing)
        if changes:
            self._append(changes)

    def _append(self, changes: list[Change]) -> None:
        """Append an entry; tell everybody when it is on disk."""
        version = Version(self.term, self.log.newest.number + 1)
        self._apply(Entry(version, tuple(changes)))
        if any(isinstance(change, DESIGNED_FOR) for change in changes):
            self._want_design(self.out.now + self._settings.design_after)

    def _apply(self, entry: Entry) -> None:
        self.log.apply(entry)
        stored, number, kept = self._stored, entry.version.number, entry
        if len(stored) > KEPT_ENTRIES and not is_snapshot(entry):
            kept = self.log.snapshot()
        frame = Log((entry,))
        gone = list(stored) if is_snapshot(kept) else []
        self.out.put(STATE, (ENTRY, number), entry_record(kept), lambda: self._tell(frame, gone))
        if is_snapshot(kept):
            stored.clear()
        stored.append(number)

    def _tell(self, frame: Log, gone: list[int]) -> None:
        """Tell everybody of an entry on disk; remove those that it has replaced there."""
        kept = set(self._stored)  # a later history may have given a number again
        self.out.drop(STATE, *((ENTRY, number) for number in gone if number not in kept))
        for node in sorted(self._confirmed):
            self.out.send(node, frame)

    # --- agents ---

    def _receive(self, node: int, frame: Frame) -> None:
        match frame:
            case Hello():
                self._greeted(node, frame)
            case Log(entries):
                for entry in entries:
                    if self.log.follows(entry):
                        self._apply(entry)
                if self.log.newest.term > self.term:
                    self._retire(self.log.newest.term)
            case NeedLog(after):
                self._serve(node, Version(*after))
            case Confirm(_, term):
                if term == self.term:
                    self._confirmed.add(node)
                    self._gone.pop(node, None)
                    self._look_after()
            case Wants(_, whole, added, removed):
                self._note_wants(node, set(added), set(removed), whole=whole)
            case Neighbours(_, up, lost):
                self._linked[node], self._lost[node] = set(up), set(lost)
                self._look_after()
            case Drained():
                self._drained.add(node)
                if self._active:
                    self._remove({node} & self.log.leaving)
            case Took():
                self.out.actions.append(ev.Record(frame._replace(node=node)))
            case _:
                self.out.note("bad_frame", f"{type(frame).__name__} from {node}")

    def _greeted(self, node: int, hello: Hello) -> None:
        if hello.mesh != self._settings.mesh:
            self.out.note("wrong_mesh", f"{hello.mesh!r} of node {node}")
            return
        why = self._restoring.lost_log(node, hello, self._members)
        if why is not None:
            self._active, self.is_retired = False, True
            self.out.actions.append(End(why, is_failure=True))
            return
        is_first = self._restoring.meets(node, hello)
        restores = self._settings.restores and not self._active and is_first
        if hello.term > self.term or (restores and hello.term == self.term):
            if self._active:
                self._retire(hello.term)
                return
            # Our files are older than the mesh: begin again above everybody.
            self._take_term(hello.term + 1)
            for peer in sorted(self.out.up):
                newest = self.log.newest
                self.out.send(peer, Hello(self._settings.mesh, PLANNER, 0, newest, self.term))
        if hello.version > self.log.newest:
            self.out.send(node, NeedLog(self.log.newest))
        else:
            self._serve(node, hello.version)

    def _retire(self, term: int) -> None:
        self._active = False
        self.is_retired = True
        self.out.note("retired", f"a planner of term {term} is there; this one has {self.term}")

    def _serve(self, node: int, after: Version) -> None:
        entries = self.log.after(after)
        if entries and entries[-1].version > after:
            self.out.send(node, Log(entries))

    def _leave(self, node: int) -> None:
        self.out.up.discard(node)
        self._confirmed.discard(node)
        self._linked.pop(node, None)
        self._lost.pop(node, None)
        self._gone[node] = self.out.now
        self.out.wake("health", self.out.now + self._settings.away_after)

    # --- interests ---

    def _note_wants(self, node: int, added: set[str], removed: set[str], *, whole: bool) -> None:
        known = self.log.filters_of.get(node, set())
        more, fewer = self._changes.get(node, (set(), set()))
        if whole:
            more, fewer = added - known, known - added
        else:
            more = (more - removed) | added
            fewer = (fewer - added) | removed
        self._changes[node] = (more, fewer)
        if self._active:
            self.out.wake("append", self.out.now + self._settings.gather_for)

    def _append_wishes(self) -> None:
        changes: list[Change] = []
        gone = {*self.log.leaving, *self._members.leaving, *self._members.removed}
        for node, (more, fewer) in sorted(self._changes.items()):
            if node in gone or node not in self.log.joined:
                continue
            known = self.log.filters_of.get(node, set())
            added, removed = more - known, fewer & known
            if added or removed:
                changes.append(Interests(node, tuple(sorted(added)), tuple(sorted(removed))))
        early = self._changes.keys() - self.log.joined.keys() - gone  # the list will name them
        self._changes = {node: self._changes[node] for node in early}
        if changes:
            self._append(changes)

    # --- health ---

    def _look_after(self) -> None:
        """Mark who is away and which links are down; link those who are left apart."""
        if not self._active:
            return
        now, log = self.out.now, self.log
        reached = {peer for peers in self._linked.values() for peer in peers} | self._confirmed
        patience = self._settings.away_after
        late = {node for node, since in self._gone.items() if since + patience > now}
        away = {node for node in log.joined if node not in reached and node not in late}
        down = set()
        for node, peers in self._lost.items():
            for peer in peers - away:
                if node not in self._linked.get(peer, ()) and node not in away:
                    down.add((min(node, peer), max(node, peer)))
        down &= set(log.shape.topology.edges)
        health = Health(tuple(sorted(away)), tuple(sorted(down)))
        changes: list[Change] = [health] if health != log.shape.health else []
        topology = connected(log.shape.topology, log.joined, health, self._settings.routing)
        if topology != log.shape.topology:
            changes.append(Linked(topology))
        if changes:
            self._append(changes)
        waiting = [since + patience for since in self._gone.values() if since + patience > now]
        self.out.wake("health", min(waiting, default=None))

    # --- designs ---

    def _want_design(self, at: float) -> None:
        self._design_waits = False
        self.out.wake("design", max(at, self._designed_at + self._settings.design_every))

    def _design(self) -> None:
        if self._design_token or not self._active:
            # A slow design was made for what was wanted when it began: the next one follows it.
            self._design_waits = True
            return
        self._design_token = self.out.token()
        self._designed_at = self.out.now
        self.out.actions.append(self.request(self._design_token, fresh=self._fresh))
        self._fresh = False

    def request(self, token: int, *, fresh: bool) -> Design:
        """Return what to design for: the agents that are there, and what their brokers want."""
        log, health = self.log, self.log.shape.health
        absent = {*health.away, *log.leaving}
        nodes = tuple(node for node in sorted(log.joined) if node not in absent)
        interests = tuple((node, tuple(sorted(log.filters_of.get(node, ())))) for node in nodes)
        return Design(token, nodes, interests, health.down, log.shape.topology, fresh)

    def _is_undesigned(self) -> bool:
        """Return whether an earlier life appended what it could not have designed for any more."""
        for entry in reversed(self.log.entries):
            if any(isinstance(change, DESIGNED_FOR) for change in entry.changes):
                return True
            if any(isinstance(change, Linked) for change in entry.changes):
                return False
        return False

    def _take_design(self, token: int, topology: Topology | None) -> None:
        if token != self._design_token:
            return
        self._design_token = 0
        if self._design_waits:
            self._want_design(self.out.now)
        log = self.log
        if topology is None or not self._active:
            return
        present = without_others(topology, log.joined)
        topology = connected(present, log.joined, log.shape.health, self._settings.routing)
        if topology != log.shape.topology:
            self._append([Linked(topology)])

    def _tick(self) -> None:
        self.out.tick()
        if self.out.due("listen") and not self.is_retired:
            if self._restoring.may_begin(self._members, self.log):
                self._activate()
            else:
                self.out.wake("listen", self.out.now + self._settings.listen_for)
        if self.out.due("append") and self._active:
            self._append_wishes()
        if self.out.due("health"):
            self._look_after()
        if self.out.due("design"):
            self._design()
