"""What an adapter is: how an agent learns what a broker's clients want, and what the broker can do.

An adapter declares the capabilities of its kind of broker and makes a *follower*, which tells the
core what clients want. Everything else is the same for all brokers: the data session (`session.py`)
takes and publishes messages, and makes up for what a broker lacks. docs/mesh-adapters.md shows how
to write one.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from meshwright.mesh.core.events import Wanted
from meshwright.mesh.shell.mqtt import Login
from meshwright.model.client_ids import AGENT
from meshwright.patterns.filters import is_filter


class Capabilities(NamedTuple):
    """What brokers of a kind can do. `mesh verify` and `mesh status` judge by it."""

    protocol: str = "5"  # of MQTT: 5 or 3.1.1. With 3.1.1 expiry and properties are lost
    live: bool = True  # the agent sees subscriptions as they are made
    no_local: bool = True  # a session does not get what it published itself
    qos: int = 2  # the highest; what has a higher one is published with this. Without no_local 1
    retain_as_published: bool = True  # the agent sees that a client set a retained message
    retained_by_wildcard: bool = True  # a filter with wildcards gets retained messages, too
    same_packet_ids: bool = True  # what comes again after a reconnect has the packet id it had
    window: int = 65_535  # messages that the broker sends before one is acknowledged
    unfit: str = ""  # characters that would change the name they are in
    longest_name: int = 65_535  # bytes

    def carries(self, name: str) -> bool:
        """Return whether a topic name or filter means the same at this broker as elsewhere."""
        return len(name.encode()) <= self.longest_name and not any(c in name for c in self.unfit)

    def retains(self, name: str) -> bool:
        """Return whether who begins to want this name or filter gets what the broker retains."""
        return self.retained_by_wildcard or not is_filter(name)


ALL = Capabilities()


class Endpoint(NamedTuple):
    """Where the broker is, and as whom the agent connects."""

    login: Login  # client id: that of the agent, without the connection's own ending
    max_message: int

    def of(self, connection: str, **options: Any) -> Login:
        """Return how one of the connections logs in."""
        client_id = f"{self.login.client_id}.{connection}"
        return self.login._replace(client_id=client_id, **options)


class Surroundings(NamedTuple):
    """What a follower is made with.

    Parameters
    ----------
    deliver
        Takes the events of the core; a follower sends `Wanted`.
    note
        Counts and logs what went wrong.
    known
        The records (key, value) that `remember` was told, in this process or an earlier one.
    remember
        Keeps a record on disk under a key, a tuple of text; None: forget it.
    place
        The agent's directory.
    options
        Of the sections [broker] and [options] of agent.toml.
    n_own
        Returns how many filters the agent's data session is subscribed to.
    """

    endpoint: Endpoint
    deliver: Callable[[Any], None]
    note: Callable[[str, str], None]
    known: Sequence[tuple[tuple[str, ...], tuple[Any, ...]]]
    remember: Callable[[tuple[str, ...], tuple[Any, ...] | None], None]
    place: Path = Path()
    options: Mapping[str, Any] = MappingProxyType({})
    n_own: Callable[[], int] = lambda: 0


class Follower(Protocol):
    """Tells the core what the clients of a broker want, for as long as it runs.

    One that can tell how many subscriptions it has missed has an attribute `n_unknown`, too.
    """

    remedy: str  # what to do when it does not know what clients want

    async def check(self) -> None:
        """Raise InputError if the broker cannot have an agent as it is, DeployError if away."""

    async def run(self) -> None:
        """Follow, for ever; what goes wrong is noted, and tried again."""

    def close(self) -> None:
        """Disconnect."""

    @property
    def is_following(self) -> bool:
        """Whether it knows what clients want."""

    def wanted(self) -> set[str]:
        """Return the filters that clients want, as far as it knows."""

    def doubts(self) -> Mapping[str, int]:
        """Return why interests are kept that may be none, and how many."""


class Teller:
    """Tells the core what clients want: all of it at first, then what changed."""

    def __init__(self, deliver: Callable[[Any], None]) -> None:
        self._deliver = deliver
        self.has_told = False
        self.wanted: set[str] = set()

    def tell(self, wanted: set[str]) -> None:
        """Take all filters that are wanted now."""
        before, self.wanted = self.wanted, wanted
        if not self.has_told:
            self.has_told = True
            self._deliver(Wanted(True, tuple(sorted(wanted))))
        elif wanted != before:
            added, removed = sorted(wanted - before), sorted(before - wanted)
            self._deliver(Wanted(False, tuple(added), tuple(removed)))


class Adapter(NamedTuple):
    """A kind of broker."""

    title: str
    capabilities: Callable[[Mapping[str, Any]], Capabilities]  # of the section [broker]
    follow: Callable[[Surroundings], Follower]
    files: Mapping[str, str] = MappingProxyType({})  # that `mesh init` writes, with their text
    next_step: str = ""  # what `mesh init` says to do with them
    keys: tuple[str, ...] = ()  # of the section [broker], beside those of all brokers
    service: str = ""  # the broker's unit of systemd, after which its agent starts


def client_id(mesh: str, directory: str) -> str:
    """Return the first part of the client ids of an agent."""
    return f"{AGENT}{mesh}.{directory}"
