"""The workload sets of docs/content.md, one subscriber at a time, and trees from places."""

from itertools import accumulate
from math import dist, sqrt

from tests.naive.random_numbers import stream, uniform

TABLES = 2**33
BROKERS = 2**32
REGIONS = [(-50.0, 140.0, 0.0, 0.0, 0.0), (0.0,) * 5, (90.0, 0.0, 0.0, 0.0, 0.0)]


def numbers(seed: int, number: int, n: int) -> list[float]:
    key = stream(seed, number)
    return [uniform(key, i) for i in range(n)]


def zipf_rank(u: float, n: int, exponent: float) -> int:
    """The rank from 0 that a uniform number stands for."""
    shares = [rank**-exponent for rank in range(1, n + 1)]
    reached = accumulate(share / sum(shares) for share in shares)
    return next((rank for rank, upto in enumerate(reached) if u < upto), n - 1)


def order(seed: int, table: int, n: int) -> list[int]:
    drawn = numbers(seed, TABLES + table, n)
    return sorted(range(n), key=lambda i: (drawn[i], i))


def bell(u: list[float], spread: float) -> float:
    return (sum(u) - 2) * sqrt(3) * spread


def in_region(region: int, u: list[float]) -> list[float]:
    return [REGIONS[region][k] + bell(u[4 * k : 4 * k + 4], 5) for k in range(5)]


def set_1(seed: int, subscriber: int, skew: str, broad: str):
    u = numbers(seed, subscriber, 28)
    place, (to_region, to_ranking, to_rank, to_breadth, *sides) = u[:20], u[20:]
    region = 0 if to_region < 4 / 9 else 1 if to_region < 5 / 9 else 2
    ranking = order(seed, 0 if to_ranking < 0.5 else 1 + region, 1296)
    group = ranking[zipf_rank(to_rank, 1296, {"low": 0.5, "high": 1.0}[skew])]
    of_group, of_subcategory = {"low": (0.95, 0.04), "high": (0.75, 0.20)}[broad]
    cells = 36
    if to_breadth >= of_group:
        cells = 12 if to_breadth < of_group + of_subcategory else 4
    at = [group // 36 // (36 // cells), group % 36 // (36 // cells)]
    side = 30_000 / cells
    wide = [side * (0.4 + 0.6 * sides[k]) for k in range(2)]
    low = [at[k] * side + (side - wide[k]) * sides[2 + k] for k in range(2)]
    return in_region(region, place), low, [low[k] + wide[k] for k in range(2)]


def cube_location(seed: int, n_brokers: int, i: int) -> list[float]:
    return [100 * u for u in numbers(seed, TABLES, 5 * n_brokers)[5 * i : 5 * i + 5]]


def set_2(seed: int, n_brokers: int, subscriber: int):
    to_interest, to_place = numbers(seed, subscriber, 2)
    interest = zipf_rank(to_interest, 50, 0.5)
    places = order(seed, 2 + interest, n_brokers)[:10]
    place = places[int(len(places) * to_place)]
    corner = numbers(seed, TABLES + 1, 100)[2 * interest : 2 * interest + 2]
    low = [1999 * u for u in corner]
    return cube_location(seed, n_brokers, place), low, [x + 1 for x in low]


def set_3(seed: int, n_brokers: int, subscriber: int):
    to_cell, *to_widths, to_place = numbers(seed, subscriber, 4)
    cell = order(seed, 1, 100)[zipf_rank(to_cell, 100, 0.5)]
    centre = [2400 * (cell // 10) + 1200, 2400 * (cell % 10) + 1200]
    wide = [[1200, 2400, 4800, 9600][zipf_rank(u, 4, 0.5)] for u in to_widths]
    low = [centre[k] - wide[k] / 2 for k in range(2)]
    high = [low[k] + wide[k] for k in range(2)]
    return cube_location(seed, n_brokers, int(n_brokers * to_place)), low, high


def parents(places: list[list[float]], publisher: list[float], most_children: int) -> list[int]:
    """The parent of each broker, -1 for those below the publisher."""
    at = {-1: publisher}  # who has joined, in that order
    parent: dict[int, int] = {}
    for i in sorted(range(len(places)), key=lambda i: (square(places[i], publisher), i)):
        open_ = [j for j in at if list(parent.values()).count(j) < most_children]
        parent[i] = min(open_, key=lambda j: square(places[i], at[j]))
        at[i] = places[i]
    return [parent[i] for i in range(len(places))]


def square(a: list[float], b: list[float]) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def leaves_in_time(
    parent: list[int],
    place: list[list[float]],
    at: list[float],
    max_delay: float,
    last_hop: bool = False,
) -> list[int]:
    """The leaves whose path to a subscriber is at most 1 + max_delay times the shortest."""
    leaves = [i for i in range(len(parent)) if i not in parent and parent[i] >= 0]

    def down(broker: int) -> float:
        if parent[broker] < 0:
            return 0.0
        return down(parent[broker]) + dist(place[broker], place[parent[broker]])

    latency = {i: (0 if last_hop else down(i)) + dist(place[i], at) for i in leaves}
    limit = (1 + max_delay) * min(latency.values()) * (1 + 1e-9)
    return [i for i in leaves if latency[i] <= limit]
