"""Quality: links, maximum degree, their bounds and gaps of refined beside gm, minmax and low.

`refined` runs without a cap, and with the maximum degree of `minmax` as its cap; each for the
seconds of its instance, which are given below, and as long again for its bounds. A last table
compares the cost of the one-pass certificate with that of `gm`, in time and in added memory.
"""

import argparse
import csv
import time
from pathlib import Path
from typing import Any

from benchmarks._instances import TINY, load, load_file, prepare
from benchmarks.overlay import peak_megabytes, reset_peak
from meshwright.model.instance import Instance
from meshwright.model.kernels.components import new_components
from meshwright.model.overlay import Overlay
from meshwright.overlay import design
from meshwright.overlay.bounds.one_pass import links_by_histogram, tree_histogram

SECONDS = {"example": 5, "fb200": 60, "zipf200": 60, "fb1k": 30, "tw1k": 30, "unif1k": 60}
LARGE = {"fb10k": 60, "tw10k": 60, "zipf10k": 60}
EXAMPLE = Path(__file__).parents[1] / "examples" / "company.csv"
HEAD = (
    f"{'instance':10} {'method':16} {'links':>8} {'bound':>8} {'gap':>6} {'degree':>7} "
    f"{'bound':>6} {'gap':>6} {'seconds':>8}"
)


def run(arguments: list[str]) -> None:
    """Print the table for the given instances."""
    parser = argparse.ArgumentParser(prog="scripts/bench quality", description=__doc__)
    parser.add_argument("--data", type=Path, help="the directory of the real graphs")
    parser.add_argument("--instances", default=",".join([*SECONDS, *LARGE]))
    parser.add_argument("--seconds", type=float, help="of each search, instead of the table's")
    options = parser.parse_args(arguments)
    print(HEAD)
    costs = []
    for name in options.instances.split(","):
        instance = get(name, options.data)
        seconds = options.seconds or {**SECONDS, **LARGE}.get(name, 30)
        compare(name, instance, seconds)
        costs.append((name, *certificate_cost(instance)))
    print(f"\n{'instance':10} {'gm s':>8} {'one pass s':>11} {'ratio':>6} {'gm MB':>7} {'MB':>7}")
    for name, gm, one_pass, gm_memory, memory in costs:
        ratio = one_pass / gm
        print(f"{name:10} {gm:8.3f} {one_pass:11.3f} {ratio:6.2f} {gm_memory:7.0f} {memory:7.0f}")


def smoke() -> None:
    """Compare on the smallest instance, for a fraction of a second."""
    print(HEAD)
    instance = load_file(prepare(TINY, None))
    compare(TINY, instance, 0.2)
    certificate_cost(instance)


def get(name: str, data: Path | None) -> Instance:
    """Return an instance: the bundled example, or one of the registry."""
    if name != "example":
        return load(name, data)
    with EXAMPLE.open(encoding="utf-8") as lines:
        return Instance.from_pairs((row["broker"], row["topic"]) for row in csv.DictReader(lines))


def compare(name: str, instance: Instance, seconds: float) -> None:
    """Print a row for each method; the bounds of complete overlays hold for all of them."""
    minmax = design(instance, "minmax", certify=False)
    rows: list[tuple[str, dict[str, Any]]] = [("gm", {}), ("minmax", {}), ("low", {})]
    rows.append(("refined", {"seconds": seconds}))
    rows.append(("refined", {"seconds": seconds, "max_degree": minmax.max_degree}))
    bounds = design(instance, "gm", certify_seconds=2 * seconds).bounds
    assert bounds is not None
    for method, parameters in rows:
        started = time.perf_counter()
        overlay = design(instance, method, certify=False, **parameters)
        cap = parameters.get("max_degree")
        show(name, f"{method}{f' <= {cap}' if cap else ''}", overlay, bounds, started)
    print(
        f"{'':10} bounds: links by {bounds.edges_by}, degree by {bounds.max_degree_by}", flush=True
    )


def show(name: str, method: str, overlay: Overlay, bounds: Any, started: float) -> None:
    """Print one row."""
    links, degree = overlay.n_edges, overlay.max_degree
    gaps = [f"{value / max(bound, 1) - 1:.0%}" for value, bound in
            ((links, bounds.edges), (degree, bounds.max_degree))]  # fmt: skip
    note = "" if overlay.connected else f"  support {overlay.support:.3%}"
    print(
        f"{name:10} {method:16} {links:8,} {bounds.edges:8,} {gaps[0]:>6} {degree:7,} "
        f"{bounds.max_degree:6,} {gaps[1]:>6} {time.perf_counter() - started:8.1f}{note}",
        flush=True,
    )


def certificate_cost(instance: Instance) -> tuple[float, float, float, float]:
    """Return the seconds of gm and of the one-pass bound, and the megabytes that each adds."""

    def one_pass() -> None:
        interests = instance.indptr, instance.topics, instance.n_topics
        links_by_histogram(tree_histogram(new_components(*interests)))

    found = []
    for work in (lambda: design(instance, "gm", certify=False), one_pass):
        work()
        loaded, times = reset_peak(), []
        for _ in range(3):
            started = time.perf_counter()
            work()
            times.append(time.perf_counter() - started)
        found.append((min(times), max(peak_megabytes() - loaded, 0.0)))
    return found[0][0], found[1][0], found[0][1], found[1][1]
