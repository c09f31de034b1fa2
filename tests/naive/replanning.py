"""Mend an overlay after changes, the obvious way: names, sets, and every pair looked at.

A workload is a dict from the name of a node to the topics it wants. Links are pairs of names, the
smaller first, in the order they were added.
"""

from tests.naive.limited import Rules, best_edge, lacking
from tests.naive.overlays import components

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


def mend(before: Wants, links: list[Link], after: Wants, rules: Rules, ties: str = "degree"):
    """Return the old links that stay and the new ones, in order: join, then drop near changes."""
    kept = [link for link in links if set(link) <= set(after)]
    near = {v for v in after if after[v] != before.get(v, set())}
    near |= {v for link in links if not set(link) <= set(after) for v in link if v in after}
    topics = changed_topics(before, after)
    within = {v: wanted & topics for v, wanted in after.items()}
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


def missing(wants: Wants, rules: Rules, links: list[Link]) -> int:
    """Count the joins that all topics lack."""
    return sum(lacking(wants, rules, links, t) for t in all_topics(wants))


def is_connected(wants: Wants, links: list[Link], topic: str) -> bool:
    """Return whether the links join all who want a topic."""
    return components(wants, links, topic) <= 1


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
