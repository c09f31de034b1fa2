"""Search near changed nodes for a plan with fewer links; everything else stays as it is.

The rounds are those of `neighbourhood`, with three differences. Only near nodes are chosen, of
which all topics are known here. A link is dropped only if one of its nodes is near. And a round is
kept only if the plan is better for it: links that move for nothing are not worth the trouble.
"""

from typing import NamedTuple

import numpy as np

from meshwright.overlay.kernels.completion import (
    MENDS,
    MISSING,
    N_AFFECTED,
    N_CHOSEN,
    N_DRAWN,
    N_LOGGED,
    N_OPEN,
    N_REMOVED,
    STAMP,
    complete,
    list_gains,
)
from meshwright.overlay.kernels.neighbourhood import (
    clear,
    draw,
    drop_redundant_at,
    free_links,
    open_affected,
    undo,
)
from meshwright.overlay.kernels.plan import N_LINKS, is_linked, is_redundant, unlink
from meshwright.runtime.arrays import Bools, Ints
from meshwright.runtime.compile import kernel
from meshwright.runtime.kernels.random import stream

MOST_LOOKED_AT = 32  # links of a node that a round may drop from: hubs have hundreds


class Near(NamedTuple):
    """The nodes whose links may be moved, and the rounds to run."""

    nodes: Ints  # int32[n_near]
    is_near: Bools  # bool[n_nodes]
    first_round: int
    last_round: int


@kernel
def mend_rounds(members, plan, search, exclusions, settings, near):
    """Run the rounds. Writes `plan` and `search`; return in how many the plan became better."""
    better = 0
    for number in range(near.first_round, near.last_round):
        counts = search.counts
        key = stream(settings.seed, number)
        links, missing = plan.counts[N_LINKS], counts[MISSING]
        counts[N_CHOSEN], counts[N_AFFECTED], counts[N_OPEN] = 0, 0, 0
        counts[N_LOGGED], counts[N_DRAWN], counts[N_REMOVED] = 0, 0, 0
        counts[STAMP], counts[MENDS] = number + 1, missing > 0
        choose_near(members, plan, search, settings, (key, near))
        free_links(members, plan, search, settings, key)
        open_affected(members, plan, search)
        list_gains(members, search)
        complete(members, plan, search, exclusions, settings, key)
        drop_near(members, plan, search, near)
        fewer = counts[MISSING] == missing and plan.counts[N_LINKS] < links
        if counts[MISSING] < missing or fewer:
            better += 1
        else:
            undo(plan, search)
            counts[MISSING] = missing
        clear(search)
    return better


@kernel
def choose_near(members, plan, search, settings, drawing):
    """Choose a near node at random, then near ones that are linked to it or share a topic."""
    key, near = drawing
    wanted = 1 + draw(search, key, (settings.most_nodes + 1) // 2)
    u = np.int64(near.nodes[draw(search, key, len(near.nodes))])
    for _ in range(3 * wanted):
        if near.is_near[u] and not search.is_chosen[u]:
            search.is_chosen[u] = True
            search.chosen[search.counts[N_CHOSEN]] = u
            search.counts[N_CHOSEN] += 1
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


@kernel
def drop_near(members, plan, search, near):
    """Drop links that no topic needs, of the chosen nodes and of near ones linked to them now."""
    for k in range(search.counts[N_CHOSEN]):
        u = np.int64(search.chosen[k])
        if plan.degree[u] <= MOST_LOOKED_AT:
            drop_redundant_at(members, plan, search, u)
    n_logged = search.counts[N_LOGGED]
    for at in range(n_logged):
        w = np.int64(search.log[at, 2])
        is_other = near.is_near[w] and not search.is_chosen[w]
        if search.log[at, 0] == 1 and is_other and plan.degree[w] <= MOST_LOOKED_AT:
            drop_redundant_at(members, plan, search, w)


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
