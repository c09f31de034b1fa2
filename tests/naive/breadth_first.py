"""The breadth-first sample by its definition: plain lists and sets."""


def breadth_first(
    follows: set[tuple[int, int]], start_order: list[int], n_nodes: int, n_seeds: int = 1
) -> set[int]:
    """Return exactly `n_nodes` users.

    Level by level from the first `n_seeds` of `start_order`; a level that is too large is cut in
    id order; when nothing new can be reached, the next start user follows.
    """
    friends: dict[int, set[int]] = {user: set() for user in start_order}
    for a, b in follows:
        friends[a].add(b)
        friends[b].add(a)
    visited: list[int] = []
    level = start_order[:n_seeds]
    while len(visited) < n_nodes:
        visited += sorted(level)[: n_nodes - len(visited)]
        level = sorted({f for user in level for f in friends[user]} - set(visited))
        if not level:
            level = [user for user in start_order if user not in visited][:1]
    return set(visited)
