"""How an agent follows the log: from the planner, and from its neighbours."""

from typing import Any

from meshwright.mesh.core.events import PLANNER, STATE, SetLinks
from meshwright.mesh.core.frames import Confirm, Hello, Log, NeedLog, Neighbours
from meshwright.mesh.core.log import KEPT_ENTRIES, MeshLog, is_snapshot
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.records import entry_from, entry_record
from meshwright.mesh.core.settings import AgentSettings
from meshwright.mesh.core.values import Entry, Version

ENTRY, TERM = "entry", "term"
TELL_AFTER = 0.1  # seconds until neighbours hear of a new version, unless they have it
PATIENCE = 2.0  # seconds for a new link to come up, before it counts as lost


class Follower:
    """The log of one agent, and the links that it asks for."""

    def __init__(self, settings: AgentSettings, out: Outbox) -> None:
        self._settings = settings
        self._out = out
        self.log = MeshLog()
        self.term = 0  # the highest planner term that we know
        self._kept_term = 0  # the highest one on disk: it alone is confirmed
        self._planner_term: int | None = None  # of the planner on the other end
        self._incarnation = 0
        self._seen: dict[int, Version] = {}  # the version that a neighbour has
        self._obeys = False  # whether the planner on the other end has our term
        self._links: dict[int, str] = {}  # that should be up
        self._old: dict[int, float] = {}  # links of an older overlay, and until when
        self._since: dict[int, float] = {}  # when a link was asked for or lost
        self._reported: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self._tell = False
        self._stored: list[int] = []  # the numbers of the entries on disk

    # --- greetings ---

    def greet(self, peer: int, incarnation: int) -> None:
        """Say who we are and what we have."""
        self._incarnation = incarnation
        self._seen.pop(peer, None)
        self._out.send(peer, self._hello())
        if peer == PLANNER:
            self._obeys, self._planner_term = False, None
        else:
            self._since.pop(peer, None)
            self.report()

    def _hello(self) -> Hello:
        settings = self._settings
        return Hello(settings.mesh, settings.node, self._incarnation, self.log.newest, self.term)

    def greeted(self, peer: int, hello: Hello) -> bool:
        """Compare logs with a peer; return whether it is a planner that we obey."""
        if hello.mesh != self._settings.mesh or hello.node != peer:
            self._out.note("wrong_mesh", f"{hello.mesh!r}, node {hello.node}, on link {peer}")
            return False
        if peer == PLANNER:
            if hello.term < self.term:
                self._out.note("old_planner", f"term {hello.term} after {self.term}")
                return False
            self._planner_term = hello.term
            if hello.term > self.term:
                self.term = hello.term
                self._out.put(STATE, (TERM,), (hello.term,), lambda: self._keep(hello.term))
            else:
                self._confirm()
        self._seen[peer] = max(hello.version, self._seen.get(peer, hello.version))
        if hello.version > self.log.newest:
            self._out.send(peer, NeedLog(self.log.newest))
        elif hello.version < self.log.newest:
            self.serve(peer, hello.version)
        return peer == PLANNER

    def _keep(self, term: int) -> None:
        self._kept_term = term
        if self._planner_term == term:
            self._confirm()
            self._out.to_planner(NeedLog(self.log.newest))  # what it sent before was not taken

    def _confirm(self) -> None:
        """Obey the planner on the other end, if its term is on disk."""
        if not self._planner_term == self.term == self._kept_term:
            return
        self._obeys = True
        self._out.to_planner(Confirm(self._settings.node, self.term))
        self._reported = None
        self.report()

    def lost(self, peer: int) -> None:
        """Note that a link is gone."""
        self._seen.pop(peer, None)
        if peer != PLANNER:
            self._since[peer] = self._out.now - PATIENCE
            self.report()

    # --- entries ---

    def extend(self, peer: int, entries: tuple[Entry, ...]) -> bool:
        """Append entries; return whether anything is new."""
        if peer == PLANNER and not self._obeys:
            return False
        before = self.log.newest
        for entry in entries:
            if self.log.follows(entry):
                self._append(entry)
        if entries:
            last = entries[-1].version
            self._seen[peer] = max(last, self._seen.get(peer, last))
            if last > self.log.newest:  # there is a gap, or another history
                same = last.term == self.log.newest.term
                after = self.log.newest if same else Version(0, 0)
                self._out.send(peer, NeedLog(after))
        if self.log.newest == before:
            return False
        self._tell = True
        self._out.wake("follower", self._out.now + TELL_AFTER)
        return True

    def _append(self, entry: Entry) -> None:
        self.log.apply(entry)
        stored, number = self._stored, entry.version.number
        if len(stored) > KEPT_ENTRIES and not is_snapshot(entry):
            entry = self.log.snapshot()  # instead of many old entries
        gone = list(stored) if is_snapshot(entry) else []
        self._out.put(STATE, (ENTRY, number), entry_record(entry), lambda: self._forget(gone))
        if is_snapshot(entry):
            stored.clear()
        stored.append(number)

    def _forget(self, numbers: list[int]) -> None:
        """Remove entries that a snapshot on disk has replaced."""
        kept = set(self._stored)  # a later history may have given a number again
        self._out.drop(STATE, *((ENTRY, number) for number in numbers if number not in kept))

    def serve(self, peer: int, after: Version) -> None:
        """Send a peer the entries that it lacks."""
        entries = self.log.after(Version(*after))
        if entries and entries[-1].version > after:
            self._out.send(peer, Log(entries))
            self._seen[peer] = self.log.newest

    # --- links ---

    def set_links(self) -> None:
        """Ask for the links of the newest overlay; keep those of older ones for a while."""
        me, log = self._settings.node, self.log
        wanted = {}
        for u, v in log.shape.topology.edges:
            if me in (u, v):
                peer = v if u == me else u
                if peer in log.joined:
                    wanted[peer] = log.joined[peer].endpoint
        now = self._out.now
        for peer in self._links.keys() - wanted.keys() - self._old.keys():
            self._old[peer] = now + self._settings.links_for
        for peer in wanted:
            self._old.pop(peer, None)
        kept = {peer: self._links[peer] for peer in self._old if peer in self._links}
        links = {**kept, **wanted}
        if links != self._links:
            for peer in links.keys() - self._links.keys():
                self._since.setdefault(peer, now)
            self._links = links
            self._out.actions.append(SetLinks(tuple(sorted(links.items()))))
            self._out.wake("follower", now + TELL_AFTER)

    def report(self) -> None:
        """Tell the planner which links are up and which are not."""
        now = self._out.now
        up = tuple(sorted(peer for peer in self._links if peer in self._out.up))
        lost = tuple(
            sorted(
                peer
                for peer in self._links.keys() - self._old.keys()
                if peer not in self._out.up and self._since.get(peer, now) + PATIENCE <= now
            )
        )
        if self._obeys and (up, lost) != self._reported:
            self._reported = (up, lost)
            self._out.to_planner(Neighbours(self._settings.node, up, lost))

    def tick(self) -> None:
        """Tell neighbours of a new version, close old links, report."""
        now = self._out.now
        if self._tell:
            self._tell = False
            for peer in sorted(self._out.up):
                if peer != PLANNER and self._seen.get(peer, Version(0, 0)) < self.log.newest:
                    self._out.send(peer, self._hello())
        if any(until <= now for until in self._old.values()):
            for peer in [peer for peer, until in self._old.items() if until <= now]:
                del self._old[peer]
                self._links.pop(peer, None)
                self._since.pop(peer, None)
            self._out.actions.append(SetLinks(tuple(sorted(self._links.items()))))
        self.report()
        times = list(self._old.values())
        times += [since + PATIENCE for since in self._since.values() if since + PATIENCE > now]
        self._out.wake("follower", min(times, default=None))

    def recover(self, rows: dict[str, list[tuple[Any, Any]]]) -> None:
        """Take over the log and the term of the last life."""
        self.term = self._kept_term = max((value[0] for _, value in rows.get(TERM, ())), default=0)
        for _, value in sorted(rows.get(ENTRY, ()), key=lambda row: row[0][1]):
            entry = entry_from(value)
            self._stored.append(entry.version.number)
            if self.log.follows(entry):
                self.log.apply(entry)
