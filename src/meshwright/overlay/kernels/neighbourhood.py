"""Large-neighbourhood search on a plan: free the links around a few nodes, and complete it again.

Each round draws a few nodes that lie close together, removes links of theirs, joins the topics that
this splits by the best links of these nodes, with noise, and drops links that no topic needs. The
result is kept if it is no worse: no joins missing and no more links, or, while joins are missing,
no more of both together. The removed links could always be put back, so links of the chosen nodes
suffice to complete the plan again.
"""

import numpy as np

from meshwright.overlay.kernels.completion import (
    FEWEST,
    KIND,
    LINKED,
    LOG_U,
    LOG_V,
    MENDS,
    MISSING,
    N_AFFECTED,
    N_CHOSEN,
    N_DRAWN,
    N_LOGGED,
    N_OPEN,
    N_REMOVED,
    STALLED,
    STAMP,
    SWAPS,
    UNLINKED,
    complete,
    list_gains,
    write_log,
)
from meshwright.overlay.kernels.plan import (
    N_LINKS,
    count_bits,
    is_linked,
    is_redundant,
    link,
    unlink,
)
from meshwright.overlay.kernels.topic_parts import label_all, label_cut_off, label_of
from meshwright.runtime.compile import kernel, maker
from meshwright.runtime.kernels.random import stream, uniform

PATIENCE = 30  # rounds without progress until topics that are not connected weigh more
JOIN_COST = 3  # what a missing join counts while plans are mended; a link counts 1


@kernel
def search_rounds(members, plan, search, exclusions, settings, batch):
    """Run a batch of rounds; return the first round that was not run. Writes `plan` and `search`.

    It ends before a round if no join is missing and there are no more than `batch.enough` links:
    where a batch happens to end must not decide which of equal plans it is.
    """
    for number in range(batch.first, batch.last):
        if search.best[FEWEST] == 0 and plan.counts[N_LINKS] <= batch.enough:
            return number
        search_once(members, plan, search, exclusions, settings, number)
    return batch.last


@kernel
def search_once(members, plan, search, exclusions, settings, number):
    """Run one round; return whether the plan is better than before."""
    counts = search.counts
    key = stream(settings.seed, number)
    links, missing = plan.counts[N_LINKS], counts[MISSING]
    counts[N_CHOSEN], counts[N_AFFECTED], counts[N_OPEN] = 0, 0, 0
    counts[N_LOGGED], counts[N_DRAWN], counts[N_REMOVED] = 0, 0, 0
    counts[STAMP], counts[MENDS] = number + 1, missing > 0
    choose_nodes(members, plan, search, settings, key)
    free_links(members, plan, search, settings, key)
    open_affected(members, plan, search)
    list_gains(members, search)
    complete(members, plan, search, exclusions, settings, key)
    drop_redundant(members, plan, search)
    if missing > 0:
        change = JOIN_COST * (counts[MISSING] - missing) + plan.counts[N_LINKS] - links
    else:
        change = plan.counts[N_LINKS] - links
    is_worse = change > 0 or counts[MISSING] > missing == 0
    is_better = change < 0 and not is_worse
    if is_worse:
        undo(plan, search)
        counts[MISSING] = missing
    if missing > 0:
        weigh_topics(plan, search, is_better)
    clear(search)
    return is_better


@kernel
def weigh_topics(plan, search, is_better):
    """Keep the plan if no other lacked fewer joins; raise the weights of topics that resist."""
    lacking = count_lacking(search)
    if lacking < search.best[FEWEST]:
        keep_plan(plan, search, lacking)
    search.best[STALLED] = 0 if is_better else search.best[STALLED] + 1
    if lacking == 0:
        search.weight[:] = 1
    elif search.best[STALLED] >= PATIENCE:
        search.best[STALLED] = 0
        for topic in range(len(search.n_parts)):
            if search.n_parts[topic] > 1:
                search.weight[topic] += 1
                search.counts[MISSING] += search.n_parts[topic] - 1


@kernel
def count_lacking(search):
    """Return the missing joins, each counted once. Reads only."""
    lacking = 0
    for topic in range(len(search.n_parts)):
        lacking += max(search.n_parts[topic] - 1, 0)
    return lacking


@kernel
def keep_plan(plan, search, lacking):
    """Keep the links as those of the plan that lacks fewest joins. Writes `best`, `best_...`."""
    search.best[FEWEST] = lacking
    for u in range(len(plan.degree)):
        search.best_degree[u] = plan.degree[u]
        for k in range(plan.degree[u]):
            search.best_neighbours[u, k] = plan.neighbours[u, k]


@kernel
def restore_plan(plan, search):
    """Make the plan that lacks fewest joins the present one. Writes the links."""
    total = 0
    for u in range(len(plan.degree)):
        plan.degree[u] = search.best_degree[u]
        total += plan.degree[u]
        for k in range(plan.degree[u]):
            plan.neighbours[u, k] = search.best_neighbours[u, k]
    plan.counts[N_LINKS] = total // 2


@kernel
def draw(search, key, n):
    """Return a random number from 0 to n - 1."""
    search.counts[N_DRAWN] += 1
    return np.int64(uniform(key, search.counts[N_DRAWN]) * n)


@kernel
def choose_nodes(members, plan, search, settings, key):
    """Choose a node at random, then neighbours and nodes that share a topic with one chosen.

    While joins are missing, the first is a member of a topic that is not connected; every other
    round swaps one of its links for others, of it and of the neighbour.
    """
    n = len(plan.degree)
    mends = search.counts[MENDS] > 0  # then nodes with all their links may be in the way
    most = settings.most_nodes if mends else (settings.most_nodes + 1) // 2
    wanted = 1 + draw(search, key, most)
    u = draw(search, key, n)
    search.counts[SWAPS] = 0
    if mends:
        topic = draw(search, key, len(search.n_parts))
        while search.n_parts[topic] < 2:
            topic = topic + 1 if topic + 1 < len(search.n_parts) else 0
        u = draw_from_part(members, plan, search, key, topic)
        search.counts[SWAPS] = plan.degree[u] > 0 and draw(search, key, 2) == 0
        if search.counts[SWAPS] > 0:
            choose(search, u)
            choose(search, np.int64(plan.neighbours[u, draw(search, key, plan.degree[u])]))
            return
    for _ in range(3 * wanted):
        if not search.is_chosen[u]:
            choose(search, u)
            if search.counts[N_CHOSEN] == wanted:
                return
        u = np.int64(search.chosen[draw(search, key, search.counts[N_CHOSEN])])
        n_topics = members.indptr[u + 1] - members.indptr[u]
        if plan.degree[u] > 0 and draw(search, key, 2) == 0:
            u = np.int64(plan.neighbours[u, draw(search, key, plan.degree[u])])
        elif n_topics > 0:
            topic = members.topics[members.indptr[u] + draw(search, key, n_topics)]
            first, last = members.topic_ptr[topic], members.topic_ptr[topic + 1]
            u = np.int64(members.nodes[first + draw(search, key, last - first)])
        else:
            u = draw(search, key, n)


@kernel
def choose(search, u):
    """Choose a node."""
    search.is_chosen[u] = True
    search.chosen[search.counts[N_CHOSEN]] = u
    search.counts[N_CHOSEN] += 1


@kernel
def draw_from_part(members, plan, search, key, topic):
    """Return a random member of a random component of a topic: small ones are in need of links."""
    stamp = search.counts[STAMP]
    part = draw(search, key, label_all(members, plan, search.parts, topic, stamp))
    chosen, count = np.int64(0), 0
    for at in range(members.topic_ptr[topic], members.topic_ptr[topic + 1]):
        if label_of(members, search.parts, members.slot_at[at], stamp) == part:
            count += 1
            if draw(search, key, count) == 0:
                chosen = np.int64(members.nodes[at])
    return chosen


@kernel
def free_links(members, plan, search, settings, key):
    """Remove links of the chosen nodes; their topics, and those not connected, are affected."""
    total = 0
    for k in range(search.counts[N_CHOSEN]):
        total += plan.degree[search.chosen[k]]
    mends = search.counts[MENDS] > 0
    wanted = 2 + draw(search, key, settings.most_freed)
    if mends:  # few links for one that is missing, many where nothing else helps
        wanted = 1 + draw(search, key, 2 * settings.most_freed)
    share = wanted / max(total, 1)
    frees_first = mends and draw(search, key, 2) == 0  # it may have all the links it may have
    for k in range(search.counts[N_CHOSEN]):
        u = np.int64(search.chosen[k])
        for i in range(plan.degree[u] - 1, -1, -1):
            search.counts[N_DRAWN] += 1
            is_full = 2 * search.counts[N_LOGGED] >= len(search.log)
            is_freed = uniform(key, search.counts[N_DRAWN]) < share or (k == 0 and frees_first)
            v = np.int64(plan.neighbours[u, i])
            if search.counts[SWAPS] > 0:
                is_freed = search.is_chosen[v]
            if is_freed and not is_full:
                remove(plan, search, u, v)
                search.removed[search.counts[N_REMOVED], 0] = u
                search.removed[search.counts[N_REMOVED], 1] = v
                search.counts[N_REMOVED] += 1
                affect_topics(members, search, u, v)
        for slot in range(members.indptr[u], members.indptr[u + 1]):
            if search.n_parts[members.topics[slot]] > 1:
                affect(search, members.topics[slot])


@kernel
def remove(plan, search, u, v):
    """Remove a link and log it."""
    unlink(plan, u, v)
    write_log(search, UNLINKED, u, v)


@kernel
def affect_topics(members, search, u, v):
    """List the common topics of two nodes as affected in this round."""
    i, j = members.indptr[u], members.indptr[v]
    while i < members.indptr[u + 1] and j < members.indptr[v + 1]:
        a, b = members.topics[i], members.topics[j]
        if a == b:
            affect(search, a)
        i += a <= b
        j += b <= a


@kernel
def affect(search, topic):
    """List a topic as affected in this round, once."""
    if search.topic_round[topic] != search.counts[STAMP]:
        search.topic_round[topic] = search.counts[STAMP]
        search.affected[search.counts[N_AFFECTED]] = topic
        search.counts[N_AFFECTED] += 1


@kernel
def open_affected(members, plan, search):
    """Find the components of the affected topics; those with several are open.

    Writes `n_parts`, `n_parts_before`, the labels, and how many joins are missing in all.
    """
    stamp = search.counts[STAMP]
    for k in range(search.counts[N_AFFECTED]):
        topic = search.affected[k]
        before = search.n_parts[topic]
        search.n_parts_before[k] = before
        if before == 1:
            removed = search.removed[: search.counts[N_REMOVED]]
            found = label_cut_off(members, plan, search.parts, topic, removed, stamp)
        else:
            found = label_all(members, plan, search.parts, topic, stamp)
        search.n_parts[topic] = found
        more = max(found - 1, 0) - max(before - 1, 0)
        search.counts[MISSING] += more * search.weight[topic]
        if search.n_parts[topic] > 1:
            search.open_topics[search.counts[N_OPEN]] = topic
            search.counts[N_OPEN] += 1


@kernel
def drop_redundant(members, plan, search):
    """Drop links that no topic needs, of the chosen nodes and of those linked to them just now."""
    for k in range(search.counts[N_CHOSEN]):
        drop_redundant_at(members, plan, search, np.int64(search.chosen[k]))
    n_logged = search.counts[N_LOGGED]
    for at in range(n_logged):
        if search.log[at, KIND] == LINKED and not search.is_chosen[search.log[at, LOG_V]]:
            drop_redundant_at(members, plan, search, np.int64(search.log[at, LOG_V]))


@kernel
def drop_redundant_at(members, plan, search, u):
    """Drop the links of u that no topic needs."""
    for i in range(plan.degree[u] - 1, -1, -1):
        v = np.int64(plan.neighbours[u, i])
        if search.counts[N_LOGGED] < len(search.log) and is_redundant(members, plan, u, v):
            remove(plan, search, u, v)


@kernel
def undo(plan, search):
    """Take back the changes of a round, the last first."""
    for k in range(search.counts[N_AFFECTED]):
        search.n_parts[search.affected[k]] = search.n_parts_before[k]
    for at in range(search.counts[N_LOGGED] - 1, -1, -1):
        kind = search.log[at, KIND]
        u, v = np.int64(search.log[at, LOG_U]), np.int64(search.log[at, LOG_V])
        if kind == LINKED:
            unlink(plan, u, v)
        else:
            link(plan, u, v)


@kernel
def clear(search):
    """Clear what belongs to one round."""
    for k in range(search.counts[N_CHOSEN]):
        search.is_chosen[search.chosen[k]] = False
        for i in range(search.n_touched[k]):
            search.gain[k, search.touched[k, i]] = 0
        search.n_touched[k] = 0


@kernel
def drop_all_redundant(members, plan, edges):
    """Drop the links of `edges` int32[n, 2] that no topic needs, in this order."""
    for k in range(len(edges)):
        u, v = np.int64(edges[k, 0]), np.int64(edges[k, 1])
        if is_linked(plan, u, v) and is_redundant(members, plan, u, v):
            unlink(plan, u, v)


@kernel
def count_parts(members, plan, search):
    """Write the components of all topics into `n_parts`, and the missing joins."""
    search.counts[MISSING] = 0
    for topic in range(len(search.n_parts)):
        search.n_parts[topic] = label_all(members, plan, search.parts, topic, 0)
        search.counts[MISSING] += max(search.n_parts[topic] - 1, 0) * search.weight[topic]


@kernel
def list_links(plan, edges):
    """Write the links as pairs u < v into `edges` int32[n_links, 2], by rising u."""
    count = 0
    for u in range(len(plan.degree)):
        for k in range(plan.degree[u]):
            if plan.neighbours[u, k] > u:
                edges[count, 0], edges[count, 1] = u, plan.neighbours[u, k]
                count += 1


@maker
def count_common(members, edges):
    """Return the common topics of each pair in `edges` int32[n, 2]. Reads only."""
    common = np.zeros(len(edges), np.int32)
    for k in range(len(edges)):
        for word in range(members.has_topic.shape[1]):
            both = members.has_topic[edges[k, 0], word] & members.has_topic[edges[k, 1], word]
            common[k] += count_bits(both)
    return common


@maker
def are_linked(plan, edges):
    """Return for each pair in `edges` int32[n, 2] whether it is linked. Reads only."""
    linked = np.zeros(len(edges), np.bool_)
    for k in range(len(edges)):
        linked[k] = is_linked(plan, np.int64(edges[k, 0]), np.int64(edges[k, 1]))
    return linked
