"""The true optimum of small problems, by looking at every set of edges."""

from itertools import combinations

from tests.naive.overlays import Edge, Interest, degrees, pairs, tcc


def useful_pairs(interest: Interest) -> list[Edge]:
    return [(u, v) for u, v in pairs(interest) if interest[u] & interest[v]]


def best_by_edges(interest: Interest) -> dict[int, int]:
    """The largest mu that m edges can have, for each m."""
    start = tcc(interest, [])
    useful = useful_pairs(interest)
    return {
        m: max(start - tcc(interest, list(edges)) for edges in combinations(useful, m))
        for m in range(len(useful) + 1)
    }


def best_by_degree(interest: Interest) -> dict[int, int]:
    """The largest mu that a maximum degree d allows, for each d."""
    start = tcc(interest, [])
    best: dict[int, int] = {}
    useful = useful_pairs(interest)
    for m in range(len(useful) + 1):
        for edges in combinations(useful, m):
            d = max(degrees(interest, list(edges)).values(), default=0)
            best[d] = max(best.get(d, 0), start - tcc(interest, list(edges)))
    top = 0
    for d in range(len(interest)):
        top = max(top, best.get(d, 0))
        best[d] = top
    return best
