"""Cells of paper 3: the time of a method, of the naive ones, and of the paper's index."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from meshwright.model.instance import Instance
from meshwright.overlay import design
from meshwright.runtime.arrays import Ints
from papers import edge_contrib, literal_greedy
from papers.naive_greedy import edges as naive_edges
from papers.workloads import draw_instance, instance_of

REPEATS = 3  # of the fast method, whose milliseconds are easily disturbed; the shortest counts
SHORT = 1.0  # seconds: a program that takes less is repeated


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


def program(given: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """Return the processor time of one of the programs for a method."""
    method, run = given["method"], PROGRAMS[given["program"]]
    instance = instance_of(given["workload"], place)
    run(draw_instance("unif", 10, 30, 5, 5, None, "successive", 1), method)  # compiled
    edges = design(instance, method, certify=False).edges
    found = [_timed(lambda: run(instance, method))]
    if found[0][1] < SHORT:
        found += [_timed(lambda: run(instance, method)) for _ in range(REPEATS - 1)]
    if any(mine.tolist() != edges.tolist() for _, _, mine in found):
        raise AssertionError(f"{given['program']} and {method} chose different edges")
    seconds, cpu, _ = min(found, key=lambda timed: timed[1])
    return {"seconds": seconds, "cpu": cpu, "edges": len(edges)}


PROGRAMS: dict[str, Callable[[Instance, str], Ints]] = {
    "literal": lambda instance, method: literal_greedy.edges(instance, method)[0],
    "naive": lambda instance, method: naive_edges(instance, method)[0],
    "edge-contrib": lambda instance, method: edge_contrib.edges(instance, method)[0],
    "ours": lambda instance, method: design(instance, method, certify=False).edges,
}


def _timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the seconds by the clock and of the processors, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return time.perf_counter() - wall, time.process_time() - cpu, found
