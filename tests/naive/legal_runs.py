"""Is a list of edges a run of the greedy method? Asked of every edge against every pair."""

from tests.naive.overlays import (
    Edge,
    Interest,
    best_edge,
    degrees,
    gain,
    least_degree_edge,
    least_degree_edge_or_idle,
)


def first_wrong(
    interest: Interest, edges: list[Edge], *, phases: bool, idle: bool = False
) -> int | None:
    """Return the first edge that was not a best one of its time, ties aside; None if all were."""
    for i, (u, v) in enumerate(edges):
        before = edges[:i]
        g = gain(interest, before, u, v)
        if not phases:
            best = best_edge(interest, before)
            fits = best is not None and -best[0] == g
        else:
            find = least_degree_edge_or_idle if idle else least_degree_edge
            best = find(interest, before)
            degree = degrees(interest, before)
            after = max(*degree.values(), 1 + max(degree[u], degree[v]))
            fits = best is not None and best[:2] == (after, -g)
        if not fits:
            return i
    return None


def is_over(
    interest: Interest,
    edges: list[Edge],
    *,
    max_edges: int | None = None,
    max_degree: int | None = None,
) -> bool:
    """Return whether a run may stop here: nothing to gain, or the budget does not allow it."""
    if max_edges is not None and len(edges) >= max_edges:
        return len(edges) == max_edges
    best = least_degree_edge(interest, edges)
    if best is None:
        return True
    return max_degree is not None and best[0] > max_degree
