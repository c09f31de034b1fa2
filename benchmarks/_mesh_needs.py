"""What an agent needs: memory for the log of a large mesh, and processor time without messages.

The log is drawn: brokers that want equally many filters each, all filters equally likely, and a
plan of three links per broker. It is written as the planner sends it, and a process of its own
follows it (`benchmarks._mesh_follower`).
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks._measure import family
from benchmarks._required import Required
from meshwright.mesh.core.frames import Log
from meshwright.mesh.core.log import ALL_WELL
from meshwright.mesh.core.values import Entry, Joined, Snapshot, Topology, Version
from meshwright.mesh.lab.running import LocalMesh

BROKERS, FILTERS, PAIRS = 1_000, 10_000, 200_000
LINKS = 3  # of the plan, per broker
MOST_MEGABYTES = 200.0  # of the process
MOST_SHARE = 0.01  # of a processor, by an idle agent
SETTLE, IDLE = 5.0, 20.0  # seconds


def size(n_brokers: int = BROKERS, n_filters: int = FILTERS, n_pairs: int = PAIRS) -> None:
    """Print the memory of a process that follows a drawn log, and judge it."""
    from meshwright.mesh.shell.codec import encode

    check_linux()
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:
        file = Path(scratch) / "log"
        file.write_bytes(encode(draw_log(n_brokers, n_filters, n_pairs)))
        print(
            f"a log of {n_brokers:,} brokers, {n_filters:,} filters and {n_pairs:,} pairs, "
            f"{file.stat().st_size / 1e6:.1f} MB on the wire",
            flush=True,
        )
        child = [sys.executable, "-m", "benchmarks._mesh_follower", str(file)]
        said = subprocess.run(child, check=True, capture_output=True, text=True).stdout
    libraries, decoded, follows, peak, milliseconds = map(float, said.split())
    required = Required()
    text = required.at_most("MB of the process", MOST_MEGABYTES, follows, ".0f")
    print(
        f"interpreter and libraries {libraries:.0f} MB, the frame that was read "
        f"{decoded - libraries:.0f} MB, the log that is followed {follows - decoded:.0f} MB\n"
        f"a new route: {milliseconds:.1f} ms (median)\n{text} (at its peak {peak:.0f})\n"
        f"{required.summary()}"
    )


def check_linux() -> None:
    """Say that this runs on Linux only."""
    if not Path("/proc/self/schedstat").exists():
        raise SystemExit("error: memory and processor time are read from /proc: run this on Linux")


def draw_log(n_brokers: int, n_filters: int, n_pairs: int) -> Log:
    """Return a log of one snapshot."""
    rng = np.random.default_rng(1)
    nodes = np.arange(n_brokers)
    wanting: list[list[int]] = [[] for _ in range(n_filters)]
    for node in nodes.tolist():
        for pattern in rng.choice(n_filters, n_pairs // n_brokers, replace=False).tolist():
            wanting[pattern].append(node)
    last = ["+" if i % 10 == 0 else "state" for i in range(n_filters)]
    names = [f"site/{i % 100}/machine/{i // 100}/{word}" for i, word in enumerate(last)]
    chain = np.stack((nodes[:-1], nodes[1:]), axis=1)  # so that every broker is reached
    more = rng.integers(0, n_brokers, ((LINKS - 1) * n_brokers, 2))
    edges = np.unique(np.sort(np.concatenate((chain, more[more[:, 0] != more[:, 1]]))), axis=0)
    snapshot = Snapshot(
        tuple(Joined(v, f"broker-{v}", f"10.0.{v // 250}.{v % 250}:7900") for v in nodes.tolist()),
        Topology("tree", tuple((u, v) for u, v in edges.tolist())),
        ALL_WELL,
        tuple((name, tuple(by)) for name, by in zip(names, wanting, strict=True) if by),
    )
    return Log((Entry(Version(1, 1), (snapshot,)),))


def idle(seconds: float = IDLE, settle: float = SETTLE) -> None:
    """Print the processor time of agents, brokers and planner without messages; judge agents."""
    check_linux()
    place = tempfile.TemporaryDirectory(prefix="meshwright-bench-")
    with place as scratch, LocalMesh(Path(scratch) / "lab", ["one", "two"]) as made:
        made.wait_until_linked()
        time.sleep(settle)
        before, started = processor_times(), time.monotonic()
        time.sleep(seconds)
        after, took = processor_times(), time.monotonic() - started
    required, agents = Required(), []
    for process, (what, begun) in before.items():
        share = (after[process][1] - begun) / took
        print(f"{what:<10}{share:8.3%} of a processor")
        agents += [share] if what == "agent" else []
    print(f"without messages for {took:.0f} s")
    print(required.at_most("share of the busier agent", MOST_SHARE, max(agents), ".2%"))
    print(required.summary())


def processor_times() -> dict[int, tuple[str, float]]:
    """Return what each process of the mesh is, and its seconds of processor time."""
    found = {}
    for process in family():
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        except OSError:  # it ended meanwhile
            continue
        what = next((name for name in ("agent", "planner") if name.encode() in words), "")
        what = "broker" if words[0].endswith(b"mosquitto") else what
        if what:
            found[process] = what, processor_seconds(process)
    return found


def processor_seconds(process: int) -> float:
    """Return the processor time of all threads, to the nanosecond; ticks would miss short ones."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(path.read_text(encoding="utf-8").split()[0]) for path in threads) / 1e9
