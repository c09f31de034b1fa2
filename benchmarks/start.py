"""How long commands on the bundled example take, with the start of Spark: cold, prepared and warm.

"Cold" is without the class archive, as the very first command runs; then the archive is made, in a
cache directory of this benchmark, and the commands run with it. All these start their own Spark.
"First" is a command that starts the warm server, and "warm" are those that find it. Each figure is
the least of some runs. The processor seconds are those of the command and of all that it waited
for, its JVM or the share of the server included: on a busy machine they are the better measure.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from meshwright.cli.demo import find_example
from meshwright.runtime.class_archive import SWITCH

FIRST_AIM = 8.0  # seconds
AIMS = {"ingest": 2.5, "stats": 2.5, "check": 2.5, "simulate": 2.5, "demo": 15.0}  # when warm


class Cost(NamedTuple):
    """The cost of a command."""

    seconds: float  # by the clock
    cpu: float  # seconds of all processors


def run(arguments: list[str]) -> None:
    """Measure the verbs and the demo without and with the archive."""
    parser = argparse.ArgumentParser(prog="scripts/bench start", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the least counts")
    parser.add_argument("--no-demo", action="store_true", help="the verbs alone")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:
        place = Path(scratch)
        measure(place, "cold", options.repeat, {SWITCH: "off"}, demo=not options.no_demo)
        variables = {SWITCH: "on", "XDG_CACHE_HOME": str(place / "cache")}
        cost = command(place, "spark", "prepare", **variables)
        size = sum(file.stat().st_size for file in (place / "cache").rglob("*.jsa"))
        show("", "spark prepare", cost, f"{size / 1e6:.0f} MB")
        measure(place, "prepared", options.repeat, variables, demo=not options.no_demo)
        variables |= {"MESHWRIGHT_SERVER": "on"}
        try:
            first = []
            for _ in range(options.repeat):
                command(place, "spark", "stop", **variables)
                first.append(command(place, *ingest(place), **variables))
            show("first", "ingest", least(first), f"aim {FIRST_AIM:g} s")
            measure(place, "warm", options.repeat, variables, demo=not options.no_demo)
        finally:
            command(place, "spark", "stop", **variables)


def smoke() -> None:
    """Run one verb without the archive."""
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:
        place = Path(scratch)
        show("cold", "ingest", command(place, *ingest(place), **{SWITCH: "off"}))


def measure(
    place: Path, state: str, repeat: int, variables: Mapping[str, str], *, demo: bool
) -> None:
    """Print the cost of the verbs, one after the other, and of the demo."""
    workload, overlay = str(place / "workload"), str(place / "overlay")
    design = ("design", workload, "-o", overlay, "--force", "-m", "sl")
    command(place, *ingest(place), **variables)
    command(place, *design, **variables)  # in this process, without Spark
    words = {
        "ingest": ingest(place),
        "stats": ("stats", workload),
        "check": ("check", overlay),
        "simulate": ("simulate", overlay, "-o", str(place / "run"), "--force"),
    }
    if demo:
        words["demo"] = ("demo", "-o", str(place / "demo"))
    for verb, line in words.items():
        costs = [command(place, *line, **variables) for _ in range(repeat)]
        show(state, verb, least(costs), f"aim {AIMS[verb]:g} s" if state == "warm" else "")


def least(costs: Sequence[Cost]) -> Cost:
    """Return the least seconds, by the clock and of processors."""
    return Cost(min(cost.seconds for cost in costs), min(cost.cpu for cost in costs))


def ingest(place: Path) -> tuple[str, ...]:
    """Return the words that ingest the bundled example."""
    return ("ingest", str(find_example()), "-o", str(place / "workload"), "--force")


def command(place: Path, *words: str, **variables: str) -> Cost:
    """Run a command in a process of its own and return its cost; it must not fail."""
    environment = {**os.environ, "MESHWRIGHT_SERVER": "off", **variables}
    if environment["MESHWRIGHT_SERVER"] == "off":
        environment["CI"] = "true"  # nothing goes on in the background
    else:
        environment.pop("CI", None)
    start, before = time.perf_counter(), _used(place)
    subprocess.run(
        [sys.executable, "-m", "meshwright", *words],
        env=environment,
        cwd=place,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return Cost(time.perf_counter() - start, _used(place) - before)


def show(state: str, verb: str, cost: Cost, remark: str = "") -> None:
    """Print one line."""
    line = f"{state:<9} {verb:<13} {cost.seconds:6.1f} s  {cost.cpu:6.1f} s of CPU  {remark}"
    print(line.rstrip(), flush=True)


def _used(place: Path) -> float:
    """Return the processor seconds of the commands so far, and of the server that runs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    notes = list((place / "cache").glob("meshwright/server-*/server.json"))
    server = sum(_of_process(json.loads(note.read_text())["pid"]) for note in notes)
    return used.ru_utime + used.ru_stime + server


def _of_process(pid: int) -> float:
    """Return the processor seconds of a process and of all that it has started; on Linux only."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_of_process(int(child)) for child in children)
