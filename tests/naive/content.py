"""The workload sets of docs/content.md, one subscriber at a time, and trees from places."""

from itertools import accumulate
from math import ceil, dist, sqrt

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
    return [REGIONS[region][k] + bell(u[4 * k : 4 * k + 4], 8) for k in range(5)]


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
    side = 1000 / cells
    wide = [side * (0.4 + 0.6 * sides[k]) for k in range(2)]
    low = [at[k] * side + (side - wide[k]) * sides[2 + k] for k in range(2)]
    return in_region(region, place), low, [low[k] + wide[k] for k in range(2)]


def cube_location(seed: int, i: int) -> list[float]:
    return [100 * u for u in numbers(seed, TABLES, 5000)[5 * i : 5 * i + 5]]


def set_2(seed: int, subscriber: int):
    to_interest, to_place = numbers(seed, subscriber, 2)
    interest = zipf_rank(to_interest, 50, 0.5)
    place = order(seed, 2 + interest, 1000)[int(10 * to_place)]
    corner = numbers(seed, TABLES + 1, 100)[2 * interest : 2 * interest + 2]
    low = [99 * u for u in corner]
    return cube_location(seed, place), low, [x + 1 for x in low]


def set_3(seed: int, subscriber: int):
    to_cell, *to_widths, to_place = numbers(seed, subscriber, 4)
    cell = order(seed, 1, 100)[zipf_rank(to_cell, 100, 0.5)]
    centre = [10 * (cell // 10) + 5, 10 * (cell % 10) + 5]
    wide = [[5, 10, 20, 40][zipf_rank(u, 4, 0.5)] for u in to_widths]
    low = [centre[k] - wide[k] / 2 for k in range(2)]
    return cube_location(seed, int(1000 * to_place)), low, [low[k] + wide[k] for k in range(2)]


def parents(places: list[list[float]], most_children: int) -> dict[int, int]:
    """The parent of each broker, -1 for those below the publisher."""
    found: dict[int, int] = {}

    def below(above: int, ids: list[int]) -> None:
        if len(ids) <= most_children:
            found.update(dict.fromkeys(ids, above))
            return
        held, power = 1, 1
        while most_children * held < len(ids):
            power *= most_children
            held += power
        for part in parts(ids, held, most_children):
            mean = [sum(places[i][k] for i in part) / len(part) for k in range(len(places[0]))]
            head = min(part, key=lambda i: (dist(places[i], mean), i))
            found[head] = above
            below(head, [i for i in part if i != head])

    def parts(ids: list[int], held: int, room: int) -> list[list[int]]:
        n = len(ids)
        if n <= held:
            return [ids]
        axes = range(len(places[0]))
        extent = [max(places[i][k] for i in ids) - min(places[i][k] for i in ids) for k in axes]
        k = extent.index(max(extent))
        row = sorted(ids, key=lambda i: (places[i][k], i))
        margin = ceil(n / 8)
        cuts = [
            m
            for m in range(margin, n - margin + 1)
            if ceil(m / held) + ceil((n - m) / held) <= room
        ]
        m = min(
            cuts, key=lambda m: (-(places[row[m]][k] - places[row[m - 1]][k]), abs(2 * m - n), m)
        )
        spare = room - ceil(m / held) - ceil((n - m) / held)
        left = ceil(m / held) + spare * m // n
        return parts(sorted(row[:m]), held, left) + parts(sorted(row[m:]), held, room - left)

    below(-1, list(range(len(places))))
    return found


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
