"""Connections between agents, and between agents and the planner: cut, silent, partitioned."""

from collections.abc import Callable, Iterable
from functools import partial

from meshwright.mesh.core import events as ev
from meshwright.mesh.core.frames import Frame
from meshwright.mesh.simulator.clock import Clock, Pipe

SILENCE = 5.0  # seconds after which a silent connection counts as lost
Pair = tuple[int, int]
Tell = Callable[[int, ev.Event], None]


class Connection:
    """One connection: a pipe each way."""

    def __init__(self, clock: Clock, pair: Pair) -> None:
        self.pipes = {pair: Pipe(clock), (pair[1], pair[0]): Pipe(clock)}
        self.full: set[int] = set()  # the ends that were told that it is full

    def close(self) -> None:
        """Lose what is under way."""
        for pipe in self.pipes.values():
            pipe.close()


class Network:
    """All connections; the smaller end comes first, the planner before everybody."""

    def __init__(self, clock: Clock, tell: Tell, room: int) -> None:
        self._clock = clock
        self._tell = tell
        self._room = room  # frames that may wait on a link before it counts as full
        self.alive: set[int] = set()
        self._wanted: dict[int, set[int]] = {}  # by agent
        self._open: dict[Pair, Connection] = {}
        self._dialling: set[Pair] = set()
        self.cut: dict[Pair, int] = {}  # pairs that cannot be connected, and how many faults say so
        self.clogged: set[Pair] = set()  # pairs over which frames are slow
        self.n_frames = 0
        self.reads: Callable[[int], bool] = lambda _: True  # whether a part reads its links

    def want(self, node: int, peers: Iterable[int]) -> None:
        """Note the connections that an agent asks for."""
        before, self._wanted[node] = self._wanted.get(node, set()), set(peers)
        for peer in sorted(before - self._wanted[node]):
            self._lose(pair_of(node, peer))
        for peer in sorted(self._wanted[node]):
            self._dial(pair_of(node, peer))

    def start(self, node: int) -> None:
        """Note that a process is there."""
        self.alive.add(node)
        for pair in sorted(self._asked_pairs()):
            if node in pair:
                self._dial(pair)

    def stop(self, node: int) -> None:
        """Note that a process is gone: its peers are told by their sockets."""
        self.alive.discard(node)
        self._wanted[node] = set()
        for pair in sorted(self._open):
            if node in pair:
                self._lose(pair)

    def send(self, node: int, peer: int, frame: Frame) -> None:
        """Send a frame; it arrives in order, or the connection is lost."""
        pair = pair_of(node, peer)
        connection = self._open.get(pair)
        if connection is None:
            return
        self.n_frames += 1
        pipe = connection.pipes[node, peer]

        def deliver() -> None:
            self._tell(peer, ev.Received(node, frame))
            self._look_at(connection, node, peer)

        pipe.send(deliver)
        self._look_at(connection, node, peer)

    def _look_at(self, connection: Connection, node: int, peer: int) -> None:
        """Tell an end when its side of a connection gets full or free."""
        waiting = connection.pipes[node, peer].waiting
        if waiting > self._room and node not in connection.full:
            connection.full.add(node)
            self._tell(node, ev.LinkFull(peer))
        elif waiting <= self._room // 2 and node in connection.full:
            connection.full.discard(node)
            self._tell(node, ev.LinkFree(peer))

    # --- faults ---

    def break_pair(self, pair: Pair, *, silent: bool) -> None:
        """Cut a pair until `mend_pair`."""
        self.cut[pair] = self.cut.get(pair, 0) + 1
        connection = self._open.get(pair)
        if connection is None:
            return
        if silent:
            for pipe in connection.pipes.values():
                pipe.is_silent = True

            def notice() -> None:
                if self._open.get(pair) is connection:
                    self._lose(pair)

            self._clock.after(SILENCE, notice)
        else:
            self._lose(pair)

    def mend_pair(self, pair: Pair) -> None:
        """Undo a cut."""
        self.cut[pair] -= 1
        if not self.cut[pair]:
            del self.cut[pair]
            if pair in self._asked_pairs():
                self._dial(pair)

    def clog(self, pair: Pair, *, slow: bool) -> None:
        """Make a pair slow, or quick again."""
        (self.clogged.add if slow else self.clogged.discard)(pair)
        connection = self._open.get(pair)
        if connection is not None:
            self._set_speed(connection, pair)

    def _set_speed(self, connection: Connection, pair: Pair) -> None:
        for pipe in connection.pipes.values():
            slow = pair in self.clogged
            pipe.low, pipe.high = (0.3, 0.6) if slow else (0.0005, 0.004)

    def _asked_pairs(self) -> set[Pair]:
        return {pair_of(node, peer) for node, peers in self._wanted.items() for peer in peers}

    def _dial(self, pair: Pair) -> None:
        if pair in self._open or pair in self._dialling:
            return
        self._dialling.add(pair)
        self._clock.after(self._clock.delay(0.002, 0.05), lambda: self._connect(pair))

    def _connect(self, pair: Pair) -> None:
        self._dialling.discard(pair)
        if pair in self._open or pair not in self._asked_pairs():
            return
        if pair in self.cut or not self.alive.issuperset(pair):
            self._clock.after(0.2, lambda: self._dial(pair))
            return
        connection = self._open[pair] = Connection(self._clock, pair)
        for (_, receiver), pipe in connection.pipes.items():
            pipe.reads = partial(self.reads, receiver)
        self._set_speed(connection, pair)
        for node, peer in (pair, (pair[1], pair[0])):
            self._tell(node, ev.LinkUp(peer))

    def _lose(self, pair: Pair) -> None:
        connection = self._open.pop(pair, None)
        if connection is None:
            return
        connection.close()
        for node in pair:
            if node in self.alive:
                peer = pair[0] if node == pair[1] else pair[1]
                self._tell(node, ev.LinkLost(peer))
        if pair in self._asked_pairs():
            self._dial(pair)


def pair_of(u: int, v: int) -> Pair:
    """Return two ends, the smaller first."""
    return (u, v) if u < v else (v, u)
