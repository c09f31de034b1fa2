"""The planner's process: the core, its links and files, and designs in a thread."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from meshwright.mesh.config import PLANNER_PLACE, MeshConfig, split_endpoint
from meshwright.mesh.config import STATE as PLACE
from meshwright.mesh.core.events import PLANNER, STATE, Design, Designed, Replan
from meshwright.mesh.core.planner import Planner
from meshwright.mesh.core.settings import PlannerSettings
from meshwright.mesh.design import design_topology
from meshwright.mesh.shell.links import Identity, Links, tls_contexts
from meshwright.mesh.shell.runner import Runner
from meshwright.mesh.storage.stores import Stores


class PlannerOptions(NamedTuple):
    """All that a planner is started with."""

    settings: PlannerSettings
    identity: Identity
    listen: tuple[str, int]
    brokers: tuple[tuple[str, str], ...]  # name and endpoint, in the order of their numbers
    method: str
    survive: int
    place: Path
    fsync: bool = False


def planner_options(config: MeshConfig) -> PlannerOptions:
    """Return what the planner of a mesh is started with."""
    most = 64 * 2**20  # no frame that an agent sends to the planner carries a message
    tls = tls_contexts("the planner", config.ca, config.cert, config.key)
    return PlannerOptions(
        PlannerSettings(config.mesh, config.routing),
        Identity(config.mesh, PLANNER, config.secret, most, *tls),
        split_endpoint(config.planner),
        tuple((member.name, member.endpoint) for member in config.brokers),
        config.method,
        config.survive,
        config.place / PLANNER_PLACE / PLACE,
    )


class PlannerRunner(Runner):
    """The planner on the running event loop."""

    def __init__(self, options: PlannerOptions) -> None:
        stores = Stores(options.place, (STATE,), fsync=options.fsync)
        super().__init__("planner", stores)
        self._options = options
        self._tasks: set[asyncio.Task[None]] = set()
        allowed = dict(enumerate(options.brokers))
        self.links = Links(options.identity, self.deliver, self.note, allowed)
        records = stores.recovered.records
        self.planner = Planner(options.settings, options.brokers, records)
        self.core = self.planner
        self.n_designs = 0

    def more_actions(self) -> Mapping[type, Callable[[Any], None]]:
        """Return the planner's own action."""
        return {Design: self._design}

    async def open(self) -> None:
        """Listen for agents."""
        await self.links.listen(*self._options.listen)
        self.start()

    def posts(self) -> Mapping[str, Callable[[], None]]:
        """Return what can be asked over HTTP: a new design."""
        return {"/replan": lambda: self.deliver(Replan())}

    async def close(self) -> None:
        """Stop; a design on its way is given up."""
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await super().close()

    def _design(self, action: Design) -> None:
        task = self._loop.create_task(self._carry_out(action))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, action: Design) -> None:
        own = self._options
        more = {"survive": own.survive} if own.survive else {}
        found = None
        try:
            planned = await asyncio.to_thread(
                design_topology, action, own.method, own.settings.routing, **more
            )
            if action.nodes[1:]:
                found = planned.topology
            if planned.n_left_out:
                n = planned.n_left_out
                self.note("meets_left_out", f"{n:,} ways in which filters cross need relays", n)
        except Exception as error:  # one client's filters must not stop the planner
            self.note("failed_designs", str(error))
        self.n_designs += 1
        self.deliver(Designed(action.token, found))
