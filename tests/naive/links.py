"""SpiderCast, random links and what people do today, by their definitions."""

from itertools import combinations

from tests.naive.random_numbers import stream, uniform

Interest = dict[int, set[int]]
Edge = tuple[int, int]


def spidercast(
    interest: Interest,
    max_degree: int | None = None,
    max_edges: int | None = None,
    k_greedy: int = 3,
    k_random: int = 1,
    seed: int = 1,
) -> list[Edge]:
    neighbours: dict[int, set[int]] = {v: set() for v in interest}
    draws = dict.fromkeys(interest, 0)
    edges: list[Edge] = []

    def full(v: int) -> bool:
        return max_degree is not None and len(neighbours[v]) >= max_degree

    def thin(u: int, below: int) -> set[int]:
        return {t for t in interest[u] if sum(t in interest[w] for w in neighbours[u]) < below}

    def candidates(u: int, below: int) -> dict[int, int]:
        wanted = thin(u, below)
        found = {
            w: len(wanted & interest[w])
            for w in sorted(interest)
            if w != u and w not in neighbours[u] and not full(w)
        }
        return {w: n for w, n in found.items() if n > 0}

    added = True
    while added:
        added = False
        for u in sorted(interest):
            if full(u):
                continue
            greedy = candidates(u, k_greedy)
            chosen = None
            if greedy:
                most = max(greedy.values())
                chosen = min(w for w, n in greedy.items() if n == most)
            else:
                fit = sorted(candidates(u, k_greedy + k_random))
                if fit:
                    if max_edges is not None and len(edges) == max_edges:
                        return edges
                    chosen = fit[int(uniform(stream(seed, u), draws[u]) * len(fit))]
                    draws[u] += 1
            if chosen is None:
                continue
            if max_edges is not None and len(edges) == max_edges:
                return edges
            neighbours[u].add(chosen)
            neighbours[chosen].add(u)
            edges.append((min(u, chosen), max(u, chosen)))
            added = True
    return edges


def random_links(
    n: int, max_edges: int | None = None, max_degree: int | None = None, seed: int = 1
) -> list[Edge]:
    """Pairs of nodes that are not full; after 64 draws in vain, one of the listed pairs."""
    key, draw = stream(seed, 0), 0
    edges: list[Edge] = []
    limit = n - 1 if max_degree is None else min(max_degree, n - 1)
    waiting = list(range(n)) if limit > 0 else []
    degree = dict.fromkeys(range(n), 0)
    while (max_edges is None or len(edges) < max_edges) and len(waiting) > 1:
        pair = None
        for _ in range(64):
            a = waiting[int(uniform(key, draw) * len(waiting))]
            b = waiting[int(uniform(key, draw + 1) * len(waiting))]
            draw += 2
            if a != b and (min(a, b), max(a, b)) not in edges:
                pair = (min(a, b), max(a, b))
                break
        if pair is None:
            fit = [p for p in combinations(sorted(waiting), 2) if p not in edges]
            if not fit:
                break
            pair = fit[int(uniform(key, draw) * len(fit))]
            draw += 1
        edges.append(pair)
        for v in pair:
            degree[v] += 1
            if degree[v] == limit:
                # The last of the list takes the place of the one that is full.
                at = waiting.index(v)
                last = waiting.pop()
                if last != v:
                    waiting[at] = last
    return edges


def ring_per_topic(interest: Interest) -> list[Edge]:
    edges: list[Edge] = []
    for t in sorted({t for topics in interest.values() for t in topics}):
        members = sorted(v for v, topics in interest.items() if t in topics)
        for a, b in zip(members, members[1:] + members[:1], strict=True):
            edge = (min(a, b), max(a, b))
            if a != b and edge not in edges:
                edges.append(edge)
    return edges


def star(interest: Interest, relay: bool = True) -> list[Edge]:
    if not interest:
        return []
    hub = min(interest, key=lambda v: (-len(interest[v]), v))
    others = [v for v in sorted(interest) if v != hub and (relay or interest[v] & interest[hub])]
    return [(min(hub, v), max(hub, v)) for v in others]


def full_mesh(interest: Interest) -> list[Edge]:
    return list(combinations(sorted(interest), 2))
