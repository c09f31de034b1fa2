"""An agent: the core, its links, its files and its broker."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from meshwright.mesh.adapters.log_connection import LogConnection
from meshwright.mesh.adapters.mosquitto import DataSession, Endpoint
from meshwright.mesh.core.agent import Agent
from meshwright.mesh.core.events import (
    JOURNAL,
    MAILBOX,
    PLANNER,
    STATE,
    Accept,
    Drop,
    Fetch,
    Publish,
    Put,
    Release,
    SetSubscriptions,
)
from meshwright.mesh.core.settings import AgentSettings
from meshwright.mesh.shell.links import Identity, Links
from meshwright.mesh.shell.runner import OWN_TOKEN, Runner
from meshwright.mesh.storage.stores import Stores
from meshwright.workload.sessions import SessionState

ADAPTER = "adapter"  # the store of what the adapter has to remember
SESSION, SUBSCRIPTION, STARTED = "session", "subscription", "started"


class AgentOptions(NamedTuple):
    """All that one agent is started with."""

    name: str
    settings: AgentSettings
    identity: Identity
    listen: tuple[str, int]
    planner: str  # its endpoint
    broker: Endpoint
    place: Path  # of its files
    log_file: Path | None = None
    fsync: bool = False


class AgentRunner(Runner):
    """One agent on the running event loop."""

    def __init__(self, options: AgentOptions) -> None:
        names = (STATE, JOURNAL, MAILBOX, ADAPTER)
        stores = Stores(options.place, names, fsync=options.fsync)
        records, damaged = stores.recovered
        own = records.pop(ADAPTER)
        self._options = options
        numbers = {key[1]: value[0] for key, value in own if key[0] == SUBSCRIPTION}
        self.data = DataSession(
            options.broker, self.deliver, self.note, numbers, self._remember_subscription
        )
        sessions = [SessionState(key[1], *value) for key, value in own if key[0] == SESSION]
        started = next((value[0] for key, value in own if key[0] == STARTED), None)
        self.subscriptions = LogConnection(
            options.broker,
            self.deliver,
            self.note,
            (sessions, started),
            self._remember_session,
            options.log_file,
        )
        super().__init__(options.name, stores)
        self.links = Links(options.identity, self.deliver, self.note)
        self.core = Agent(options.settings, records)
        self._tasks: list[asyncio.Task[None]] = []
        if damaged:
            self.note("damaged_bytes", f"{damaged:,} bytes on disk hold no record", damaged)

    def more_actions(self) -> Mapping[type, Callable[[Any], None]]:
        """Return the actions at the broker."""
        return {
            Publish: self.data.publish,
            Release: self.data.release,
            Accept: self.data.accept,
            SetSubscriptions: self.data.set_subscriptions,
            Fetch: self.data.fetch,
        }

    def with_planner(self, peers: dict[int, str]) -> dict[int, str]:
        """Add the planner, to which every agent keeps a connection."""
        return {**peers, PLANNER: self._options.planner}

    async def open(self) -> None:
        """Listen for other agents, and connect to the planner and the broker."""
        await self.links.listen(*self._options.listen)
        self.links.keep(self.with_planner({}))
        self.start()
        for work in (self.data.run(), self.subscriptions.run()):
            self._tasks.append(self._loop.create_task(work))

    def status(self) -> dict[str, Any]:
        """Return what `mesh status` shows."""
        followed = self.subscriptions
        return {
            **super().status(),
            "kind": "agent",
            "node": self._options.settings.node,
            "broker_up": self.data.is_up,
            "log_lines": followed.has_lines,
            "wanted": len(followed.interests.wanted()),
            "in_doubt": dict(followed.interests.in_doubt),
            "taken": self.data.n_in,
            "delivered": self.data.n_out,
            "received": self.links.n_data,
        }

    async def close(self) -> None:
        """Disconnect from everybody."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self.subscriptions.close()
        await self.data.close()
        await super().close()

    def _remember_subscription(self, name: str, number: int | None) -> None:
        self._remember((SUBSCRIPTION, name), None if number is None else (number,))

    def _remember_session(self, client: str, state: SessionState | float | None) -> None:
        if isinstance(state, SessionState):
            self._remember((SESSION, client), tuple(state[1:]))
        elif state is None:
            self._remember((SESSION, client), None)
        else:
            self._remember((STARTED,), (state,))

    def _remember(self, key: tuple[str, ...], value: tuple[Any, ...] | None) -> None:
        if value is None:
            self.stores.drop(Drop(ADAPTER, (key,)))
        else:
            self.stores.put(Put(OWN_TOKEN, ADAPTER, key, value))
        self.write_soon()
