"""Bounds by prices, in plain Python: shares of pairs, Prim's trees, and the ascent.

A share is a whole number of 1 / UNIT. `shares` maps (topic, u, v) with u < v to one.
"""

UNIT = 1 << 20
FIRST_STEP, STALLED, SHORTER, PROGRESS, LAST_STEP = 0.5, 10, 0.7, 1e-4, 1e-3
TOWARDS_NODES, REMEMBERED, PRICE_SUM = 0.3, 0.8, 1 << 26


def members_of(interest):
    topics = sorted({t for wanted in interest.values() for t in wanted})
    return {t: [v for v in sorted(interest) if t in interest[v]] for t in topics}


def equal_shares(interest):
    shares = {}
    for t, members in members_of(interest).items():
        for v in members:
            for u in members:
                if u < v:
                    shares[t, u, v] = UNIT // len(interest[u] & interest[v])
    return shares


def tree(members, weight):
    """Return the edges of a minimum spanning tree, grown from the first member.

    Of equal weights the smallest node comes first, joined to the node that was joined earliest.
    """
    joined, left, edges = members[:1], members[1:], []
    while left:
        _, v, place = min((weight(u, v), v, joined.index(u)) for v in left for u in joined)
        edges.append((min(joined[place], v), max(joined[place], v)))
        joined.append(v)
        left.remove(v)
    return edges


def trees(interest, shares, price):
    """Return all tree edges as (topic, u, v, weight)."""

    def weight(t, u, v):
        return shares[t, min(u, v), max(u, v)] * (price[u] + price[v])

    return [
        (t, u, v, weight(t, u, v))
        for t, members in members_of(interest).items()
        for u, v in tree(members, lambda a, b, t=t: weight(t, a, b))
    ]


def most_joins(edges, budget):
    count, spent = 0, 0
    for weight in sorted(w for *_, w in edges):
        spent += weight
        if spent > budget:
            break
        count += 1
    return count


def raise_shares(interest, shares, edges, step):
    """Raise the shares of tree edges; what a pair's topics gain, they lose in equal parts."""
    length = 0.0
    for u, v in sorted({(u, v) for _, u, v, _ in edges}):
        topics = sorted(interest[u] & interest[v])
        raised = [t for t, a, b, _ in edges if (a, b) == (u, v)]
        if len(raised) == len(topics):
            continue
        for t in raised:
            shares[t, u, v] += step
        excess = step * len(raised)
        while excess > 0:
            positive = sum(shares[t, u, v] > 0 for t in topics)
            each = -(-excess // positive)
            for t in topics:
                amount = min(shares[t, u, v], each, excess)
                shares[t, u, v] -= amount
                excess -= amount
        length += len(raised) * (1.0 - len(raised) / len(topics))
    return length


class Best:
    def __init__(self):
        self.value, self.step, self.stalled = 0.0, FIRST_STEP, 0

    def take(self, value):
        self.stalled = 0 if value > self.value * (1 + PROGRESS) else self.stalled + 1
        self.value = max(self.value, value)
        if self.stalled >= STALLED:
            self.step, self.stalled = self.step * SHORTER, 0


def bound_links(interest, n_links, rounds, target=None):
    """Return (fewest links of a complete overlay, most joins of `n_links`, rounds made)."""
    shares, price = equal_shares(interest), dict.fromkeys(interest, 1)
    best, least, joins, length, done = Best(), 0, None, 0.0, 0
    while True:
        edges = trees(interest, shares, price)
        total = sum(w for *_, w in edges)
        best.take(total / (2 * UNIT))
        least = max(least, -(-total // (2 * UNIT)))
        found = most_joins(edges, n_links * 2 * UNIT)
        joins = found if joins is None else min(joins, found)
        ahead = (2 * best.value if target is None else target) - total / (2 * UNIT)
        proved = (target is not None and least >= target) or ahead <= 0 or total == 0
        if proved or best.step < LAST_STEP or done >= rounds:
            return least, joins, done
        length = length or len(edges) / 2
        step = max(1, int(best.step * ahead / length * UNIT))
        length = raise_shares(interest, shares, edges, step)
        done += 1


def bound_degree(interest, max_degree, rounds, target=None):
    """Return (lowest maximum degree of a complete overlay, most joins within one, rounds made)."""
    shares, nodes = equal_shares(interest), sorted(interest)
    weight = {v: 1.0 / max(len(nodes), 1) for v in nodes}
    use = dict.fromkeys(nodes, 0.0)
    best, least, joins, length, done = Best(), 0, None, 0.0, 0
    while True:
        price = {v: int(weight[v] * PRICE_SUM) for v in nodes}
        whole = sum(price.values()) * UNIT
        edges = trees(interest, shares, price)
        total = sum(w for *_, w in edges)
        best.take(total / max(whole, 1))
        least = max(least, -(-total // max(whole, 1)))
        found = most_joins(edges, max_degree * whole)
        joins = found if joins is None else min(joins, found)
        used = dict.fromkeys(nodes, 0)
        for t, u, v, _ in edges:
            used[u] += shares[t, u, v]
            used[v] += shares[t, u, v]
        used = {v: amount / UNIT for v, amount in used.items()}
        proved = target is not None and least >= target
        if proved or not any(used.values()) or best.step < LAST_STEP or done >= rounds:
            return least, joins, done
        if done == 0:
            use = used
        else:
            use = {v: REMEMBERED * use[v] + (1 - REMEMBERED) * used[v] for v in nodes}
        rate = TOWARDS_NODES * best.step / FIRST_STEP
        most = max(use.values())
        weight = {v: weight[v] * (1 + rate * (use[v] / most - 0.5)) for v in nodes}
        whole_weight = 0.0
        for v in nodes:
            whole_weight += weight[v]
        weight = {v: weight[v] / whole_weight for v in nodes}
        all_used = 0.0
        for v in nodes:
            all_used += used[v]
        length = length or len(edges) / 2
        length = raise_shares(
            interest, shares, edges, int(best.step * all_used / 4 / length * UNIT) + 1
        )
        done += 1
