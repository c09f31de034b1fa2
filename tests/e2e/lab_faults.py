"""Streams of messages while something fails: what was lost, what came twice, how long it took.

``python -m tests.e2e.lab_faults`` prints the table of docs/lab.md.
"""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from meshwright.deploy.lab.clients import Clients, link_probes
from meshwright.deploy.lab.processes import wait_until
from meshwright.deploy.lab.running import up
from tests.e2e.lab_deployed import deploy

PATIENCE = 120.0  # a bound on waits; they end as soon as what is awaited is there
AUTOSAVE = ("autosave_on_changes true", "autosave_interval 1")


@dataclass(frozen=True)
class Outcome:
    """What became of one stream at one broker."""

    sent: int
    lost: tuple[int, ...]  # places in the stream
    doubled: tuple[int, ...]
    disordered: int  # first copies that came after a later one


class Streams:
    """Numbered messages from some publishers, read back at every broker."""

    def __init__(self, clients: Clients, streams: Sequence[tuple[str, str]]) -> None:
        self._clients = clients
        self._streams = list(streams)  # (publisher, topic)
        self._what: list[tuple[int, int]] = []  # of each number: stream, place in it
        self._sent = [0] * len(streams)
        self._seen: dict[tuple[str, int], list[int]] = {}
        self.at: dict[tuple[str, int], list[int]] = {}  # when each arrived, as perf_counter_ns

    def publish(self, n: int, pause: float = 0.002) -> None:
        """Publish `n` messages of each stream, evenly in time."""
        for _ in range(n):
            for i, (publisher, topic) in enumerate(self._streams):
                number = self._clients.take_numbers(1)
                self._what.append((i, self._sent[i]))
                self._sent[i] += 1
                self._clients.publish(publisher, topic, number)
            time.sleep(pause)

    def read(self) -> None:
        for node, arrival in self._clients.news():
            stream, place = self._what[arrival.number]
            self._seen.setdefault((node, stream), []).append(place)
            self.at.setdefault((node, stream), []).append(arrival.at)

    def arrived(self, node: str, stream: int) -> int:
        """Return how many different messages of a stream a broker has got."""
        self.read()
        return len(set(self._seen.get((node, stream), ())))

    def wait_for_last(self, nodes_of: Callable[[int], Sequence[str]]) -> bool:
        """Wait until the last message of each stream is at its brokers."""

        def there() -> bool:
            self.read()
            return all(
                self._sent[i] - 1 in self._seen.get((node, i), ())
                for i in range(len(self._streams))
                for node in nodes_of(i)
            )

        return wait_until(there, PATIENCE)

    def most_copies(self, node: str, stream: int) -> int:
        """Return how often a broker got the message that it got most often."""
        self.read()
        return max(Counter(self._seen.get((node, stream), ())).values(), default=0)

    def outcome(self, node: str, stream: int) -> Outcome:
        self.read()
        seen = self._seen.get((node, stream), [])
        count = Counter(seen)
        first = list(dict.fromkeys(seen))
        return Outcome(
            self._sent[stream],
            tuple(i for i in range(self._sent[stream]) if i not in count),
            tuple(sorted(i for i, n in count.items() if n > 1)),
            sum(b < a for a, b in pairwise(first)),
        )


def exact(n: int) -> Outcome:
    return Outcome(n, (), (), 0)


# a - b - k - c: 't' on all of it, 'u' on a and b only. b and c dial k.
INNER = ({"t": "abkc", "u": "ab"}, ("ab", "bk", "kc"))
# a - b - k: k is at the end, and dials.
OUTER = ({"t": "abk", "u": "ab"}, ("ab", "bk"))
BEFORE, DURING, AFTER = 150, 150, 50


@dataclass(frozen=True)
class Crash:
    """A broker killed in the middle of streams and started again."""

    beside: dict[tuple[str, str, str], Outcome]  # (publisher, topic, at), not over the killed one
    at_killed: dict[tuple[str, str, str], Outcome]
    across: dict[tuple[str, str, str], Outcome]  # between others, over the killed one
    reconnected: float  # seconds from the start to the first message over the last of its links
    recovered: bool  # what was sent when all links were back arrived


def crash(
    place: Path,
    shape: tuple[dict[str, str], tuple[str, ...]],
    *,
    qos: int = 1,
    extra: tuple[str, ...] = (),
) -> Crash:
    """Kill k with SIGKILL while messages flow, start it again while they flow, and look."""
    wants, links = shape
    conf = deploy(place / "conf", wants, links, qos=qos)
    lab = up(conf, extra=dict.fromkeys("abkc", extra))
    ends = [node for node in ("a", "c") if node in wants["t"]]
    streams = [(node, "t") for node in ends] + [("a", "u")]
    try:
        with lab.clients() as clients:
            clients.wait_for(link_probes(lab.plan, lab.up), PATIENCE)
            flow = Streams(clients, streams)
            flow.publish(BEFORE)
            lab.kill("k")
            flow.publish(DURING)
            restarted = time.perf_counter_ns()
            lab.start(["k"])
            clients.wait_for(link_probes(lab.plan, lab.up), PATIENCE)
            back = time.perf_counter_ns()
            flow.publish(AFTER)
            recovered = flow.wait_for_last(lambda i: list(wants[streams[i][1]]))
            time.sleep(0.5)  # late copies, if any, are counted too
            return _crash(flow, streams, wants, (back - restarted) / 1e9, recovered)
    finally:
        lab.stop()


def _crash(
    flow: Streams,
    streams: Sequence[tuple[str, str]],
    wants: dict[str, str],
    reconnected: float,
    recovered: bool,
) -> Crash:
    found: tuple[dict, dict, dict] = ({}, {}, {})
    for i, (publisher, topic) in enumerate(streams):
        for node in wants[topic]:
            apart = {publisher, node} & {"a", "b"} and {publisher, node} & {"c"}
            which = 1 if node == "k" else 2 if apart else 0
            found[which][publisher, topic, node] = flow.outcome(node, i)
    return Crash(*found, reconnected, recovered)


SETTINGS: dict[str, tuple[int, tuple[str, ...]]] = {
    "QoS 1": (1, ()),
    "QoS 1, autosave_on_changes": (1, AUTOSAVE),
    "QoS 2": (2, ()),
    "QoS 2, autosave_on_changes": (2, AUTOSAVE),
}
N_CRASHES = 10


def main() -> None:
    """Print a table: what crashes cost, the range over some of each kind."""
    print(f"{BEFORE} messages a stream before the crash, {DURING} during, {AFTER} after")
    print("| killed | setting | at it: lost | doubled | across it: lost | doubled | beside | s |")
    for name, shape in (("inner", INNER), ("outer", OUTER)):
        for setting, (qos, extra) in SETTINGS.items():
            rows = []
            for _ in range(N_CRASHES):
                with tempfile.TemporaryDirectory() as place:
                    rows.append(crash(Path(place), shape, qos=qos, extra=extra))
            cells = [
                span([len(getattr(o, what)) for row in rows for o in getattr(row, part).values()])
                for part in ("at_killed", "across")
                for what in ("lost", "doubled")
            ]
            beside = span(
                [len(o.lost) + len(o.doubled) for row in rows for o in row.beside.values()]
            )
            seconds = span([round(row.reconnected, 1) for row in rows])
            print("|", " | ".join([name, setting, *cells, beside, seconds]), "|", flush=True)


def span(values: Sequence[float]) -> str:
    """Return the smallest and the largest value."""
    if not values:
        return "-"
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


if __name__ == "__main__":
    main()
