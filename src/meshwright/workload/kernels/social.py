"""Relations of users: inside communities, and between any two; each from a stream of its own.

`social_law.py` describes the model. All that a task needs is a `Law`: a few hundred numbers,
whatever the size of the graph. Users have ranks, class after class. Ranks and places in communities
are shuffled by a permutation that can be computed for each number alone.
"""

from typing import NamedTuple

import numpy as np

from meshwright.runtime.arrays import Floats, Longs
from meshwright.runtime.compile import kernel, maker
from meshwright.runtime.kernels.random import mix, stream, uniform

USERS, PLACES, INSIDE, ACROSS, DIRECTION = 1, 2, 3, 4, 5  # streams of random numbers
ROUNDS = 4  # of the permutation; three make it pseudo-random (Luby, Rackoff, 1988)
SWEEPS = 20
PRECISION = 0.002  # of an expected degree inside a community


class Law(NamedTuple):
    """The parameters of all draws: classes of users (``user_``) and of communities (``size_``).

    Each array has one entry per class; those named ``first`` have one more: where each class
    begins, and the end.
    """

    seed: int
    n_users: int
    user_weight: Floats  # expected degree
    user_first_rank: Longs
    user_places: Longs  # communities of each user
    user_first_place: Longs
    user_inside: Floats  # expected degree in each of them
    window_first_place: Longs  # places are shuffled within windows: users of similar degree
    size: Longs
    size_first_community: Longs
    size_first_place: Longs
    pull_share: Floats  # cumulative, of the draws that fall to each class
    n_draws: int
    mutual: float  # the share of the relations that go both ways


@kernel
def permuted(number, count, key):
    """Return where a permutation of 0..count-1 puts `number`: a Feistel network, walked."""
    half = np.uint64(1)
    while (np.int64(1) << np.int64(2 * half)) < count:
        half += np.uint64(1)
    mask = (np.uint64(1) << half) - np.uint64(1)
    place, key = np.uint64(number), np.uint64(key)
    while True:
        left, right = place >> half, place & mask
        for turn in range(ROUNDS):
            left, right = right, left ^ (mix(key + np.uint64(turn) + (right << half)) & mask)
        place = (left << half) | right
        if place < np.uint64(count):
            return np.int64(place)


@maker
def class_of(first, number):
    """Return the class, of those that begin at `first`, in which a number lies."""
    return np.searchsorted(first, number, side="right") - 1


@kernel
def relate(law, keys, filled, one, other):
    """Write the packed subscriptions of two related users; return the new length of `keys`.

    A user is given as (id, expected degree).
    """
    (u, weight_u), (v, weight_v) = one, other
    low, high = min(u, v), max(u, v)
    if low == high:  # kept, to be counted where it is dropped
        keys[filled] = (low << 32) | high
        return filled + 1
    # By the pair: a relation that is drawn twice must go the same way.
    key = stream(stream(stream(law.seed, DIRECTION), low), high)
    both = law.mutual >= 1.0 or uniform(key, 0) < law.mutual
    share = (weight_v if v == high else weight_u) / (weight_u + weight_v)
    upward = uniform(key, 1) < share  # the user of many relations is followed more often
    if both or upward:
        keys[filled] = (low << 32) | high
        filled += 1
    if both or not upward:
        keys[filled] = (high << 32) | low
        filled += 1
    return filled


@maker
def odds_inside(asked):
    """Return t such that the sums of t_i t_j / (1 + t_i t_j) over j are close to `asked`.

    Of all graphs on these users with these expected degrees, this is the law of most entropy
    (Park, Newman, "Statistical mechanics of networks", 2004).
    """
    n = len(asked)
    odds = asked / np.sqrt(max(asked.sum(), 1e-9))
    for _ in range(SWEEPS):
        worst = 0.0
        for i in range(n):
            mine, total = odds[i], 0.0
            for j in range(n):
                total += odds[j] / (1.0 + mine * odds[j])
            total -= mine / (1.0 + mine * mine)
            worst = max(worst, abs(mine * total - asked[i]) / asked[i])
            odds[i] = asked[i] / total
        if worst < PRECISION:
            break
    return odds


@maker
def inside(law, first, end):
    """Return the packed subscriptions inside the communities first..end-1, all of one size."""
    of_size = class_of(law.size_first_community, first)
    size = law.size[of_size]
    keys, filled = np.empty(size * size, np.int64), 0
    user, weight, asked = np.empty(size, np.int64), np.empty(size), np.empty(size)
    users_key, places_key = stream(law.seed, USERS), stream(law.seed, PLACES)
    inside_key = stream(law.seed, INSIDE)
    for community in range(first, end):
        start = law.size_first_place[of_size]
        start += (community - law.size_first_community[of_size]) * size
        window = class_of(law.window_first_place, start)
        low, high = law.window_first_place[window], law.window_first_place[window + 1]
        for i in range(size):
            place = low + permuted(start + i - low, high - low, places_key + np.uint64(window))
            kind = class_of(law.user_first_place, place)
            rank = law.user_first_rank[kind]
            rank += (place - law.user_first_place[kind]) // law.user_places[kind]
            user[i] = permuted(rank, law.n_users, users_key)
            weight[i], asked[i] = law.user_weight[kind], law.user_inside[kind]
        odds = odds_inside(asked)
        key = stream(inside_key, community)
        for i in range(size):
            for j in range(i):
                product = odds[i] * odds[j]
                if uniform(key, i * size + j) * (1.0 + product) < product and user[i] != user[j]:
                    if filled + 2 > len(keys):
                        keys = np.concatenate((keys, np.empty(len(keys), np.int64)))
                    one, other = (user[i], weight[i]), (user[j], weight[j])
                    filled = relate(law, keys, filled, one, other)
    return keys[:filled]


@maker
def across(law, first, end):
    """Return the packed subscriptions of the draws first..end-1 between any two users.

    Self-loops are left in, to be counted where they are dropped.
    """
    keys = np.empty(2 * (end - first), np.int64)
    filled = 0
    users_key, across_key = stream(law.seed, USERS), stream(law.seed, ACROSS)
    user, kind = np.empty(2, np.int64), np.empty(2, np.int64)
    for draw in range(first, end):
        key = stream(across_key, draw)
        for side in range(2):
            at = min(class_of(law.pull_share, uniform(key, 2 * side)), len(law.user_weight) - 1)
            low, high = law.user_first_rank[at], law.user_first_rank[at + 1]
            rank = low + min(int(uniform(key, 2 * side + 1) * (high - low)), high - low - 1)
            user[side], kind[side] = permuted(rank, law.n_users, users_key), at
        one, other = (user[0], law.user_weight[kind[0]]), (user[1], law.user_weight[kind[1]])
        filled = relate(law, keys, filled, one, other)
    return keys[:filled]
