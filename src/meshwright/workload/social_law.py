"""The law of a social graph: its parameters, expected degrees and communities.

Expected degrees follow a shifted power law: P(degree > x) is proportional to
(x + shift)^(1 - exponent), up to the largest, and the shift gives the requested mean. On log-log
axes it is a straight line for large degrees and bends for small ones, as real degrees do. Users
come in classes of nearly equal degree, so the law of millions of users is a few hundred numbers.

As in the model BTER (Kolda, Pinar, Plantenga, Seshadhri, "A Scalable Generative Graph Model with
Community Structure", SIAM J. Sci. Comput. 36(5), 2014), communities are dense random graphs of
users of similar degree, the smallest nearly complete and larger ones less dense; the rest of each
degree is drawn between any two users (Chung, Lu, 2002). Ours differs in two points: a user whose
degree exceeds what the largest community can give belongs to several, and probabilities are solved
for, repeats included, so that the expected degrees are the requested ones.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import MOST_IDS
from meshwright.model.method import check_seed
from meshwright.runtime.arrays import Floats, Longs
from meshwright.workload.kernels.social import Law

EXPONENT = 3.0  # what fits ego-Twitter, docs/generators.md
MIXING = 0.3
DENSITY = 0.6
DENSEST = 0.95  # complete communities would leave nothing to chance
RECIPROCITY = 0.5  # 0.48 in ego-Twitter
FACEBOOK_LIMIT = 5_000  # friends a user may have
LARGEST_IN_DEGREES = 5  # the largest community, in mean degrees
LEAST_DEGREE = 0.001  # on average
MOST_SIZE = 10_000  # of a community: every pair inside is visited
N_CLASSES = 256  # of expected degrees: each 3% above the last when the largest is 5,000
FULLEST = 0.9  # a user is expected to know at most this share of a community
SPREAD = 2.0  # degrees in one community differ by this factor, where users suffice
LEAST_COMMUNITIES = 4  # of one kind: with fewer, the same users would meet repeatedly
LEAST_SIZE = 3
MOST_PULL = 8.0  # two users of this pull are certainly related
TOLERANCE = 0.001  # of the mean degree


@dataclass(frozen=True, slots=True)
class SocialModel:
    """The parameters of a social graph, of friends unless `directed`; see docs/generators.md."""

    nodes: int
    mean_degree: float
    exponent: float = EXPONENT
    max_degree: int | None = None
    mixing: float = MIXING
    communities: int | None = None
    density: float = DENSITY
    largest_community: int | None = None
    directed: bool = False
    reciprocity: float | None = None
    publish: bool = False  # users publish their own topics; else nothing is said about publishers
    seed: int = 1

    def __post_init__(self) -> None:
        """Raise InputError unless such a graph exists."""
        if not 10 <= self.nodes <= MOST_IDS:
            raise InputError(f"nodes is {self.nodes}; give 10 to {MOST_IDS:,}.")
        if not 1.0 < self.exponent <= 100:
            raise InputError(f"exponent is {self.exponent}; give more than 1 and at most 100.")
        if self.reciprocity is not None and not self.directed:
            raise InputError("reciprocity belongs to --directed: friends are always mutual.")
        for name, share in (("mixing", self.mixing), ("reciprocity", self.returned)):
            if not 0 <= share <= 1:
                raise InputError(f"{name} is {share}; give a share between 0 and 1.")
        check_seed(self.seed)
        if not 2 <= self.most_relations < self.nodes:
            raise InputError(
                f"max_degree is {self.max_degree}; give 2 to {self.nodes - 1:,}, the other users."
            )
        highest = self.most_relations / 4 / (2.0 - self.returned)
        if not LEAST_DEGREE <= self.mean_degree <= highest:
            raise InputError(
                f"mean_degree is {self.mean_degree:g}; give {LEAST_DEGREE:g} to {highest:g}, a "
                f"quarter of the largest degree ({self.most_relations:,}), or raise --max-degree."
            )
        if self.communities is not None and (self.communities < 1 or self.mixing == 1):
            raise InputError(
                f"communities is {self.communities} and mixing {self.mixing:g}; give at least 1, "
                "and a mixing below 1: at 1 all relations are outside communities."
            )
        if not 10 <= self.largest <= min(self.nodes, MOST_SIZE):
            raise InputError(
                f"largest_community is {self.largest_community}; give 10 to "
                f"{min(self.nodes, MOST_SIZE):,} users."
            )
        if not 4 / self.largest <= self.density <= DENSEST:
            raise InputError(
                f"density is {self.density}; give {4 / self.largest:.2g} to {DENSEST} "
                f"for communities of up to {self.largest:,} users."
            )

    @property
    def mean_relations(self) -> float:
        """Return the mean number of users that a user is related to, in either direction."""
        return self.mean_degree * (2.0 - self.returned)

    @property
    def returned(self) -> float:
        """Return the share of the subscriptions that are returned."""
        if not self.directed:
            return 1.0
        return RECIPROCITY if self.reciprocity is None else self.reciprocity

    @property
    def most_relations(self) -> int:
        """Return the largest expected degree."""
        return min(FACEBOOK_LIMIT, self.nodes - 1) if self.max_degree is None else self.max_degree

    @property
    def largest(self) -> int:
        """Return the size of the largest community."""
        if self.largest_community is not None:
            return self.largest_community
        usual = max(10, round(LARGEST_IN_DEGREES * self.mean_relations))
        return min(self.nodes, MOST_SIZE, usual)

    def as_dict(self) -> dict[str, Any]:
        """Return the parameters, with the values used where none were given."""
        return {
            **asdict(self),
            "max_degree": self.most_relations,
            "largest_community": self.largest,
            "reciprocity": self.returned if self.directed else None,
        }


def law_of(model: SocialModel) -> Law:
    """Return the law of the relations."""
    law, known = _communities_asked(model)
    counts = np.diff(law.user_first_rank)
    pull = pulls(law.user_weight, counts, known)
    share = np.concatenate(([0.0], np.cumsum(pull * counts)))
    return law._replace(pull_share=share / share[-1], n_draws=round(share[-1] ** 2 / 2))


def n_communities(law: Law) -> int:
    """Return how many communities there are."""
    return int(law.size_first_community[-1])


def degree_classes(nodes: int, mean: float, exponent: float, most: float) -> tuple[Floats, Longs]:
    """Return the expected degree of each class of users, and how many users it has.

    Examples
    --------
    >>> degrees, users = degree_classes(1000, 10.0, 3.0, 200)
    >>> int(users.sum()), round(float(degrees @ users) / 1000, 6), bool(degrees.max() < 200)
    (1000, 10.0, True)
    """
    least = min(1.0, mean / 2)
    edges = np.geomspace(least, most, N_CLASSES + 1)
    degrees = np.sqrt(edges[:-1] * edges[1:])

    def users(log_shift: float) -> Longs:
        shift = math.exp(log_shift) - least
        above = ((edges + shift) / (least + shift)) ** (1 - exponent)
        below = (1 - above) / (1 - above[-1])
        return np.asarray(np.diff(np.rint(nodes * below).astype(np.int64)))

    ends = math.log(1e-4 * least), math.log(1e4 * most)
    _, shift = _bisect(*ends, 60, lambda x: bool(degrees @ users(x) < mean * nodes))
    counts = users(shift)
    # Users are whole: what rounding leaves is less than a class is wide.
    scale = mean * nodes / float(degrees @ counts)
    kept = counts > 0
    return degrees[kept] * scale, counts[kept]


def _communities_asked(model: SocialModel) -> tuple[Law, Floats]:
    """Return the communities; their sizes are scaled to reach a given number of them."""
    classes = degree_classes(
        model.nodes, model.mean_relations, model.exponent, model.most_relations
    )

    def scaled(log_scale: float) -> tuple[Law, Floats]:
        return _communities(model, *classes, math.exp(log_scale))

    def count(log_scale: float) -> int:
        return n_communities(scaled(log_scale)[0])

    asked = model.communities
    if asked is None:
        return scaled(0.0)
    largest = math.log(model.nodes)
    fewest, most = count(largest), count(-largest)
    if not fewest <= asked <= most:
        raise InputError(
            f"communities is {asked:,}; {model.nodes:,} users of this degree and "
            f"mixing make {fewest:,} to {most:,} of {LEAST_SIZE} to {MOST_SIZE:,} users."
        )
    scale, _ = _bisect(-largest, largest, 40, lambda x: count(x) >= asked)
    return scaled(scale)


def _communities(
    model: SocialModel, weight: Floats, counts: Longs, scale: float
) -> tuple[Law, Floats]:
    """Return a law without draws across, the sizes of its communities times `scale`.

    Also return the expected relations of two users, by class, in all communities together.
    """
    most_inside = model.density * (model.largest - 1)
    # From the densest at one acquaintance to `density` at the most: a power law between.
    fall = math.log(DENSEST / model.density) / math.log(most_inside)
    inside = weight * (1 - model.mixing)
    # Larger ones are less dense; smaller ones are as dense, and a user is in more of them.
    places = np.maximum(1, np.ceil(inside / max(1.0, most_inside * min(1.0, scale))))
    places = places.astype(np.int64)
    inside = inside / places
    order = np.argsort(inside, kind="stable")
    inside, places, counts = inside[order], places[order], counts[order]
    sizes_wanted = 1 + inside * np.clip(inside, 1.0, None) ** fall / DENSEST
    sizes_wanted = np.clip(sizes_wanted * max(1.0, scale), LEAST_SIZE, MOST_SIZE)
    windows = _windows(inside, sizes_wanted, places * counts)
    sizes, n_of_size = [], []
    known = np.zeros((len(inside), len(inside)))
    for first, end in pairwise(windows.tolist()):
        total = int((places * counts)[first:end].sum())
        number = max(1, round(total / sizes_wanted[end - 1]))
        size, larger = divmod(total, number)
        sizes += [size, size + 1]
        n_of_size += [number - larger, larger]
        these = slice(first, end)
        inside[these] = np.minimum(inside[these], FULLEST * (size - 1))
        known[these, these] = _known(inside[these], places[these], counts[these])
    used = (np.array(n_of_size) > 0) & (model.mixing < 1)
    size_of_each = np.array(sizes, dtype=np.int64)[used]
    n_of_each = np.array(n_of_size, dtype=np.int64)[used]
    first_place = _firsts(places * counts)
    law = Law(
        seed=model.seed,
        n_users=model.nodes,
        mutual=model.returned / (2.0 - model.returned),
        user_weight=weight[order],
        user_first_rank=_firsts(counts),
        user_places=places,
        user_first_place=first_place,
        user_inside=inside,
        window_first_place=first_place[windows],
        size=size_of_each,
        size_first_community=_firsts(n_of_each),
        size_first_place=_firsts(n_of_each * size_of_each),
        pull_share=np.ones(0),
        n_draws=0,
    )
    return law, known


def _known(inside: Floats, places: Longs, counts: Longs) -> Floats:
    """Return minus the logarithm of the chance that two users share no relation inside."""
    meetings = np.outer(places, places)  # each pair of places meets in one community or not
    total = max(float((inside * places) @ counts), 1e-9)
    chance = np.minimum(np.outer(inside, inside) / total, FULLEST)
    return np.asarray(-meetings * np.log1p(-chance))


def _windows(inside: Floats, sizes: Floats, n_places: Longs) -> Longs:
    """Return where windows begin: classes of similar degree with enough users to mix."""
    starts, end, total = [len(inside)], len(inside), 0
    for first in range(len(inside) - 1, -1, -1):
        total += int(n_places[first])
        wide = first == 0 or inside[first - 1] * SPREAD < inside[end - 1]
        if wide and total >= LEAST_COMMUNITIES * sizes[end - 1]:
            starts.append(first)
            end, total = first, 0
    if starts[-1] != 0:  # too few classes are left for a window of their own
        if len(starts) > 1:
            starts.pop()
        starts.append(0)
    return np.array(starts[::-1], dtype=np.int64)


def pulls(weight: Floats, counts: Longs, known: Floats) -> Floats:
    """Return each class's pull, so that expected degrees are the weights.

    Two users are related with probability 1 - exp(-known - pull * pull): in some community, or by
    a draw across, or both, which counts once.
    """
    inner = -np.expm1(-known)
    inner_degree = inner @ counts - np.diag(inner)
    needed = np.maximum(weight - inner_degree, 1e-6)
    pull = needed / math.sqrt(float(needed @ counts))
    for _ in range(200):
        reached = np.maximum(_degrees(pull, counts, known) - inner_degree, 1e-12)
        before, pull = pull, np.minimum(pull * np.sqrt(needed / reached), MOST_PULL)
        if np.max(np.abs(pull / before - 1)) < 1e-4:
            break
    # Where so few users cannot reach the largest degrees, all others get more.
    least = (1 - TOLERANCE) * (weight @ counts)
    factor, _ = _bisect(
        1.0, 8.0, 20, lambda x: bool(least > _degrees(x * pull, counts, known) @ counts)
    )
    return np.asarray(pull * factor)


def _degrees(pull: Floats, counts: Longs, known: Floats) -> Floats:
    """Return the expected degree of each class."""
    chance = -np.expm1(-known - np.outer(pull, pull))
    return np.asarray(chance @ counts - np.diag(chance))


def _bisect(
    low: float, high: float, steps: int, below: Callable[[float], bool]
) -> tuple[float, float]:
    """Return the ends of the range in which `below` changes from true to false."""
    for _ in range(steps):
        middle = (low + high) / 2
        if below(middle):
            low = middle
        else:
            high = middle
    return low, high


def _firsts(counts: Longs) -> Longs:
    """Return where runs of these lengths begin, and where the last one ends."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
