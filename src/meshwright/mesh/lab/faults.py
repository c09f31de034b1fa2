"""Faults of the lab: what can happen to a mesh, each struck while messages flow, then healed."""

import asyncio
import random
import signal
from collections.abc import Callable, Sequence
from typing import NamedTuple

from meshwright.deploy.lab.processes import wait_until
from meshwright.errors import check_choice
from meshwright.mesh.lab.proxies import Pair, pair
from meshwright.mesh.lab.records import Outage
from meshwright.mesh.lab.running import LocalMesh
from meshwright.mesh.status import ask_replan

HEAL_SECONDS = 90.0  # for the mesh to be as before
CALM_SECONDS = 2.0  # between two faults


class Fault(NamedTuple):
    """A kind of fault."""

    words: str
    hold: float  # seconds until it is healed
    strike: Callable[["Site"], None]
    heal: Callable[["Site"], None]
    at: str = "none"  # what is struck: an agent, a broker, a link, half of the brokers, or none
    loses: bool = False


class Site(NamedTuple):
    """Where a fault strikes."""

    mesh: LocalMesh
    node: str  # of an agent or a broker
    links: tuple[Pair, ...]

    @property
    def agents(self) -> str:
        """The process of the node's agent."""
        return f"agents-{self.mesh.group_of(self.node)}"


def _restart_agent(site: Site) -> None:
    site.mesh.start_agents(site.mesh.group_of(site.node))


def _restart_broker(site: Site) -> None:
    site.mesh.brokers[site.node].start()
    site.mesh.brokers[site.node].wait()


def _signal_broker(number: int) -> Callable[[Site], None]:
    return lambda site: site.mesh.brokers[site.node].signal(number)


def _signal_agent(number: int) -> Callable[[Site], None]:
    return lambda site: site.mesh.kill(site.agents, number)


def _replan(method: str) -> Callable[[Site], None]:
    def act(site: Site) -> None:
        """Give the mesh another method: the planner reads it when it starts."""
        site.mesh.kill("planner", signal.SIGTERM)
        site.mesh.set_method(method)
        site.mesh.start_planner()
        wait_until(lambda: site.mesh.status().planner_up)
        ask_replan(site.mesh.config.place)

    return act


FAULTS = {
    "agent": Fault(
        "kill -9 of an agent", 3.0, _signal_agent(signal.SIGKILL), _restart_agent, "agent"
    ),
    "broker": Fault(
        "kill -9 of a broker",
        3.0,
        lambda site: site.mesh.brokers[site.node].kill(),
        _restart_broker,
        "broker",
        loses=True,
    ),
    "planner": Fault(
        "kill -9 of the planner",
        3.0,
        lambda site: site.mesh.kill("planner"),
        lambda site: site.mesh.start_planner(),
    ),
    "link": Fault(
        "a link is cut",
        3.0,
        lambda site: site.mesh.cut(site.links),
        lambda site: site.mesh.heal(),
        "link",
    ),
    "silent-link": Fault(
        "a link is cut silently",
        12.0,
        lambda site: site.mesh.cut(site.links, silently=True),
        lambda site: site.mesh.heal(),
        "link",
    ),
    "partition": Fault(
        "half of the brokers are cut off",
        4.0,
        lambda site: site.mesh.cut(site.links),
        lambda site: site.mesh.heal(),
        "half",
    ),
    "stopped-agent": Fault(
        "an agent is stopped and goes on",
        8.0,
        _signal_agent(signal.SIGSTOP),
        _signal_agent(signal.SIGCONT),
        "agent",
    ),
    "stopped-broker": Fault(
        "a broker is stopped and goes on",
        4.0,
        _signal_broker(signal.SIGSTOP),
        _signal_broker(signal.SIGCONT),
        "broker",
    ),
    "replan": Fault("another method: minmax", 1.0, _replan("minmax"), _replan("gm")),
}


def choose(names: Sequence[str]) -> list[str]:
    """Return the faults that were asked for; "all" is every one, in order."""
    for name in names:
        check_choice("fault", name, ("all", *FAULTS))
    return list(FAULTS) if "all" in names else list(names)


class FaultRunner:
    """Strikes a mesh with one fault after the other, at places drawn by a seed."""

    def __init__(self, mesh: LocalMesh, step: Callable[[str], None], seed: int) -> None:
        self._mesh, self._step = mesh, step
        self._draw = random.Random(seed)
        self._names = [member.name for member in mesh.config.brokers]
        self.struck: set[str] = set()  # brokers that are cut off or down now

    async def run(self, names: Sequence[str]) -> list[Outage]:
        """Strike with these faults and return when each was."""
        found = []
        for name in names:
            found.append(await self._one(FAULTS[name]))
            await asyncio.sleep(CALM_SECONDS)
        return found

    async def _one(self, fault: Fault) -> Outage:
        loop = asyncio.get_running_loop()
        site, apart = await asyncio.to_thread(self._choose, fault)
        where = f" ({', '.join(sorted(apart))})" if 0 < len(apart) < 3 else ""
        self._step(f"{fault.words}{where}")
        self.struck = set(apart)
        start = loop.time()
        await asyncio.to_thread(fault.strike, site)
        await asyncio.sleep(fault.hold)
        healed = loop.time()
        await asyncio.to_thread(fault.heal, site)
        well = lambda: not self._mesh.status().findings  # noqa: E731
        await asyncio.to_thread(wait_until, well, HEAL_SECONDS)
        await asyncio.sleep(1.0)  # a subscription counts from a second after it was made
        self.struck = set()
        return Outage(fault.words, apart, start, healed, loop.time(), fault.loses)

    def _choose(self, fault: Fault) -> tuple[Site, frozenset[str]]:
        """Return where to strike: the broker of most links and the link of most, or a half."""
        node = self._draw.choice(self._busiest())
        apart = frozenset({node} if fault.at in ("agent", "broker") else ())
        links: tuple[Pair, ...] = ()
        if fault.at == "half":
            half = frozenset(self._draw.sample(range(len(self._names)), len(self._names) // 2))
            rest = set(range(len(self._names))) - half
            links = tuple(pair(u, v) for u in half for v in rest)
            apart = frozenset(self._names[u] for u in half)
        elif fault.at == "link":
            links = (self._draw.choice(self._mesh.links_up()),)
        return Site(self._mesh, node, links), apart

    def _busiest(self) -> list[str]:
        """Return the brokers with most links: their loss costs most."""
        degrees = dict.fromkeys(range(len(self._names)), 0)
        for u, v in self._mesh.links_up():
            degrees[u] += 1
            degrees[v] += 1
        ranked = sorted(degrees, key=lambda u: (-degrees[u], u))
        return [self._names[u] for u in ranked[:3]]
