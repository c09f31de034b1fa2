"""A whole mesh in virtual time: brokers, agents, the planner, and what befalls them."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from meshwright.mesh.core import events as ev
from meshwright.mesh.core.agent import Agent
from meshwright.mesh.core.events import PLANNER
from meshwright.mesh.core.frames import Data
from meshwright.mesh.core.planner import Planner
from meshwright.mesh.core.settings import AgentSettings, Limits, PlannerSettings
from meshwright.mesh.core.values import Joined, Topology
from meshwright.mesh.simulator.brokers import Broker
from meshwright.mesh.simulator.clock import Clock
from meshwright.mesh.simulator.disk import Disk
from meshwright.mesh.simulator.network import Network, pair_of

MESH = "simulated"
SLOW_DESIGNS = 0.15  # of all; clients go on subscribing while one is made
SLOW_SECONDS = (3.0, 12.0)
Designer = Callable[[ev.Design], Topology | None]


class Sent(NamedTuple):
    """A message that crossed a link."""

    time: float
    sender: int
    receiver: int
    frame: Data


class Options(NamedTuple):
    """What is drawn once for a mesh."""

    n_nodes: int
    routing: str = "tree"
    exactly_once: bool = False
    reuses_packets: bool = True
    same_packet_ids: bool = True
    window: int = 4
    room: int = 50  # frames on a link before it counts as full
    mailbox: Limits = Limits()
    journal: Limits = Limits()


class Mesh:
    """A mesh whose parts can be stopped, started, cut off and joined again."""

    def __init__(
        self, seed: int, options: Options, designer: Designer, agent_class: type[Agent] = Agent
    ) -> None:
        self.clock = Clock(seed)
        self.options = options
        self._designer = designer
        # Drawn apart, so that seeds keep the other delays that made them known.
        self._slowness = random.Random(f"slow designs {seed}")
        self._agent_class = agent_class
        self.network = Network(self.clock, self.tell, options.room)
        self.brokers = [
            Broker(
                self.clock,
                reuses_packets=options.reuses_packets,
                same_packet_ids=options.same_packet_ids,
            )
            for _ in range(options.n_nodes)
        ]
        self.disks = {node: Disk(self.clock) for node in range(PLANNER, options.n_nodes)}
        self.parts: dict[int, Agent | Planner] = {}
        self._leaving: set[int] = set()
        self._removed: set[int] = set()
        self._lives: Counter[int] = Counter()
        self.notes: Counter[str] = Counter()
        self.crossed: dict[tuple[int, int], set[bytes]] = {}  # payloads, by link
        self.sent: list[Sent] = []
        self.keeps_sent = False  # whether `sent` is filled

    # --- parts ---

    def start(self, node: int, *, restores: bool = False) -> None:
        """Start an agent, or the planner, from what its disk holds."""
        self._lives[node] += 1
        records = self.disks[node].records()
        if node == PLANNER:
            settings = PlannerSettings(MESH, self.options.routing, restores=restores)
            self.parts[node] = Planner(settings, self.members(), records)
        else:
            self.parts[node] = self._agent_class(self._settings(node), records)
        self.network.start(node)
        self.tell(node, ev.Start(self.clock.now))
        if node != PLANNER:
            self.network.want(node, [PLANNER])
            self.connect_broker(node)

    def members(self) -> ev.Members:
        """Return the operator's list of brokers."""
        gone = self._leaving | self._removed
        brokers = tuple(
            Joined(v, f"b{v:03}", f"host{v}:1") for v in range(len(self.brokers)) if v not in gone
        )
        return ev.Members(brokers, tuple(sorted(self._leaving)), tuple(sorted(self._removed)))

    def add(self) -> int:
        """Let the operator add a broker, and start its agent; return its number."""
        node = len(self.brokers)
        self.brokers.append(Broker(self.clock, reuses_packets=self.options.reuses_packets))
        self.disks[node] = Disk(self.clock)
        self.tell(PLANNER, self.members())
        self.start(node)
        return node

    def remove(self, node: int, *, at_once: bool) -> None:
        """Let the operator remove a broker."""
        (self._removed if at_once else self._leaving).add(node)
        self.tell(PLANNER, self.members())

    def _settings(self, node: int) -> AgentSettings:
        options = self.options
        return AgentSettings(
            MESH,
            node,
            options.journal,
            options.mailbox,
            exactly_once=options.exactly_once,
            window=options.window,
            same_packet_ids=options.same_packet_ids,
        )

    def kill(self, node: int) -> None:
        """Stop an agent, or the planner, as kill -9 does."""
        if node in self.parts:
            self._lives[node] += 1
            del self.parts[node]
            self.disks[node].crash()
            self.network.stop(node)
            if node != PLANNER:
                self.brokers[node].disconnect()

    def lose_planner(self) -> None:
        """Stop the planner, and lose its files."""
        self.kill(PLANNER)
        self.disks[PLANNER].wipe()

    def connect_broker(self, node: int) -> None:
        """Let an agent connect to its broker, if both are there."""
        life = self._lives[node]

        def connect() -> None:
            if life == self._lives[node] and self.brokers[node].is_up and node in self.parts:
                self.brokers[node].connect(self._teller(node))
                self.report_wants(node)

        self.clock.after(self.clock.delay(0.005, 0.05), connect)

    def kill_broker(self, node: int, mode: str) -> None:
        """Stop a broker."""
        self.brokers[node].crash(mode)
        self.tell(node, ev.BrokerLost())

    def restart_broker(self, node: int) -> None:
        """Start a broker again."""
        self.brokers[node].restart()
        self.connect_broker(node)

    def drop_broker_connection(self, node: int) -> None:
        """Break the connection between an agent and its broker, which both survive."""
        if node in self.parts and self.brokers[node].is_up:
            self.brokers[node].disconnect()
            self.tell(node, ev.BrokerLost())
            self.connect_broker(node)

    def report_wants(self, node: int) -> None:
        """Tell an agent what its broker's clients want, as an adapter does."""
        broker, teller = self.brokers[node], self._teller(node)

        def report() -> None:  # what they want by then: two reports must not change places
            if broker.is_up:
                teller(ev.Wanted(True, tuple(sorted(broker.state.clients))))

        if broker.is_up:
            self.clock.after(self.clock.delay(0.001, 0.02), report)

    # --- events and actions ---

    def _teller(self, node: int) -> Callable[[ev.Event], None]:
        life = self._lives[node]

        def tell(event: ev.Event) -> None:
            if self._lives[node] == life:
                self._handle(node, event)

        return tell

    def tell(self, node: int, event: ev.Event) -> None:
        """Tell a part something, as soon as what happens now is over."""
        teller = self._teller(node)
        self.clock.after(0.0, lambda: teller(event))

    def _handle(self, node: int, event: ev.Event) -> None:
        part = self.parts.get(node)
        if part is None:
            return
        if isinstance(event, ev.BrokerUp) and not self.brokers[node].is_up:
            return
        for action in part.handle(event, self.clock.now):
            self._act(node, action)

    def _act(self, node: int, action: ev.Action) -> None:
        match action:
            case ev.Send(peer, frame):
                if isinstance(frame, Data):
                    self.crossed.setdefault(pair_of(node, peer), set()).add(frame.message.payload)
                    if self.keeps_sent:
                        self.sent.append(Sent(self.clock.now, node, peer, frame))
                self.network.send(node, peer, frame)
            case ev.Put(token):
                teller = self._teller(node)

                def answer(failure: str | None) -> None:
                    stored = ev.Stored(token) if failure is None else ev.NotStored(token, failure)
                    teller(stored)

                self.disks[node].put(action, answer)
            case ev.Drop():
                self.disks[node].drop(action)
            case ev.SetLinks(peers):
                self.network.want(node, [PLANNER, *(peer for peer, _ in peers)])
            case ev.Wake(at):
                teller = self._teller(node)
                self.clock.at(at, lambda: teller(ev.Tick()))
            case ev.End(_, is_failure):
                self.notes["failures" if is_failure else "ends"] += 1
                self.kill(node)
            case ev.Note(what, _, times):
                self.notes[what] += times
            case ev.Design(token):
                teller = self._teller(node)
                topology = self._designer(action)
                pause = self.clock.delay(0.05, 0.5)
                if self._slowness.random() < SLOW_DESIGNS:
                    pause = self._slowness.uniform(*SLOW_SECONDS)
                self.clock.after(pause, lambda: teller(ev.Designed(token, topology)))
            case ev.Fetch(token, filters):
                teller = self._teller(node)
                found = self.brokers[node].fetch(filters)
                self.clock.after(
                    self.clock.delay(0.002, 0.01), lambda: teller(ev.Fetched(token, found))
                )
            case ev.Publish() | ev.Accept() | ev.SetSubscriptions() | ev.Release():
                self.brokers[node].hear(action)

    # --- faults of the network ---

    def cut(self, u: int, v: int, *, silent: bool) -> None:
        """Cut the connection between two parts."""
        self.network.break_pair(pair_of(u, v), silent=silent)

    def mend(self, u: int, v: int) -> None:
        """Undo a cut."""
        self.network.mend_pair(pair_of(u, v))

    def partition(self, side: Iterable[int], *, silent: bool) -> list[tuple[int, int]]:
        """Cut all connections between some parts and the others; return the pairs."""
        inside = set(side)
        others = set(range(PLANNER, self.options.n_nodes)) - inside
        pairs = [pair_of(u, v) for u in sorted(inside) for v in sorted(others)]
        for pair in pairs:
            self.network.break_pair(pair, silent=silent)
        return pairs
