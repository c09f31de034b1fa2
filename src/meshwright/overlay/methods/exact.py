"""`exact`: an overlay with the fewest links, proved, for small instances.

Ours: the integer program of `meshwright.overlay.bounds.program`, solved by HiGHS. Partitions that
violate the linear program are added first; then links are whole, and topics that a solution leaves
apart are added as partitions until a solution connects every topic. That solution is optimal, as it
is optimal among all that satisfy fewer conditions. When the time is up, the plan of `refined` is
returned with what has been proved so far.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from meshwright.errors import InfeasibleError, InputError
from meshwright.model.instance import Instance
from meshwright.model.overlay import count_joins, gains_of
from meshwright.overlay.bounds.program import CutProgram, InfeasibleProgramError, pairs_in_topics
from meshwright.overlay.greedy.rule import Restrictions
from meshwright.overlay.methods.refined import refined, with_cap
from meshwright.runtime.arrays import Floats, Ints
from meshwright.runtime.progress import OnProgress

MOST_NODES = 100
DEFAULT_SECONDS = 60.0


def exact(
    instance: Instance,
    *,
    max_degree: int | None = None,
    seconds: float = DEFAULT_SECONDS,
    on_progress: OnProgress = None,
    restrictions: Restrictions | None = None,
) -> tuple[Ints, Ints, dict[str, Any]]:
    """Return the edges of `exact`, their gains, and what was proved: `optimal`, `proved_links`.

    Raise InfeasibleError if it is proved that no overlay connects every topic within the limits.

    Examples
    --------
    >>> wants = {"a": "xy", "b": "yz", "c": "xz", "d": "xyz"}
    >>> instance = Instance.from_pairs((node, t) for node, topics in wants.items() for t in topics)
    >>> edges, _, facts = exact(instance)
    >>> edges.tolist(), facts
    ([[0, 3], [1, 3], [2, 3]], {'optimal': True, 'proved_links': 3})
    """
    if instance.n_nodes > MOST_NODES:
        raise InputError(
            f"exact takes {MOST_NODES} nodes at most; this workload has {instance.n_nodes:,}. Use "
            "refined, which says how far from the optimum it can be."
        )
    restrictions = with_cap(instance, restrictions or Restrictions(), max_degree)
    if restrictions.carries is not None:
        raise InputError("exact does not know leaves of topics; use refined.")
    until = time.monotonic() + seconds
    program = CutProgram(
        instance, max_degree=restrictions.max_links, allowed=_allowed(instance, restrictions)
    )
    try:
        least = _add_cuts(program, until - seconds / 2, on_progress)
        program.make_whole()
        edges, proved = _solve(program, instance, until, on_progress)
    except InfeasibleProgramError as error:
        within = f" with at most {max_degree} links per node" if max_degree is not None else ""
        raise InfeasibleError(
            f"it is proved that no overlay connects every topic{within}."
        ) from error
    proved = max(least, proved)
    if edges is None:
        found, gains, _ = refined(
            instance, max_degree=max_degree, rounds=2_000, restrictions=restrictions
        )
        is_complete = int(gains.sum()) == count_joins(instance)
        is_optimal = is_complete and len(found) <= proved
        return found, gains, {"optimal": is_optimal, "proved_links": proved}
    return edges, gains_of(instance, edges), {"optimal": True, "proved_links": len(edges)}


def _add_cuts(program: CutProgram, until: float, on_progress: OnProgress) -> int:
    """Add violated partitions to the linear program; return the fewest links by it."""
    least, rounds = 0, 0
    while (left := until - time.monotonic()) > 0:
        solution, is_optimal = program.solve(left)
        if not is_optimal:
            break
        least = max(least, int(np.ceil(solution.sum() - 1e-6)))
        rounds += 1
        if on_progress is not None:
            on_progress(0.0, f"at least {least:,} links, round {rounds} of cuts")
        if program.add_violated(solution) == 0:
            break
    return least


def _solve(
    program: CutProgram, instance: Instance, until: float, on_progress: OnProgress
) -> tuple[Ints | None, int]:
    """Return the optimum if it was found in time, and the links proved to be needed."""
    proved = 0
    while (left := until - time.monotonic()) > 0:
        solution, is_optimal = program.solve(left)
        proved = max(proved, int(np.ceil(program.lower_bound() - 1e-6)))
        if not is_optimal:
            break
        if on_progress is not None:
            on_progress(0.5, f"at least {proved:,} links")
        if program.add_violated(np.round(solution)) == 0:
            return _edges(program, instance, solution), proved
    return None, proved


def _edges(program: CutProgram, instance: Instance, solution: Floats) -> Ints:
    """Return the chosen pairs, those of most common topics first."""
    chosen = program.pairs[np.round(solution) == 1]
    rows = [set(instance.topics_of(v).tolist()) for v in range(instance.n_nodes)]
    chosen = sorted(chosen.tolist(), key=lambda e: (-len(rows[e[0]] & rows[e[1]]), e))
    return np.array(chosen, np.int32).reshape(-1, 2)


def _allowed(instance: Instance, restrictions: Restrictions) -> Ints | None:
    """Return the pairs that may be linked; None: all that share a topic."""
    if restrictions.pairs is None:
        return None
    listed = {(min(u, v), max(u, v)) for u, v in restrictions.pairs.tolist()}
    subscribers: dict[int, list[int]] = {}
    for node, topic in zip(instance.nodes.tolist(), instance.topics.tolist(), strict=True):
        subscribers.setdefault(topic, []).append(node)
    pairs = pairs_in_topics([np.array(m, np.int32) for m in subscribers.values() if len(m) > 1])
    kept = [pair for pair in pairs.tolist() if (tuple(pair) in listed) == restrictions.only_listed]
    return np.array(kept, np.int32).reshape(-1, 2)
