"""Quality: links, maximum degree, their bounds and gaps of refined beside gm, minmax and low.

`refined` runs without a cap, and with the maximum degree of `minmax` as its cap; each for the
seconds of its instance, which are given below, and the bounds for twice as long. The row `one pass`
has the cost of the one-pass certificate beside that of `gm`: the time of all processors, the least
of several runs, and the memory that the first run adds, each in a process of its own. Rows that
have to reach something say what, and what they reach; a last line counts those that do not.
"""

import argparse
import csv
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks._instances import TINY, load
from benchmarks._measure import shortest, timed
from benchmarks._required import Required
from benchmarks.overlay import peak_megabytes, reset_peak, warm_ups
from meshwright.model.instance import Instance
from meshwright.model.overlay import Bounds, Overlay
from meshwright.overlay import design
from meshwright.overlay.bounds.one_pass import histogram_here, links_by_histogram

SECONDS = {"example": 5, "fb200": 60, "zipf200": 60, "fb1k": 30, "tw1k": 30, "zipf1k": 30}
SECONDS |= {"unif1k": 60, "unif2k": 60, "tiny": 5}
LARGE = {"fb10k": 60, "tw10k": 60, "zipf10k": 60, "unif10k": 60}
EXAMPLE = Path(__file__).parents[1] / "examples" / "company.csv"
# What has to be reached: the gap of the fewest links, and links by those of minmax at its degree.
MOST_GAP = {"example": 0.0, "fb200": 0.12, "zipf200": 0.10, "fb1k": 0.40, "fb10k": 1.20}
MOST_SHARE = {"example": 0.5, "fb1k": 0.85, "tw1k": 0.85, "unif1k": 0.85}
MOST_DEGREE_GAP = {"example": 0.20}  # at the lowest cap with a complete plan
MOST_TIME, MOST_MEMORY = 1.0, 1.2  # of the one-pass certificate, by those of gm
LEAST_MEMORY = 10.0  # MB; less says nothing
HEAD = (
    f"{'instance':10} {'method':14} {'links':>8} {'bound':>8} {'gap':>6} {'degree':>6} "
    f"{'bound':>6} {'gap':>6} {'seconds':>8}  required: reached"
)


def run(arguments: list[str]) -> None:
    """Print the table for the given instances."""
    parser = argparse.ArgumentParser(prog="scripts/bench quality", description=__doc__)
    parser.add_argument("--data", type=Path, help="the directory of the real graphs")
    parser.add_argument("--instances", default=",".join([*SECONDS, *LARGE]))
    parser.add_argument("--seconds", type=float, help="of each search, instead of the table's")
    parser.add_argument("--cost", action="store_true", help="only the cost of the certificate")
    parser.add_argument("--one", metavar="WORK", choices=WORKS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(measure(get(options.instances, options.data), options.one)))
        return
    print(HEAD)
    required = Required()
    for name in options.instances.split(","):
        instance = get(name, options.data)
        seconds = options.seconds or {**SECONDS, **LARGE}.get(name, 30)
        if not options.cost:
            compare(name, instance, seconds, required)
        show_cost(name, options.data, required)
    print(required.summary())


def smoke() -> None:
    """Compare on the smallest instance, for a fraction of a second."""
    print(HEAD)
    required = Required()
    compare(TINY, load(TINY, None), 0.2, required)
    show_cost(TINY, None, required)


def get(name: str, data: Path | None) -> Instance:
    """Return an instance: the bundled example, or one of the registry."""
    if name != "example":
        return load(name, data)
    with EXAMPLE.open(encoding="utf-8") as lines:
        return Instance.from_pairs((row["broker"], row["topic"]) for row in csv.DictReader(lines))


def compare(name: str, instance: Instance, seconds: float, required: Required) -> None:
    """Print a row for each method; the bounds of complete overlays hold for all of them."""
    bounds = design(instance, "gm", certify_seconds=2 * seconds).bounds
    assert bounds is not None
    found = {}
    for method in ("gm", "minmax", "low"):
        found[method] = shown(name, method, instance, bounds, {})
    gm, minmax = found["gm"], found["minmax"]
    free = shown(name, "refined", instance, bounds, {"seconds": seconds}, end="  ")
    texts = [required.at_most("links", gm.n_edges, free.n_edges, ",")]
    if name in MOST_GAP:
        gap = free.n_edges / max(bounds.edges, 1) - 1
        texts.append(required.at_most("gap", MOST_GAP[name], gap, ".0%"))
    print("; ".join(texts), flush=True)
    within = {"seconds": seconds, "max_degree": minmax.max_degree}
    capped = shown(name, "refined", instance, bounds, within, end="  ")
    share = capped.n_edges / max(minmax.n_edges, 1)
    lacking = "" if capped.connected else "; not complete: MISSED"
    required.missed += not capped.connected
    text = required.at_most("of minmax", MOST_SHARE.get(name, 1.0), share)
    print(f"{text}{lacking}", flush=True)
    if name in MOST_DEGREE_GAP:
        show_lowest(name, instance, bounds, seconds, required)
    print(f"{'':10} bounds: links by {bounds.edges_by}, degree by {bounds.max_degree_by}")


def show_lowest(
    name: str, instance: Instance, bounds: Bounds, seconds: float, required: Required
) -> None:
    """Print the row of the lowest cap for which a complete plan is found."""
    cap, least = bounds.max_degree, bounds.max_degree
    while True:
        within = {"seconds": seconds, "max_degree": cap}
        overlay = shown(name, "refined", instance, bounds, within, end="  ")
        if overlay.connected:
            gap = overlay.max_degree / least - 1
            print(required.at_most("degree gap", MOST_DEGREE_GAP[name], gap, ".0%"), flush=True)
            return
        print(flush=True)
        cap += 1


def shown(
    name: str,
    method: str,
    instance: Instance,
    bounds: Bounds,
    parameters: dict[str, Any],
    end: str = "\n",
) -> Overlay:
    """Design, print the row, and return the overlay."""
    started = time.perf_counter()
    overlay = design(instance, method, certify=False, **parameters)
    took = time.perf_counter() - started
    links, degree = overlay.n_edges, overlay.max_degree
    gaps = [
        f"{value / max(bound, 1) - 1:.0%}"
        for value, bound in ((links, bounds.edges), (degree, bounds.max_degree))
    ]
    cap = parameters.get("max_degree")
    print(
        f"{name:10} {f'{method} <= {cap}' if cap else method:14} {links:8,} {bounds.edges:8,} "
        f"{gaps[0]:>6} {degree:6,} {bounds.max_degree:6,} {gaps[1]:>6} {took:8.1f}",
        end=end if overlay.connected else f"  support {overlay.support:.3%}{end}",
        flush=True,
    )
    return overlay


def show_cost(name: str, data: Path | None, required: Required) -> None:
    """Print the cost of the one-pass certificate beside that of gm."""
    costs = []
    for work in WORKS:
        cell = [sys.executable, "-m", "benchmarks", "quality", "--one", work, "--instances", name]
        cell += [] if data is None else ["--data", str(data)]
        costs.append(json.loads(subprocess.run(cell, check=True, capture_output=True).stdout))
    (gm, gm_memory), (one_pass, memory) = costs
    texts = [required.at_most("of gm's time", MOST_TIME, one_pass / gm)]
    if max(gm_memory, memory) > LEAST_MEMORY:
        share = memory / max(gm_memory, LEAST_MEMORY)
        texts.append(required.at_most("of its memory", MOST_MEMORY, share))
    print(
        f"{name:10} {'one pass':14} gm {gm:.4f} s and {gm_memory:.0f} MB, one pass "
        f"{one_pass:.4f} s and {memory:.0f} MB  {'; '.join(texts)}",
        flush=True,
    )


def measure(instance: Instance, work: str) -> tuple[float, float]:
    """Return the least processor seconds of a piece of work, and the megabytes that it adds."""
    for warm_up in warm_ups(reference=False):  # compiled before anything is measured
        WORKS[work](warm_up)
    loaded = reset_peak()
    first = timed(lambda: WORKS[work](instance))
    added = peak_megabytes() - loaded
    return shortest(lambda: WORKS[work](instance), first)[1], added


def _gm(instance: Instance) -> None:
    design(instance, "gm", certify=False)


def _one_pass(instance: Instance) -> None:
    links_by_histogram(histogram_here(instance))


WORKS = {"gm": _gm, "one pass": _one_pass}
