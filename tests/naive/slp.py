"""SLP of paper 5 (ICDE 2011), section IV, to the letter: plain Python and SciPy's `linprog`.

A problem here is plain data: `boxes` a list of (low, high) pairs of tuples, `in_time` a list of
sets of brokers, `kappa` the capacity fractions. A filter is a list of boxes.
"""

import itertools
import math

import networkx as nx
import numpy as np
from scipy.optimize import linprog

EPSILON = 0.1
SMALLEST = 1 / 4096


def holds(outer, inner):
    return all(a <= b for a, b in zip(outer[0], inner[0], strict=True)) and all(
        a >= b for a, b in zip(outer[1], inner[1], strict=True)
    )


def around(boxes):
    lows, highs = zip(*boxes, strict=True)
    return tuple(map(min, zip(*lows, strict=True))), tuple(map(max, zip(*highs, strict=True)))


def volume(box):
    return math.prod(b - a for a, b in zip(*box, strict=True))


def expanded(box, share):
    more = [(b - a) * share / 2 for a, b in zip(*box, strict=True)]
    low = tuple(a - m for a, m in zip(box[0], more, strict=True))
    return low, tuple(b + m for b, m in zip(box[1], more, strict=True))


def intervals(spans):
    """Section IV-A.3; the whole axis is added, so that intervals of over half of it are held."""
    start, end = min(a for a, _ in spans), max(b for _, b in spans)
    whole = end - start
    found = {(start, end)}
    smallest = max(min(b - a for a, b in spans), whole * SMALLEST)
    j = 1
    while smallest > 0 and 2**j * smallest <= whole:
        length = 2**j * smallest
        short = [(a, b) for a, b in spans if b - a <= length / 2]
        left = sorted(a for a, _ in short)
        while left:
            p = left[0]
            left = [a for a in left if a > p + length / 2]
            inside = [(a, b) for a, b in short if a >= p and b <= p + length]
            found.add((min(a for a, _ in inside), max(b for _, b in inside)))
        j += 1
    return found


def filter_gen(boxes):
    """All products of intervals, shrunk to what they hold; every box is a super-subscription."""
    n_axes = len(boxes[0][0])
    axes = [intervals([(low[k], high[k]) for low, high in boxes]) for k in range(n_axes)]
    found = set()
    for product in itertools.product(*axes):
        rectangle = tuple(a for a, _ in product), tuple(b for _, b in product)
        held = [box for box in boxes if holds(rectangle, box)]
        if held:
            found.add(around(held))
    return sorted(found)


def lp_relax(rectangles, boxes, in_time, load, room, alpha, penalty=None):
    """The program with an x for each of `boxes`; (C3) counts those in `load`.

    With a penalty, a broker may be over its room at that price per subscriber. Returns the volume,
    the subscribers over, and y by broker and rectangle; None when there is no solution.
    """
    n, u, m = len(room), len(rectangles), len(boxes)
    x = {
        (i, j): n * u + number
        for number, (i, j) in enumerate((i, j) for j in range(m) for i in sorted(in_time[j]))
    }
    n_columns = n * u + len(x) + n
    cost = np.zeros(n_columns)
    for i, k in itertools.product(range(n), range(u)):
        cost[i * u + k] = volume(rectangles[k])
    cost[n_columns - n :] = penalty or 0.0
    rows, limits = [], []

    def row(entries, limit):
        rows.append(np.zeros(n_columns))
        for column, value in entries:
            rows[-1][column] += value
        limits.append(limit)

    for i in range(n):
        row([(i * u + k, 1) for k in range(u)], alpha)  # C1
        over = [(n_columns - n + i, -1)]
        row([(x[i, j], 1) for j in load if (i, j) in x] + over, room[i])  # C3
    for j in range(m):
        row([(x[i, j], -1) for i in in_time[j]], -1)  # C2
        for i in in_time[j]:  # C4
            mine = [(i * u + k, -1) for k in range(u) if holds(rectangles[k], boxes[j])]
            row([(x[i, j], 1), *mine], 0)
    most_over = None if penalty else 0
    bounds = [(0, 1)] * (n_columns - n) + [(0, most_over)] * n
    found = linprog(cost, A_ub=np.array(rows), b_ub=limits, bounds=bounds, method="highs")
    if not found.success:
        return None
    y = found.x[: n * u].reshape(n, u)
    return float(cost[: n * u] @ found.x[: n * u]), float(found.x[n_columns - n :].sum()), y


def covers(filters, box, brokers):
    return any(any(holds(r, box) for r in filters[i]) for i in brokers)


def filter_assign(boxes, in_time, kappa, alpha, beta, random):
    """Algorithm 1; the super-subscriptions are the subscriptions themselves. None for failure."""
    m, n = len(boxes), len(kappa)

    def helper(sample):
        for _ in range(int(math.log(m)) + 1):
            load = set(random.choice(m, min(10 * n, m), replace=False).tolist())
            both = sorted(load | set(sample))
            rectangles = filter_gen([boxes[j] for j in both])
            room = [beta * share * len(load) for share in kappa]
            found = lp_relax(
                rectangles,
                [boxes[j] for j in both],
                [in_time[j] for j in both],
                [both.index(j) for j in load],
                room,
                alpha,
            )
            if found is None:
                continue
            y = np.clip(found[2], 0, 1)
            while True:
                chosen = random.random(y.shape) < 1 - (1 - y) ** (2 * math.log(max(len(both), 2)))
                filters = [[rectangles[k] for k in np.flatnonzero(row)] for row in chosen]
                if all(covers(filters, boxes[j], in_time[j]) for j in both):
                    return filters
        return None

    g = 4
    while g <= max(m, 4):
        weight = np.ones(m)
        for _ in range(max(1, int(4 * g * math.log(max(m / g, 2))))):
            while True:
                size = min(int(10 * g * math.log(g)), m)
                sample = random.choice(m, size, replace=False, p=weight / weight.sum()).tolist()
                filters = helper(sample)
                if filters is None:
                    return None
                wide = [[expanded(r, EPSILON) for r in boxes_] for boxes_ in filters]
                if all(covers(wide, boxes[j], in_time[j]) for j in range(m)):
                    return wide
                left = [j for j in range(m) if not covers(filters, boxes[j], in_time[j])]
                if weight[left].sum() <= EPSILON * weight.sum():
                    break
            weight[left] *= 2
        g *= 2
    return None


def assign(filters, boxes, in_time, kappa, beta, beta_max):
    """Section IV-B: maximum flow, a node per subscriber. None when beta_max does not suffice."""
    m = len(boxes)
    while True:
        graph = nx.DiGraph()
        for i, share in enumerate(kappa):
            graph.add_edge("s", ("broker", i), capacity=math.floor(beta * share * m * (1 + 1e-12)))
        for j in range(m):
            graph.add_edge(("subscriber", j), "t", capacity=1)
            for i in in_time[j]:
                if covers(filters, boxes[j], [i]):
                    graph.add_edge(("broker", i), ("subscriber", j), capacity=1)
        value, flow = nx.maximum_flow(graph, "s", "t")
        if value == m:
            at = {}
            for i in range(len(kappa)):
                for (_, j), amount in flow[("broker", i)].items():
                    if amount:
                        at[j] = i
            return [at[j] for j in range(m)]
        if beta >= beta_max:
            return None
        beta = min(beta * 1.02, beta_max)
