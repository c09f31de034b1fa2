"""Cells of paper 3: the time of a method over that of the naive method, without an index."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from meshwright.overlay import design
from papers.naive_greedy import edges as naive_edges
from papers.workloads import draw_instance, instance_of

REPEATS = 3  # of the fast method, whose milliseconds are easily disturbed; the shortest counts


def share(given: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Return the processor time of a method here and, if `naive`, without an index."""
    method = given["method"]
    # Load the kernels beforehand; dense and sparse interests use different parts of the engine.
    for nodes, topics, size in ((60, 30, 10), (60, 600, 3)):
        small = draw_instance("unif", nodes, topics, size, size, None, "successive", 1)
        design(small, method, certify=False)
        naive_edges(small, method)
    instance = instance_of(given["workload"], place)
    seconds, cpu, found = min(
        (_timed(lambda: design(instance, method, certify=False)) for _ in range(REPEATS)),
        key=lambda timed: timed[1],
    )
    row = {"seconds": seconds, "cpu": cpu, "edges": found.n_edges}
    if given["naive"]:
        naive_seconds, naive_cpu, edges = _timed(lambda: naive_edges(instance, method))
        if edges[0].tolist() != found.edges.tolist():
            raise AssertionError(f"{method} and its naive twin chose different edges")
        row |= {"naive_seconds": naive_seconds, "naive_cpu": naive_cpu, "share": cpu / naive_cpu}
    return row


def _timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the seconds by the clock and of the processors, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return time.perf_counter() - wall, time.process_time() - cpu, found
