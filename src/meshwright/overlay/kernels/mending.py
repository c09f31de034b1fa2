"""Search near changed nodes for a plan with fewer links; everything else stays as it is.

Each round looks at one near node: its links are freed, and its topics joined again by fewer links
of that node (`relinking`). If that fails, and its topics are small, or if joins are missing because
limits leave no room, a round of `neighbourhood` for this node follows: it frees most links, drawn
at random, and drops what is not needed then. In a drawn trace this saved more links in less time
than to free a few links of several nodes. A link is dropped only if one of its nodes is near, of
which all topics are known here. And a round is kept only if the plan is better for it: links that
move for nothing are not worth the trouble.
"""

from typing import NamedTuple

import numpy as np

from meshwright.overlay.greedy.kernels.exclusions import Exclusions
from meshwright.overlay.kernels.completion import (
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
    STAMP,
    Search,
    Settings,
    complete,
    list_gains,
)
from meshwright.overlay.kernels.neighbourhood import (
    choose,
    clear,
    drop_redundant_at,
    free_links,
    open_affected,
    undo,
)
from meshwright.overlay.kernels.plan import (
    N_LINKS,
    Members,
    Plan,
    is_linked,
    is_redundant,
    unlink,
)
from meshwright.overlay.kernels.relinking import MOST_LINKS, Work, relieve, relink
from meshwright.runtime.arrays import Bools, Ints
from meshwright.runtime.compile import kernel
from meshwright.runtime.kernels.random import stream

FEWEST_FREED = 2  # links of a node that is linked anew: one cannot become fewer
MOST_MEMBERS = 1_000  # of all topics of a node that is looked at twice: that takes their number


class Near(NamedTuple):
    """The nodes whose links may be moved, and those that wait to be looked at."""

    nodes: Ints  # int32[n_near]
    is_near: Bools  # bool[n_nodes]
    queue: Ints  # int32[n_near], in a circle
    waits: Bools  # bool[n_nodes], whether the node is in the queue


class Mending(NamedTuple):
    """A plan that is mended, and what that takes."""

    members: Members
    plan: Plan
    search: Search
    exclusions: Exclusions
    settings: Settings
    work: Work
    near: Near


@kernel
def mend_rounds(m, n_rounds):
    """Run up to `n_rounds`. Writes plan, search and queue; return how many made the plan better.

    Near nodes are looked at in turn. One that got or lost a link in a round that is kept is looked
    at again.
    """
    near, n_better, n_done = m.near, 0, 0
    size = n_waiting = len(near.nodes)
    head = 0
    for k in range(size):
        near.queue[k] = near.nodes[k]
        near.waits[near.nodes[k]] = True
    while n_done < n_rounds and n_waiting > 0:
        n_done += 1
        u = np.int64(near.queue[head])
        head, n_waiting = head + 1 if head + 1 < size else 0, n_waiting - 1
        near.waits[u] = False
        if not look_at(m, u):
            continue
        n_better += 1
        for at in range(m.search.counts[N_LOGGED]):
            for end in (LOG_U, LOG_V):
                w = m.search.log[at, end]
                if near.is_near[w] and not near.waits[w]:
                    tail = head + n_waiting
                    near.queue[tail if tail < size else tail - size] = w
                    near.waits[w] = True
                    n_waiting += 1
    return n_better


@kernel
def begin(search):
    """Begin a round: clear what the round before recorded."""
    counts = search.counts
    counts[N_CHOSEN], counts[N_AFFECTED], counts[N_OPEN] = 0, 0, 0
    counts[N_LOGGED], counts[N_DRAWN], counts[N_REMOVED] = 0, 0, 0
    counts[STAMP] += 1


@kernel
def look_at(m, u):
    """Run one round, for node u; return whether the plan is better, and take it back otherwise."""
    plan, search = m.plan, m.search
    missing = search.counts[MISSING]
    if plan.degree[u] > MOST_LINKS or (plan.degree[u] < FEWEST_FREED and missing == 0):
        return False
    begin(search)
    choose(search, u)
    is_better, links = False, plan.counts[N_LINKS]
    if missing == 0 and relink(m.members, plan, search, m.exclusions, m.work, u):
        drop_near(m)
        is_better = plan.counts[N_LINKS] < links
    if not is_better and (missing > 0 or has_few(m.members, u)):
        undo(plan, search)
        clear(search)
        begin(search)
        choose(search, u)
        is_better = complete_anew(m, missing)
    if not is_better:
        undo(plan, search)
        search.counts[MISSING] = missing
    clear(search)
    return is_better


@kernel
def has_few(members, u):
    """Return whether the topics of a node have few members in all. Reads only."""
    total = 0
    for slot in range(members.indptr[u], members.indptr[u + 1]):
        topic = members.topics[slot]
        total += members.topic_ptr[topic + 1] - members.topic_ptr[topic]
    return total <= MOST_MEMBERS


@kernel
def complete_anew(m, missing):
    """Free links of the chosen node and complete the plan; return whether it lacks less for it."""
    members, plan, search = m.members, m.plan, m.search
    links, key = plan.counts[N_LINKS], stream(m.settings.seed, search.counts[STAMP])
    search.counts[MENDS] = missing > 0
    free_links(members, plan, search, m.settings, key)
    open_affected(members, plan, search)
    list_gains(members, search)
    complete(members, plan, search, m.exclusions, m.settings, key)
    drop_near(m)
    fewer = search.counts[MISSING] == missing and plan.counts[N_LINKS] < links
    return search.counts[MISSING] < missing or fewer


@kernel
def drop_near(m):
    """Drop links that no topic needs, of the chosen nodes and of near ones linked to them now."""
    members, plan, search = m.members, m.plan, m.search
    for k in range(search.counts[N_CHOSEN]):
        u = np.int64(search.chosen[k])
        if plan.degree[u] <= MOST_LINKS:
            drop_redundant_at(members, plan, search, u)
    n_logged = search.counts[N_LOGGED]
    for at in range(n_logged):
        w = np.int64(search.log[at, LOG_V])
        is_other = m.near.is_near[w] and not search.is_chosen[w]
        if search.log[at, KIND] == LINKED and is_other and plan.degree[w] <= MOST_LINKS:
            drop_redundant_at(members, plan, search, w)


@kernel
def lower_busiest(m, enough, most):
    """Move links away from the busiest nodes while that costs none; return how many were moved.

    Each is moved to a node with at least two links less. Nodes with `enough` links or fewer keep
    theirs, and `most` are moved at most. Writes plan and search.
    """
    moved = 0
    while True:
        top = np.int64(0)
        for v in range(len(m.plan.degree)):
            top = max(top, np.int64(m.plan.degree[v] + m.work.elsewhere[v]))
        if top <= enough:
            return moved
        for v in range(len(m.plan.degree)):
            if m.plan.degree[v] + m.work.elsewhere[v] == top:
                if moved == most or not lower(m, v, top):
                    return moved
                moved += 1


@kernel
def lower(m, v, links):
    """Replace a link of v with a near node by one of the near node elsewhere, if one can be."""
    plan, search = m.plan, m.search
    for k in range(plan.degree[v] - 1, -1, -1):
        u = np.int64(plan.neighbours[v, k])
        if not m.near.is_near[u]:
            continue
        begin(search)
        change = (u, v, links - 2)
        if relieve(m.members, plan, search, m.exclusions, m.work, change):
            return True
        undo(plan, search)
    return False


@kernel
def drop_listed(members, plan, edges, most):
    """Drop up to `most` links of `edges` int32[n, 2] that no topic needs, in this order."""
    dropped = 0
    for k in range(len(edges)):
        u, v = np.int64(edges[k, 0]), np.int64(edges[k, 1])
        if dropped < most and is_linked(plan, u, v) and is_redundant(members, plan, u, v):
            unlink(plan, u, v)
            dropped += 1
    return dropped
