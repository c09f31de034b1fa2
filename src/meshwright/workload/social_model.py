"""What a social graph may be asked to be: the parameters, their defaults and their limits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from meshwright.errors import InputError
from meshwright.values import MOST_IDS

EXPONENT = 3.0  # what fits ego-Twitter, docs/generators.md
MIXING = 0.3
DENSITY = 0.6
DENSEST = 0.95  # complete communities would leave nothing to chance
RECIPROCITY = 0.5  # 0.48 in ego-Twitter
FACEBOOK_LIMIT = 5_000  # friends a user may have
LARGEST_IN_DEGREES = 5  # the largest community, in mean degrees
MOST_SIZE = 10_000  # of a community: every pair inside is looked at


@dataclass(frozen=True, slots=True)
class SocialModel:
    """What a social graph is asked to be. Friends unless `directed`; see docs/generators.md."""

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
    seed: int = 1

    def __post_init__(self) -> None:
        _check(self)

    @property
    def mean_relations(self) -> float:
        """Return the mean number of others that a user is related to, either way."""
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
        """Return the size that communities do not pass."""
        if self.largest_community is not None:
            return self.largest_community
        usual = max(10, round(LARGEST_IN_DEGREES * self.mean_relations))
        return min(self.nodes, MOST_SIZE, usual)

    def as_dict(self) -> dict[str, Any]:
        """Return what was asked for, and what was taken where nothing was."""
        return {
            **asdict(self),
            "max_degree": self.most_relations,
            "largest_community": self.largest,
            "reciprocity": self.returned if self.directed else None,
        }


def _check(model: SocialModel) -> None:
    """Raise unless such a graph can be."""
    if not 10 <= model.nodes <= MOST_IDS:
        raise InputError(f"nodes is {model.nodes}; give 10 to {MOST_IDS:,}.")
    if not 1.0 < model.exponent <= 100:
        raise InputError(f"exponent is {model.exponent}; give more than 1 and at most 100.")
    if not 0 <= model.mixing <= 1:
        raise InputError(f"mixing is {model.mixing}; give a share between 0 and 1.")
    if model.reciprocity is not None and not model.directed:
        raise InputError("reciprocity belongs to --directed: friends always are mutual.")
    if not 0 <= model.returned <= 1:
        raise InputError(f"reciprocity is {model.returned}; give a share between 0 and 1.")
    if not 0 <= model.seed < 2**63:
        raise InputError(f"seed is {model.seed}; give a whole number from 0 to 2^63 - 1.")
    if not 2 <= model.most_relations < model.nodes:
        raise InputError(
            f"max_degree is {model.max_degree}; give 2 to {model.nodes - 1:,}, the other users."
        )
    highest = model.most_relations / 4 / (2.0 - model.returned)
    if not 0 < model.mean_degree <= highest:
        raise InputError(
            f"mean_degree is {model.mean_degree:g}; give more than 0 and at most {highest:g}, a "
            f"quarter of the largest degree ({model.most_relations:,}), or raise --max-degree."
        )
    if model.communities is not None and (model.communities < 1 or model.mixing == 1):
        raise InputError(
            f"communities is {model.communities} and mixing {model.mixing:g}; give at least 1, and "
            "a mixing below 1: at 1 all relations are outside communities."
        )
    if not 10 <= model.largest <= min(model.nodes, MOST_SIZE):
        raise InputError(
            f"largest_community is {model.largest_community}; give 10 to "
            f"{min(model.nodes, MOST_SIZE):,} users."
        )
    if not 4 / model.largest <= model.density <= DENSEST:
        raise InputError(
            f"density is {model.density}; give {4 / model.largest:.2g} to {DENSEST} "
            f"for communities of up to {model.largest:,} users."
        )
