"""Mend an overlay after changes, the obvious way: names, sets, and every pair looked at.

A workload is a dict from the name of a node to the topics it wants. Links are pairs of names, the
smaller first, in the order they were added.
"""

from math import inf

from tests.naive.limited import Rules, best_edge, gain, lacking
from tests.naive.overlays import components, degrees
from tests.naive.survival import remaining, split_topics

Link = tuple[str, str]
Wants = dict[str, set[str]]


def happen(wants: Wants, change: tuple) -> Wants:
    """Apply one change: ("join", node, topics), ("leave", node), ("subscribe", node, topic), ..."""
    kind, node, *rest = change
    after = {v: set(topics) for v, topics in wants.items()}
    if kind == "join":
        after[node] = set(rest[0])
    elif kind in ("leave", "crash"):
        del after[node]
    elif kind == "subscribe":
        after[node].add(rest[0])
    elif kind == "unsubscribe":
        after[node].remove(rest[0])
    return after


def all_topics(wants: Wants) -> set[str]:
    return set().union(*wants.values()) if wants else set()


def changed_topics(before: Wants, after: Wants) -> set[str]:
    """Return the topics with other members than before."""

    def members(wants: Wants, topic: str) -> set[str]:
        return {v for v, topics in wants.items() if topic in topics}

    both = all_topics(before) | all_topics(after)
    return {t for t in both if members(before, t) != members(after, t)}


def mend(
    before: Wants,
    links: list[Link],
    after: Wants,
    rules: Rules,
    ties: str = "degree",
    survive: int = 0,
):
    """Return the old links that stay and the new ones, in order: join, then drop near changes."""
    kept = [link for link in links if set(link) <= set(after)]
    near = {v for v in after if after[v] != before.get(v, set())}
    near |= {v for link in links if not set(link) <= set(after) for v in link if v in after}
    topics = changed_topics(before, after)
    within = {v: wanted & topics for v, wanted in after.items()}
    if survive:
        within, after = remaining(within, survive), remaining(after, survive)
    made = list(kept)
    while (best := best_edge(within, rules, made, ties)) is not None:
        made.append(best[-2:])
    for link in made[len(kept) :]:
        near |= set(link)
    for link in made[::-1]:
        if near & set(link):
            without = [other for other in made if other != link]
            if missing(after, rules, without) == missing(after, rules, made):
                made = without
    return [link for link in made if link in kept], [link for link in made if link not in kept]


def relink(wants: Wants, rules: Rules, links: list[Link], node):
    """Return other links of a node, no more than it has, or None: the best links come first."""
    made = [link for link in links if node not in link]
    left = len(links) - len(made) + 1
    if not rules.leaves and not covers(wants, rules, links, node):
        return None
    order = in_order(wants, rules, made, node)
    while missing(wants, rules, made) > 0:
        best, left = best_partner(wants, rules, made, node, order), left - 1
        if best is None or left == 0:
            return None
        made.append(best)
    return made if set(made) != set(links) else None


def covers(wants: Wants, rules: Rules, links: list[Link], node) -> bool:
    """Return whether as many partners as now have all topics of a node, the best chosen first."""
    made = [link for link in links if node not in link]
    left = {t for v in set(wants) - {node} for t in wants[v] & wants[node]}
    order = by_topics({v: wants[v] & left for v in wants if v != node}, wants)
    for _ in range(len(links) - len(made)):
        keys = [
            (-len(wants[v] & left), order.index(v), v)
            for v in order
            if wants[v] & left and rules.admit(made, *sorted((node, v)))
        ]
        if keys:
            left -= wants[min(keys)[-1]]
    return not left


def by_topics(joined: Wants, wants: Wants) -> list:
    """Return nodes in the order of the first topic that they join: small topics come first."""

    def first(v):
        sizes = [(sum(t in wanted for wanted in wants.values()), t) for t in joined[v]]
        return min(sizes)

    return sorted((v for v in joined if joined[v]), key=lambda v: (first(v), v))


def in_order(wants: Wants, rules: Rules, made: list[Link], node) -> list:
    """Return the nodes whose links with a node join something, in the order of preference."""
    joined = {}
    for other in set(wants) - {node}:
        link = tuple(sorted((node, other)))
        joined[other] = {
            t
            for t in wants[node] & wants[other]
            if lacking(wants, rules, [*made, link], t) < lacking(wants, rules, made, t)
        }
    return by_topics(joined, wants)


def relieve(wants: Wants, rules: Rules, links: list[Link], node, busy):
    """Return the links with one of a node moved away from a busy neighbour, or None.

    The new partner has at least two links less than the busy one.
    """
    made = [link for link in links if set(link) != {node, busy}]
    most = degrees(wants, made)[busy] - 1
    if missing(wants, rules, made) == 0:
        return made
    order = in_order(wants, rules, made, node)
    best = best_partner(wants, rules, made, node, order, most)
    if best is None or missing(wants, rules, [*made, best]) > 0:
        return None
    return [*made, best]


def best_partner(
    wants: Wants, rules: Rules, made: list[Link], node, order: list, most: float = inf
) -> Link | None:
    """Return the link of a node that makes the most joins, None if none makes any.

    Of equals the partner that comes first in the order. `most` are the links that it may have.
    """
    degree, keys = degrees(wants, made), []
    for place, other in enumerate(order):
        link = tuple(sorted((node, other)))
        joins = gain(wants, rules, made, *link)
        if joins and degree[other] <= most and rules.admit(made, *link) and link not in made:
            keys.append((-joins, place, link))
    return min(keys)[-1] if keys else None


def missing(wants: Wants, rules: Rules, links: list[Link]) -> int:
    """Count the joins that all topics lack."""
    return sum(lacking(wants, rules, links, t) for t in all_topics(wants))


def is_connected(wants: Wants, links: list[Link], topic: str) -> bool:
    """Return whether the links join all who want a topic."""
    return components(wants, links, topic) <= 1


def endangered_on_the_way(
    before: Wants, after: Wants, links: list[Link], steps: list[tuple], survive: int
) -> list:
    """Return the topics that some losses would split at some step, old or new members counting."""
    there, found = [tuple(sorted(link)) for link in links], []
    n_added = sum(action == "add" for action, _, _ in steps)
    for number, (action, u, v) in enumerate(steps, 1):
        (there.append if action == "add" else there.remove)(tuple(sorted((u, v))))
        if number <= n_added:
            found += split_topics(before, there, survive)
        if number >= n_added:
            found += split_topics(after, there, survive)
    return found


def split_on_the_way(before: Wants, after: Wants, links: list[Link], steps: list[tuple]) -> list:
    """Return the topics that are split at some step: neither the old nor the new members joined.

    Nodes that leave serve until the last step. While links are added the old members count, once
    all are added the new ones too, and from then on the new ones.
    """
    there = [tuple(sorted(link)) for link in links]
    whole = {t for t in all_topics(before) if is_connected(before, there, t)}
    adding, found = True, []
    n_added = sum(action == "add" for action, _, _ in steps)
    for number, (action, u, v) in enumerate(steps, 1):
        link = tuple(sorted((u, v)))
        if action == "add":
            assert adding
            assert link not in there
            there.append(link)
        else:
            adding = False
            there.remove(link)
        for topic in whole:
            old_holds = is_connected(before, there, topic)
            new_holds = is_connected(after, there, topic)
            if (adding and not old_holds) or (number >= n_added and not new_holds):
                found.append((number, topic))
    return found
