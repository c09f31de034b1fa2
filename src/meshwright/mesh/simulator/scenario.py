"""One drawn life of a mesh: a seed decides the network, the clients, the faults and every delay."""

import random
from collections.abc import Callable
from typing import NamedTuple

from meshwright.mesh.core.agent import Agent
from meshwright.mesh.core.events import PLANNER, Replan
from meshwright.mesh.core.settings import Limits
from meshwright.mesh.core.values import Message
from meshwright.mesh.simulator.design import draw_design
from meshwright.mesh.simulator.ending import Kept, left_over, wrongly_kept
from meshwright.mesh.simulator.mesh import Mesh, Options
from meshwright.mesh.simulator.oracle import (
    FOREVER,
    Fault,
    History,
    Interest,
    Membership,
    Oracle,
    Post,
    Seen,
    Violation,
)

FILTERS = ("a/#", "a/+", "a/b", "+/b", "b/c", "#", "c", "+/+/d", "a/b/c", "b/+")
TOPICS = ("a/b", "a/c", "b/b", "b/c", "c", "d", "a/b/d", "a/b/c")
RETAINED = ("a/r", "r/b", "r")  # topics of retained messages
# Faults in which a broker forgets retained messages, or has old ones again.
FORGETTING = ("wiped", "saved")
BEGIN, END, QUIET = 4.0, 12.0, 70.0  # seconds: publishing begins, ends, and all must be settled
RESTORING = 20.0  # seconds that a planner may take to collect the log, if agents are away
FAULTS = (
    "agent", "agent", "planner", "kept", "wiped", "saved", "link", "silent link", "partition",
    "planner link", "broker link", "slow broker", "slow link", "replan",
)  # fmt: skip


Ends = tuple[Callable[[], None], Callable[[], None]]  # what begins a fault, and what ends it


class Plan(NamedTuple):
    """What a scenario may contain."""

    n_nodes: tuple[int, int] = (2, 7)
    routings: tuple[str, ...] = ("tree", "tree", "po", "pal", "pie")
    posts: tuple[int, int] = (5, 30)
    faults: tuple[int, int] = (0, 4)
    kinds: tuple[str, ...] = FAULTS
    rooms: tuple[int, ...] = (100_000, 100_000, 100_000, 3)  # messages of journal and mailbox
    expiries: tuple[float | None, ...] = (*[None] * 8, 0.5, 3.0)  # seconds, of messages
    changes: tuple[int, int] = (0, 8)  # clients that subscribe or unsubscribe meanwhile
    same_packet_ids: bool = True  # of what brokers send again
    added: tuple[int, ...] = (0, 0, 0, 1, 2)  # brokers that are added meanwhile
    removed: tuple[int, ...] = (0, 0, 1)  # brokers that are removed, in peace or at once
    loses_planner: tuple[bool, ...] = (*[False] * 6, True)  # whether its files are lost
    retained: tuple[int, int] = (0, 6)  # messages that clients have retained, or clear
    full_disks: tuple[int, ...] = (0, 0, 0, 1, 2)  # disks that take nothing for a while, or little


ANY = Plan()


class Result(NamedTuple):
    """What a scenario showed."""

    seed: int
    violations: list[Violation]
    history: History
    mesh: Mesh


class Scenario:
    """Draws and runs one life of a mesh."""

    def __init__(self, seed: int, plan: Plan = ANY, agent_class: type[Agent] = Agent) -> None:
        self._seed = seed
        self._plan = plan
        self._draw = draw = random.Random(f"scenario {seed}")
        # Drawn apart, so that seeds keep the faults and clients that made them known.
        self._extra = random.Random(f"expiry and limits {seed}")
        limits = Limits(messages=self._extra.choice(plan.rooms))
        self._options = Options(
            mailbox=limits,
            journal=limits,
            n_nodes=draw.randint(*plan.n_nodes),
            routing=draw.choice(plan.routings),
            exactly_once=draw.random() < 0.3,
            reuses_packets=draw.random() < 0.5,
            same_packet_ids=plan.same_packet_ids,
            window=draw.choice((1, 4, 50)),
            room=draw.choice((5, 50)),
        )
        self.mesh = Mesh(seed, self._options, draw_design(seed, self._options.routing), agent_class)
        self._posts: list[Post] = []
        self._n_retained = 0
        self._n_planned = 0
        self._faults: list[Fault] = []
        self._ended: list[Interest] = []
        self._since: dict[tuple[int, str], float] = {}
        self._others = random.Random(f"members {seed}")  # drawn apart, as above
        self._disks = random.Random(f"disks {seed}")  # and these
        self._keeps = random.Random(f"retained {seed}")  # and these
        self._retained: list[Kept] = []
        self._slow_links: list[tuple[int, int]] = []
        self._members: dict[int, Membership] = {}  # of brokers that came or went

    def run(self) -> Result:
        """Run it, and judge it."""
        mesh, draw = self.mesh, self._draw
        nodes = range(self._options.n_nodes)
        for node in nodes:
            for pattern in draw.sample(FILTERS, draw.randint(0, 3)):
                self._subscribe(node, pattern)
        parts = [PLANNER, *nodes]
        draw.shuffle(parts)
        for part in parts:
            mesh.start(part)
        for _ in range(draw.randint(*self._plan.faults)):
            self._plan_fault(draw.choice(self._plan.kinds))
        for _ in range(draw.randint(*self._plan.posts)):
            self._plan_post(draw.uniform(BEGIN, END), draw.choice(nodes), draw.choice(TOPICS))
        for _ in range(draw.randint(*self._plan.changes)):
            self._plan_change(draw.uniform(BEGIN, END))
        for fault in self._faults:  # much happens just when something fails or comes back
            for time in (fault.start, fault.end, fault.end + 0.3):
                self._plan_burst(time + draw.uniform(-0.02, 0.02), fault.node)
        for _ in range(self._others.choice(self._plan.added)):
            mesh.clock.at(self._others.uniform(BEGIN, END), self._add)
        for _ in range(self._others.choice(self._plan.removed)):
            mesh.clock.at(self._others.uniform(BEGIN, END), self._choose_removal)
        if self._others.choice(self._plan.loses_planner):
            self._lose_planner(self._others.uniform(BEGIN, END))
        for _ in range(self._disks.choice(self._plan.full_disks)):
            self._fill_disk()
        for _ in range(self._keeps.randint(*self._plan.retained)):
            self._plan_retained(self._keeps.uniform(BEGIN, END))
        mesh.clock.run(QUIET)
        history = self._history()
        found = [*Oracle(history).violations(), *left_over(mesh, self._gone(), self._since)]
        forgets = self._gone() or any(fault.kind in FORGETTING for fault in self._faults)
        if not forgets and not mesh.notes["dropped_journal_full"]:
            steady = [key for key, since in self._since.items() if since < BEGIN]
            found += wrongly_kept(mesh, self._since, steady, self._retained)
        return Result(self._seed, found, history, mesh)

    def _lose_planner(self, start: float) -> None:
        """Lose the planner's files, and let it collect the log from the agents."""
        end = start + self._others.uniform(0.1, 3.0)
        if any(fault.node == PLANNER for fault in self._faults):
            return
        self._faults.append(Fault("lost planner", PLANNER, start, end + RESTORING))
        self.mesh.clock.at(start, self.mesh.lose_planner)
        self.mesh.clock.at(end, lambda: self.mesh.start(PLANNER, restores=True))

    def _fill_disk(self) -> None:
        """Let a disk refuse what is put there for a while, also while its agent is killed."""
        draw, clock = self._disks, self.mesh.clock
        start = draw.uniform(0.0, END)
        end = start + draw.choice((0.5, 2.0, 6.0)) * draw.uniform(0.5, 1.0)
        node, share = draw.randrange(PLANNER, self._options.n_nodes), draw.choice((0.5, 1.0, 1.0))
        disks = self.mesh.disks
        self._faults.append(Fault("full disk", node, start, end))
        clock.at(start, lambda: disks[node].fill(share))
        clock.at(end, lambda: disks[node].free(share))

    # --- members ---

    def _add(self) -> None:
        """Add a broker whose clients subscribe and publish from then on."""
        draw, now = self._others, self.mesh.clock.now
        node = self.mesh.add()
        self._members[node] = Membership(node, now, FOREVER)
        for pattern in draw.sample(FILTERS, draw.randint(0, 3)):
            self._subscribe(node, pattern)
        for _ in range(draw.randint(0, 8)):
            self._plan_post(draw.uniform(now, END + 4.0), node, draw.choice(TOPICS))

    def _choose_removal(self) -> None:
        """Remove a broker while its clients publish; they stay, and publish on."""
        draw, now = self._others, self.mesh.clock.now
        stay = [v for v in range(len(self.mesh.brokers)) if v not in self._gone()]
        node, at_once = draw.choice(stay), draw.random() < 0.4
        for i in range(6):
            self._plan_post(now + 0.01 * i, node, draw.choice(TOPICS))
        self.mesh.clock.after(0.03, lambda: self._remove(node, at_once=at_once))

    def _remove(self, node: int, *, at_once: bool) -> None:
        """Remove a broker, if three or more take part."""
        now, gone = self.mesh.clock.now, self._gone()
        if node in gone or len(self.mesh.brokers) - len(gone) < 3:
            return
        for pattern in [pattern for v, pattern in self._since if v == node]:
            self._ended.append(Interest(node, pattern, self._since.pop((node, pattern)), now))
        since = self._members[node].since if node in self._members else 0.0
        self._members[node] = Membership(node, since, now, at_once)
        self.mesh.remove(node, at_once=at_once)

    def _gone(self) -> set[int]:
        return {node for node, member in self._members.items() if member.until < FOREVER}

    # --- clients ---

    def _plan_burst(self, time: float, node: int) -> None:
        """Draw some messages of one topic, close together; often of the broker that is hit."""
        draw = self._draw
        if node == PLANNER or draw.random() < 0.4:
            node = draw.randrange(self._options.n_nodes)
        topic = draw.choice(TOPICS[:3])
        for _ in range(draw.randint(1, 8)):
            time += draw.expovariate(200.0)
            self._plan_post(time, node, topic)
        if draw.random() < 0.4:
            self._plan_change(time)

    def _plan_post(self, time: float, node: int, topic: str) -> None:
        draw = self._draw
        qos = draw.choice((0, 1, 1, 1, 2))
        self._n_planned += 1
        payload = b"same" if draw.random() < 0.1 else f"{self._n_planned}".encode()
        expiry = None if payload == b"same" else self._extra.choice(self._plan.expiries)

        def post() -> None:
            if self.mesh.brokers[node].is_up:
                now = self.mesh.clock.now
                self._posts.append(Post(len(self._posts), now, node, topic, payload, qos, expiry))
                self.mesh.brokers[node].publish(Message(topic, payload, qos, expiry=expiry))

        self.mesh.clock.at(time, post)

    def _plan_retained(self, time: float) -> None:
        """Plan a retained message, or one that clears it; on topics of their own."""
        draw = self._keeps
        node, topic = draw.randrange(self._options.n_nodes), draw.choice(RETAINED)
        self._n_retained += 1
        payload = b"" if draw.random() < 0.25 else f"kept {self._n_retained}".encode()

        def post() -> None:
            if self.mesh.brokers[node].is_up:
                self._retained.append(Kept(self.mesh.clock.now, node, topic, payload))
                self.mesh.brokers[node].publish(Message(topic, payload, 1, retain=True))

        self.mesh.clock.at(time, post)

    def _plan_change(self, time: float) -> None:
        draw = self._draw
        node = draw.randrange(self._options.n_nodes)
        pattern = draw.choice(FILTERS)

        def change() -> None:
            if self.mesh.brokers[node].is_up:
                if (node, pattern) in self._since:
                    self._unsubscribe(node, pattern)
                else:
                    self._subscribe(node, pattern)
                self.mesh.report_wants(node)

        self.mesh.clock.at(time, change)

    def _subscribe(self, node: int, pattern: str) -> None:
        if node not in self._gone():
            self._since[node, pattern] = self.mesh.clock.now
        self.mesh.brokers[node].subscribe(pattern)

    def _unsubscribe(self, node: int, pattern: str) -> None:
        since = self._since.pop((node, pattern))
        self._ended.append(Interest(node, pattern, since, self.mesh.clock.now))
        self.mesh.brokers[node].unsubscribe(pattern)

    # --- faults ---

    def _plan_fault(self, kind: str) -> None:
        draw, clock = self._draw, self.mesh.clock
        start = draw.uniform(BEGIN + 0.5, END)
        end = start + draw.choice((0.1, 0.5, 1.5, 4.0)) * draw.uniform(0.5, 1.0)
        node = draw.randrange(self._options.n_nodes)
        other = draw.randrange(self._options.n_nodes)
        if kind == "saved":
            saved = start - draw.uniform(0.0, 2.0)
            clock.at(saved, self.mesh.brokers[node].save)
        begin, finish = getattr(self, "_" + kind.replace(" ", "_"))(node, other)
        # What is down already, or would come up while another fault keeps it down, is left alone.
        target = PLANNER if kind in ("planner", "replan") else node
        for fault in self._faults:
            if fault.node == target and fault.start <= end + 0.1 and fault.end + 0.1 >= start:
                return
        silent = 5.0 if kind in ("silent link", "partition") else 0.0
        self._faults.append(Fault(kind, target, start, end + silent))
        clock.at(start, begin)
        clock.at(end, finish)

    def _agent(self, node: int, _: int) -> Ends:
        return lambda: self.mesh.kill(node), lambda: self.mesh.start(node)

    def _planner(self, _: int, __: int) -> Ends:
        return lambda: self.mesh.kill(PLANNER), lambda: self.mesh.start(PLANNER)

    def _kept(self, node: int, _: int) -> Ends:
        mesh = self.mesh
        return lambda: mesh.kill_broker(node, "kept"), lambda: mesh.restart_broker(node)

    def _saved(self, node: int, _: int) -> Ends:
        mesh = self.mesh
        return lambda: mesh.kill_broker(node, "saved"), lambda: mesh.restart_broker(node)

    def _wiped(self, node: int, _: int) -> Ends:
        mesh = self.mesh
        patterns: list[str] = []

        def crash() -> None:
            patterns.extend(pattern for v, pattern in self._since if v == node)
            for pattern in patterns:
                self._unsubscribe(node, pattern)
            mesh.kill_broker(node, "wiped")

        def restart() -> None:
            mesh.restart_broker(node)
            for pattern in patterns:  # clients come back and subscribe again
                self._subscribe(node, pattern)
            mesh.report_wants(node)

        return crash, restart

    def _link(self, u: int, v: int) -> Ends:
        mesh = self.mesh
        v = v if u != v else PLANNER
        return lambda: mesh.cut(u, v, silent=False), lambda: mesh.mend(u, v)

    def _silent_link(self, u: int, v: int) -> Ends:
        mesh = self.mesh
        v = v if u != v else PLANNER
        return lambda: mesh.cut(u, v, silent=True), lambda: mesh.mend(u, v)

    def _planner_link(self, u: int, _: int) -> Ends:
        return self._link(u, u)

    def _partition(self, node: int, _: int) -> Ends:
        mesh, draw = self.mesh, self._draw
        others = [v for v in range(PLANNER, self._options.n_nodes) if v != node]
        side = [node, *draw.sample(others, draw.randint(0, len(others) - 1))]
        silent = draw.random() < 0.5
        pairs: list[tuple[int, int]] = []

        def heal() -> None:
            for pair in pairs:
                mesh.network.mend_pair(pair)

        return lambda: pairs.extend(mesh.partition(side, silent=silent)), heal

    def _broker_link(self, node: int, _: int) -> Ends:
        return lambda: self.mesh.drop_broker_connection(node), lambda: None

    def _slow_broker(self, node: int, _: int) -> Ends:
        broker = self.mesh.brokers[node]
        return lambda: setattr(broker, "slow", 2.5), lambda: setattr(broker, "slow", 0.0)

    def _slow_link(self, u: int, v: int) -> Ends:
        network, pair = self.mesh.network, (min(u, v), max(u, v))
        self._slow_links.append(pair)
        return lambda: network.clog(pair, slow=True), lambda: network.clog(pair, slow=False)

    def _replan(self, _: int, __: int) -> Ends:
        return lambda: self.mesh.tell(PLANNER, Replan()), lambda: None

    # --- the end ---

    def _history(self) -> History:
        going = [Interest(*key, since, FOREVER) for key, since in self._since.items()]
        seen = [
            Seen(node, arrival.time, arrival.message.payload, arrival.message.topic)
            for node, broker in enumerate(self.mesh.brokers)
            for arrival in broker.arrivals
            if arrival.message.topic not in RETAINED
        ]
        options = self._options
        return History(
            self._posts,
            [*self._ended, *going],
            self._faults,
            seen,
            options.window,
            options.exactly_once,
            tuple(self._members.values()),
            self.mesh.notes["dropped_journal_full"] * (len(self.mesh.brokers) - 1),
            frozenset().union(*(self.mesh.crossed.get(pair, ()) for pair in self._slow_links)),
        )


def run_scenario(seed: int, plan: Plan = ANY, agent_class: type[Agent] = Agent) -> Result:
    """Run the scenario of a seed."""
    return Scenario(seed, plan, agent_class).run()
