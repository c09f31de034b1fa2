"""The planner's process: the core, its links and files, and designs in a thread."""

import asyncio
import json
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from meshwright.errors import InputError
from meshwright.mesh.config import LOG_PLACE, PLANNER_PLACE, MeshConfig, read_mesh, split_endpoint
from meshwright.mesh.config import STATE as PLACE
from meshwright.mesh.core.events import (
    PLANNER,
    STATE,
    Design,
    Designed,
    Members,
    Put,
    Received,
    Record,
    Replan,
)
from meshwright.mesh.core.frames import Took
from meshwright.mesh.core.planner import ENTRY, Planner
from meshwright.mesh.core.settings import PlannerSettings
from meshwright.mesh.core.values import Entry, Joined, Topology
from meshwright.mesh.design import Planned, compile_designs, design_topology
from meshwright.mesh.shell.link import Identity
from meshwright.mesh.shell.links import Links
from meshwright.mesh.shell.runner import Runner
from meshwright.mesh.shell.summaries import KEPT_EVENTS, Sightings, Summary
from meshwright.mesh.shell.tls import tls_contexts
from meshwright.mesh.shell.wire import spoken_here
from meshwright.mesh.storage.mesh_log import FILE_SECONDS, MeshLogFiles
from meshwright.mesh.storage.stores import Stores

log = logging.getLogger(__name__)
T = TypeVar("T")
COMPILE_QUIETLY = 2.0  # seconds


class PlannerOptions(NamedTuple):
    """All that a planner is started with."""

    settings: PlannerSettings
    identity: Identity
    listen: tuple[str, int]
    members: Members
    method: str
    survive: int
    mesh_place: Path  # of mesh.toml
    place: Path  # of its own files
    log_place: Path | None = None  # of the log that other programs read; None: there is none
    fsync: bool = False


def members_of(config: MeshConfig) -> Members:
    """Return who takes part."""
    return Members(
        tuple(Joined(each.node, each.name, each.endpoint) for each in config.brokers),
        tuple(each.node for each in config.leaving),
        tuple(each.node for each in config.removed),
    )


def planner_options(config: MeshConfig, *, restores: bool = False) -> PlannerOptions:
    """Return what the planner of a mesh is started with."""
    most = 64 * 2**20  # no frame that an agent sends to the planner carries a message
    tls = tls_contexts("the planner", config.ca, config.cert, config.key)
    return PlannerOptions(
        PlannerSettings(config.mesh, config.routing, restores=restores),
        Identity(config.mesh, PLANNER, config.secret, most, *tls, spoken_here()),
        split_endpoint(config.planner),
        members_of(config),
        config.method,
        config.survive,
        config.place,
        config.place / PLANNER_PLACE / PLACE,
        config.place / PLANNER_PLACE / LOG_PLACE,
        fsync=config.fsync,
    )


class PlannerRunner(Runner):
    """The planner on the running event loop."""

    def __init__(self, options: PlannerOptions) -> None:
        stores = Stores(options.place, (STATE,), fsync=options.fsync)
        super().__init__("planner", stores)
        self._options = options
        self.mesh = options.settings.mesh
        self._tasks: set[asyncio.Task[None]] = set()
        self.sightings = Sightings()
        self.entries: deque[tuple[float, Entry]] = deque(maxlen=KEPT_EVENTS)  # when appended
        self._n_entries = 0  # the number of the last one
        self.links = Links(options.identity, self._hear, self.note)
        self._let_in(options.members)
        records = stores.recovered.records
        self.planner = Planner(options.settings, options.members, records)
        self.core = self.planner
        self.n_designs = 0
        self.design_seconds = 0.0  # that the last design took
        self._log_files = MeshLogFiles(options.log_place) if options.log_place else None
        self._completing: asyncio.TimerHandle | None = None
        self._tells_begin = options.settings.restores
        self._took: list[Took] = []  # to be written when this turn's records are on disk

    def more_actions(self) -> Mapping[type, Callable[[Any], None]]:
        """Return the planner's own actions."""
        return {
            Design: self._design,
            Put: self._put,
            Record: lambda action: self._took.append(action.took),
        }

    def _hear(self, event: Any) -> None:
        """Take an event of a link; summaries are not for the core."""
        frame: Any = event.frame if type(event) is Received else None
        if type(frame) is Summary:
            self.sightings.take(event.peer, frame, time.monotonic())
        else:
            self.deliver(event)

    def _put(self, action: Put) -> None:
        if action.key[0] == ENTRY and action.key[1] > self._n_entries:
            self._n_entries = action.key[1]  # it is put again where a disk refuses it
            log = self.planner.log
            if log.base <= self._n_entries:  # else it has waited for the disk for very long
                self.entries.append((time.time(), log.entries[self._n_entries - log.base]))
        self.stores.put(action)

    def status(self) -> dict[str, Any]:
        """Return what `mesh status` shows."""
        planner, shape = self.planner, self.planner.log.shape
        return {
            **super().status(),
            "kind": "planner",
            "planned_links": len(shape.topology.edges),
            "down_links": len(shape.health.down),
            "agents": len(planner.log.joined),
            "members": sorted(planner.log.joined),
            "leaving": sorted(planner.log.joined[node].name for node in planner.log.leaving),
            "away": [planner.log.joined[node].name for node in shape.health.away],
            "interests": sum(map(len, planner.log.filters_of.values())),
            "term": planner.term,
            "retired": planner.is_retired,
            "twins": self.links.twins,
            "designs": self.n_designs,
            "design_seconds": self.design_seconds,
        }

    async def open(self) -> None:
        """Listen for agents."""
        await self.links.listen(*self._options.listen)
        self.start()
        self._do(self._compile())

    async def _compile(self) -> None:
        """Compile the code of designs before subscriptions wait for it, and say so if it takes."""
        started, work = time.monotonic(), self._for_designs(compile_designs)
        compiling = self._loop.create_task(self.in_thread(work))
        if not (await asyncio.wait([compiling], timeout=COMPILE_QUIETLY))[0]:
            log.info("planner: compiling for designs, about a minute on a new installation")
            await asyncio.wait([compiling])
            log.info("planner: compiled for designs in %.0f s", time.monotonic() - started)
        if error := compiling.exception():  # the designs themselves will say what is wrong
            log.debug("planner: compiling for designs: %s", error)

    def posts(self) -> Mapping[str, Callable[[], Awaitable[dict[str, Any]]]]:
        """Return what can be asked over HTTP: a new design, what it would change, the members."""
        return {
            "/replan": self._replan,
            "/replan/dry-run": self._try_replan,
            "/members": self._read_members,
        }

    def gets(self) -> Mapping[str, Callable[[], dict[str, Any]]]:
        """Return what agents said of themselves, for who cannot ask them."""
        return {"/agents": self._agents}

    def _agents(self) -> dict[str, Any]:
        seen, now, up = self.sightings, time.monotonic(), set(self.links.up)
        return {
            str(node): json.loads(sighting.summary.status)
            for node, sighting in seen.last.items()
            if sighting.summary.status and node in up and seen.is_fresh(node, now)
        }

    async def _read_members(self) -> dict[str, Any]:
        """Read mesh.toml again: brokers may have been added or removed."""
        try:
            members = members_of(read_mesh(self._options.mesh_place))
        except InputError as error:
            return {"error": str(error)}
        self._let_in(members)
        self.deliver(members)
        return {"brokers": len(members.brokers)}

    def _let_in(self, members: Members) -> None:
        """Let agents dial: also those that were removed, so that they hear of it."""
        known = {joined.node: joined.name for joined in members.brokers}
        self.links.allowed = {**dict.fromkeys((*members.leaving, *members.removed), ""), **known}

    async def _replan(self) -> dict[str, Any]:
        self.deliver(Replan())
        return {}

    async def _try_replan(self) -> dict[str, Any]:
        """Design from scratch, and compare with the overlay that is there."""
        request = self.planner.request(0, fresh=True)
        if not request.nodes[1:]:
            return {"links": 0, "kept": 0, "added": 0, "removed": 0, "max_degree": 0}
        before = request.before or Topology("tree", ())
        found = (await self._plan(request)).topology
        old, new = set(before.edges), set(found.edges)
        degrees = Counter(node for edge in new for node in edge)
        return {
            "links": len(new),
            "kept": len(new & old),
            "added": len(new - old),
            "removed": len(old - new),
            "max_degree": max(degrees.values(), default=0),
        }

    def after_turn(self) -> None:
        """Write what is new in the log for other programs; complete its file after some time."""
        if self._tells_begin and self.planner.has_begun:
            self._tells_begin = False
            log.info(
                "planner: restored: the log of the agents was taken over, and new subscriptions "
                "work again; end this with Ctrl-C and start the planner without --restore"
            )
        took, self._took = self._took, []
        if self._log_files is None:
            return
        with self._noting():
            self._log_files.follow(self.planner.log)
            for each in took:
                self._log_files.took(self.planner.log, each)
        if self._log_files.is_open and self._completing is None:
            self._completing = self._loop.call_later(FILE_SECONDS, self._complete_log)

    def _complete_log(self) -> None:
        self._completing = None
        with self._noting():
            if self._log_files is not None:
                self._log_files.complete()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Go on without the log for other programs where it cannot be written."""
        try:
            yield
        except OSError as error:
            self.note("log_not_written", f"the log for `ingest`: {error.strerror}")

    async def close(self) -> None:
        """Stop; a design on its way is given up."""
        if self._completing is not None:
            self._completing.cancel()
        self._complete_log()
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await super().close()

    def _design(self, action: Design) -> None:
        self._do(self._carry_out(action))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a background task, which is cancelled when the planner stops."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, action: Design) -> None:
        found = None
        started = time.monotonic()
        try:
            if action.nodes[1:]:
                planned = await self._plan(action)
                found = planned.topology
                if n := planned.n_left_out:
                    self.note("meets_left_out", f"{n:,} ways in which filters cross need relays", n)
        except Exception as error:  # one client's filters must not stop the planner
            self.note("failed_designs", str(error))
        self.n_designs += 1
        self.design_seconds = time.monotonic() - started
        self.deliver(Designed(action.token, found))

    async def _plan(self, request: Design) -> Planned:
        return await self.in_thread(self._for_designs(design_topology, request))

    def _for_designs(self, function: Callable[..., T], *given: Any) -> Callable[[], T]:
        """Return a call of a function with the options of this mesh's designs."""
        own = self._options
        more = {"survive": own.survive} if own.survive else {}
        return partial(function, *given, own.method, own.settings.routing, **more)
