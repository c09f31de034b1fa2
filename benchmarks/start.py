"""How long commands on the bundled example take, with the start of Spark: cold, prepared and warm.

"Cold" is without the class archive, as the very first command runs; then the archive is made, in a
cache directory of this benchmark, and the commands run with it. All these start their own Spark.
"First" is a command that starts the warm server, and "warm" are those that find it. Each figure is
the least of some runs. The processor seconds are those of the command and of all that it waited
for, its JVM or the share of the server included: on a busy machine they are the better measure.

Machines differ, so the aims are shares of a reference in the same run: a session of PySpark with
its own settings and three small jobs on the example. It took 11.6 s where the aims were set: 8 s
for the first command, 2.5 s for the ones that follow, 15 s for the demo.
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

FIRST_AIM = 8.0 / 11.6  # of the reference
WARM_AIM = 2.5 / 11.6
DEMO_AIM = 15.0 / 11.6
REFERENCE = """
import sys
from pyspark.sql import SparkSession
source, out = sys.argv[1:]
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.read.option("header", True).csv(source)
rows.distinct().count()
rows.groupBy(rows.columns[1]).count().collect()
rows.sort(*rows.columns).write.mode("overwrite").parquet(out)
"""


class Cost(NamedTuple):
    """The cost of a command."""

    seconds: float  # by the clock
    cpu: float  # seconds of all processors


def run(arguments: list[str]) -> None:
    """Measure the verbs and the demo without and with the archive."""
    parser = argparse.ArgumentParser(prog="scripts/bench start", description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the least counts")
    parser.add_argument("--no-demo", action="store_true", help="the verbs alone")
    parser.add_argument("--no-cold", action="store_true", help="only the reference, first and warm")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:
        place = Path(scratch)
        reference = least([run_reference(place) for _ in range(options.repeat)])
        show("", "reference", reference)
        if not options.no_cold:
            measure(place, "cold", options.repeat, {SWITCH: "off"}, demo=not options.no_demo)
        variables = {SWITCH: "on", "XDG_CACHE_HOME": str(place / "cache")}
        cost = command(place, "spark", "prepare", **variables)
        size = sum(file.stat().st_size for file in (place / "cache").rglob("*.jsa"))
        show("", "spark prepare", cost, f"{size / 1e6:.0f} MB")
        if not options.no_cold:
            measure(place, "prepared", options.repeat, variables, demo=not options.no_demo)
        variables |= {"MESHWRIGHT_SERVER": "on"}
        try:
            first = []
            for _ in range(options.repeat):
                command(place, "spark", "stop", **variables)
                first.append(command(place, *ingest(place), **variables))
            show("first", "ingest", least(first), share(least(first), reference, FIRST_AIM))
            measure(
                place,
                "warm",
                options.repeat,
                variables,
                demo=not options.no_demo,
                against=reference,
            )
        finally:
            command(place, "spark", "stop", **variables)


def smoke() -> None:
    """Run one verb without the archive."""
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:
        place = Path(scratch)
        show("cold", "ingest", command(place, *ingest(place), **{SWITCH: "off"}))


def measure(
    place: Path,
    state: str,
    repeat: int,
    variables: Mapping[str, str],
    *,
    demo: bool,
    against: Cost | None = None,
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
        cost = least([command(place, *line, **variables) for _ in range(repeat)])
        aim = DEMO_AIM if verb == "demo" else WARM_AIM
        show(state, verb, cost, share(cost, against, aim) if against else "")


def share(cost: Cost, reference: Cost, aim: float) -> str:
    """Return what share of the reference's time a command took, and the aim."""
    return f"{cost.seconds / reference.seconds:.2f} of the reference (aim {aim:.2f})"


def run_reference(place: Path) -> Cost:
    """Run the reference in a process of its own and return its cost."""
    words = ["-c", REFERENCE, str(find_example()), str(place / "reference")]
    return _timed(place, words, dict(os.environ))


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
    return _timed(place, ["-m", "meshwright", *words], environment)


def show(state: str, verb: str, cost: Cost, remark: str = "") -> None:
    """Print one line."""
    line = f"{state:<9} {verb:<13} {cost.seconds:6.1f} s  {cost.cpu:6.1f} s of CPU  {remark}"
    print(line.rstrip(), flush=True)


def _timed(place: Path, words: Sequence[str], environment: Mapping[str, str]) -> Cost:
    start, before = time.perf_counter(), _used(place)
    subprocess.run(
        [sys.executable, *words],
        env=environment,
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=None if "-m" in words else subprocess.DEVNULL,  # Spark's own words
        check=True,
    )
    return Cost(time.perf_counter() - start, _used(place) - before)


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
