"""A process that loads what an agent loads, follows a log from a file, and prints its memory."""

import statistics
import sys
import time
from pathlib import Path

import meshwright.mesh.shell.process  # noqa: F401  what the process of an agent loads
from meshwright.mesh.core.events import PLANNER, Put
from meshwright.mesh.core.follower import Follower
from meshwright.mesh.core.frames import Hello, Log
from meshwright.mesh.core.outbox import Outbox
from meshwright.mesh.core.routes import Routes
from meshwright.mesh.core.settings import AgentSettings
from meshwright.mesh.core.values import Version
from meshwright.mesh.shell.codec import Reader

MOST_FRAME = 256 << 20  # bytes
ROUTES = 200  # that are timed


def follow(file: Path) -> None:
    """Read a log from a file and follow it; print megabytes before, between and after."""
    megabytes = [memory("VmRSS")]
    (frame,) = Reader(MOST_FRAME).feed(file.read_bytes())
    assert isinstance(frame, Log)
    megabytes.append(memory("VmRSS"))
    out = Outbox()
    follower = Follower(AgentSettings("bench", 0), out)
    follower.greeted(PLANNER, Hello("bench", PLANNER, 1, Version(1, 1), 1))
    for action in out.take():
        if isinstance(action, Put):  # of the planner's term: a follower obeys what is on disk
            out.done(action.token)
    assert follower.extend(PLANNER, frame.entries)
    follower.set_links()
    megabytes += [memory("VmRSS"), memory("VmHWM")]
    routes, times = Routes(follower.log), []
    for i in range(ROUTES):
        started = time.perf_counter()
        routes.route(Version(1, 1), 0, f"site/{i % 100}/machine/{i // 100}/state")
        times.append(1000 * (time.perf_counter() - started))
    print(*megabytes, statistics.median(times))


def memory(name: str) -> float:
    """Return a figure of this process's memory in megabytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    follow(Path(sys.argv[1]))
