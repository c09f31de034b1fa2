"""Survive: what plans that survive one failure cost, against the bound and against plain plans.

A row for each method: links and maximum degree with `--survive 1` and without, the bound on links
of overlays that survive, by the linear program of neighbours that nodes need, or by the certificate
where that is too large, and the ratio of links to it. The aim is a ratio of `AIM` by `refined` on
the instances `JUDGED`, where the program can be solved; a last line counts those that miss it.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks._instances import TINY, load_file, prepare
from benchmarks._required import Required
from benchmarks.quality import get
from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.overlay.bounds.cover import bound_by, make_needs, program_prices
from meshwright.overlay.bounds.prices import count_entries
from meshwright.overlay.losses import topics_split

AIM = 1.15
JUDGED = ("example", "fb200")
METHODS = ("gm", "minmax", "refined")
SECONDS = {"example": 20, "fb200": 60, "zipf200": 60, "fb1k": 120}
MOST_PROGRAM = 1_000_000  # pairs by topic; beyond, the certificate's own bound is taken
HEAD = (
    f"{'instance':10} {'method':8} {'links':>7} {'bound':>7} {'ratio':>6} {'plain':>7} "
    f"{'degree':>6} {'plain':>6} {'seconds':>8}  required: reached"
)


def run(arguments: list[str]) -> None:
    """Print the table for the given instances."""
    parser = argparse.ArgumentParser(prog="scripts/bench survive", description=__doc__)
    parser.add_argument("--data", type=Path, help="the directory of the real graphs")
    parser.add_argument("--instances", default=",".join(SECONDS))
    parser.add_argument("--seconds", type=float, help="of each search, instead of the table's")
    options = parser.parse_args(arguments)
    print(HEAD)
    required = Required()
    for name in options.instances.split(","):
        instance = get(name, options.data)
        compare(name, instance, options.seconds or SECONDS.get(name, 60), required)
    print(required.summary())


def smoke() -> None:
    """Compare on a part of the smallest instance, for a fraction of a second."""
    print(HEAD)
    whole = load_file(prepare(TINY, None))
    indptr = whole.indptr[:41]
    part = Instance.from_arrays(indptr, whole.topics[: indptr[-1]], whole.n_topics)
    compare(TINY, part, 0.2, Required())


def compare(name: str, instance: Instance, seconds: float, required: Required) -> None:
    """Print a row for each method."""
    bound = 0
    if count_entries(instance) <= MOST_PROGRAM:
        needs = make_needs(instance, 1)
        bound = bound_by(needs, program_prices(needs))[0]
    for method in METHODS:
        parameters = {"seconds": seconds} if method == "refined" else {}
        started = time.perf_counter()
        overlay = design(instance, method, survive=1, certify=bound == 0, **parameters)
        took = time.perf_counter() - started
        assert topics_split(overlay, 1) == []
        if overlay.bounds is not None:
            bound = overlay.bounds.edges
        plain, ratio = overlay.parameters, overlay.n_edges / np.maximum(bound, 1)
        is_judged = method == "refined" and name in JUDGED
        verdict = required.at_most("ratio", AIM, float(ratio)) if is_judged else ""
        print(
            f"{name:10} {method:8} {overlay.n_edges:7,} {bound:7,} "
            f"{ratio:6.3f} {plain['links_without']:7,} "
            f"{overlay.max_degree:6,} {plain['max_degree_without']:6,} {took:8.1f}  {verdict}",
            flush=True,
        )
