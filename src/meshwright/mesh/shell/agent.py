"""An agent: the core, its links, its files and its broker."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from meshwright import __version__
from meshwright.errors import DeployError, InputError
from meshwright.mesh.adapters.adapter import Adapter, Capabilities, Endpoint, Surroundings
from meshwright.mesh.adapters.fetching import end_session
from meshwright.mesh.adapters.session import DataSession
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
from meshwright.mesh.shell.link import Identity
from meshwright.mesh.shell.links import Links
from meshwright.mesh.shell.runner import Runner
from meshwright.mesh.shell.summaries import EVERY, MOST_EVENTS, Stored, Summary, clipped
from meshwright.mesh.storage.stores import OWN_TOKEN, Stores

log = logging.getLogger(__name__)

PLANNER_SECONDS = 5.0  # to find the planner, before it is said that it was not found
ADAPTER = "adapter"  # the store of what the adapter has to remember


class AgentOptions(NamedTuple):
    """All that one agent is started with."""

    name: str
    settings: AgentSettings
    identity: Identity
    listen: tuple[str, int]
    planner: str  # its endpoint
    broker: Endpoint
    place: Path  # of its settings
    state: Path  # of its files
    adapter: Adapter
    can: Capabilities
    own: Mapping[str, Any]  # of agent.toml, for the adapter
    fsync: bool = False


class AgentRunner(Runner):
    """One agent on the running event loop."""

    def __init__(self, options: AgentOptions) -> None:
        names = (STATE, JOURNAL, MAILBOX, ADAPTER)
        stores = Stores(options.state, names, fsync=options.fsync)
        records, damaged = stores.recovered
        own = records.pop(ADAPTER)
        self._options = options
        self.data = DataSession(
            options.broker, self.deliver, self.note, own, self._remember, options.can
        )
        around = Surroundings(
            options.broker,
            self.deliver,
            self.note,
            own,
            self._remember,
            options.place,
            options.own,
            lambda: self.data.n_filters,
        )
        self.follower = options.adapter.follow(around)
        super().__init__(options.name, stores)
        self.links = Links(options.identity, self.deliver, self.note)
        self.agent = Agent(options.settings, records)
        self.core = self.agent
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
        """Listen for other agents, and connect to the planner and the broker.

        Raises
        ------
        InputError
            If the broker cannot have an agent as it is.
        """
        try:
            await self.follower.check()
        except DeployError:
            pass  # the broker is away; what is wrong will be counted when it is back
        except InputError as error:
            raise InputError(f"{self.name!r}: {error}") from error
        await self.links.listen(*self._options.listen)
        self.links.keep(self.with_planner({}))
        self.start()
        works = (self.data.run(), self.follower.run(), self._summarize(), self._miss_planner())
        self._tasks += map(self._loop.create_task, works)

    async def _miss_planner(self) -> None:
        """Say that the planner was not found; that it was lost later is said anyway."""
        await asyncio.sleep(PLANNER_SECONDS)
        if PLANNER not in self.links.up:
            log.warning(
                "%s: no connection to the planner at %s yet; it is tried for ever. Until then what "
                "its clients begin to want is not known elsewhere",
                self.name,
                self._options.planner,
            )

    def status(self) -> dict[str, Any]:
        """Return what `mesh status` shows."""
        options, wanted, links = self._options, self.follower.wanted(), self.links
        me, log = options.settings.node, self.core.log
        planned = {v if u == me else u for u, v in log.shape.topology.edges if me in (u, v)}
        names = {peer: joined.name for peer, joined in log.joined.items()}
        return {
            **super().status(),
            "kind": "agent",
            "node": me,
            "planned_links": len(planned),
            "missing_links": sorted(
                names.get(peer, str(peer)) for peer in planned.difference(links.up)
            ),
            "received_from": {
                names.get(peer, str(peer)): n for peer, n in links.data_from.items() if peer >= 0
            },
            "waiting": self._waiting(),
            "broker_up": self.data.is_up,
            "follows": self.follower.is_following,
            "remedy": self.follower.remedy,
            "capabilities": options.can._asdict(),
            "declared": None if options.can.live else sorted(wanted),
            "wanted": len(wanted),
            "in_doubt": dict(self.follower.doubts()),
            "unknown": getattr(self.follower, "n_unknown", 0),
            "taken": self.data.n_in,
            "delivered": self.data.n_out,
            "received": links.data_from.total(),
        }

    async def _summarize(self) -> None:
        """Tell the planner every few seconds what was counted, for those who watch."""
        while True:
            await asyncio.sleep(EVERY)
            if PLANNER in self.links.up:
                self.links.send(PLANNER, self._summary())

    def _summary(self) -> Summary:
        journal, mailbox = (Stored(*facts.values()) for facts in self._waiting().values())
        events = tuple(clipped(list(self.events)[-MOST_EVENTS:]))
        self.events.clear()
        return Summary(
            __version__,
            self.started,
            tuple(self.core.log.newest),
            self.data.is_up,
            self.follower.is_following,
            self.data.n_in,
            self.data.n_out,
            self.counters["relayed"],
            tuple((peer, n) for peer, n in self.links.data_from.items() if peer >= 0),
            journal,
            mailbox,
            events,
            json.dumps(self.status()).encode(),
        )

    def _waiting(self) -> dict[str, dict[str, int]]:
        """Return the messages on disk, with their limits."""
        settings, origin, receiver = self._options.settings, self.agent.origin, self.agent.receiver
        found = {
            JOURNAL: (origin.journal_count, origin.journal_bytes, settings.journal),
            MAILBOX: (receiver.mailbox_count, receiver.mailbox_bytes, settings.mailbox),
        }
        return {
            store: {
                "messages": n,
                "bytes": size,
                "most_messages": limits.messages,
                "most_bytes": limits.payload_bytes,
            }
            for store, (n, size, limits) in found.items()
        }

    async def close(self) -> None:
        """Disconnect from everybody."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self.follower.close()
        await self.data.close()
        if self.has_left:
            with suppress(DeployError):  # its broker may be gone, too
                await end_session(self._options.broker.of("data"))
        await super().close()

    def _remember(self, key: tuple[Any, ...], value: tuple[Any, ...] | None) -> None:
        if value is None:
            self.stores.drop(Drop(ADAPTER, (key,)))
        else:
            self.stores.put(Put(OWN_TOKEN, ADAPTER, key, value))
        self.write_soon()
