"""Why a problem has no feasible answer, and how far a limit must move for one to exist.

Neither alpha nor nesting stands in the way: one box around everything always serves. What may
not fit together is load and latency, which is a matter of flow from leaves to subscribers. A flow
that leaves someone over shows a bottleneck: leaves with less room than there are subscribers who
have no other leaf in time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
import numpy.typing as npt

from meshwright.assignment.flow import group_rows, place, tightest
from meshwright.problem import Problem
from meshwright.problem.latency import marks_in_time

N_NAMED = 5  # brokers of a bottleneck told by name
LARGE = 200_000  # subscribers; from here on delays are told in coarser steps
STEPS = (1000, 100)  # per unit of delay, for small and for large problems
MOST_DELAY = 1000.0  # a delay beyond this is no limit any more


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Load and latency that do not go together.

    Parameters
    ----------
    n_subscribers, room, brokers
        So many subscribers have no leaf in time but these brokers, which take `room` at beta_max.
    beta_max
        The smallest that some answer within latency keeps; None when none does.
    max_delay
        The smallest, in steps, at which some answer keeps beta_max when all who allow less allow
        as much; None when none does.

    """

    n_subscribers: int
    room: int
    brokers: tuple[str, ...]
    beta_max: float | None
    max_delay: float | None

    def __str__(self) -> str:
        named = ", ".join(self.brokers[:N_NAMED])
        if len(self.brokers) > N_NAMED:
            named += f" and {len(self.brokers) - N_NAMED:,} more"
        remedies = []
        if self.beta_max is not None:
            remedies.append(f"beta_max {_rounded_up(self.beta_max)}")
        if self.max_delay is not None:
            remedies.append(f"max_delay {self.max_delay:g} for all")
        could = f"it could with {' or with '.join(remedies)}" if remedies else "no limit changes it"
        return (
            f"load within latency cannot hold: {self.n_subscribers:,} subscribers have only "
            f"{named} in time, with room for {self.room:,}; {could}"
        )

    def as_dict(self) -> dict[str, object]:
        """Return the obstacle as the manifest tells it."""
        return {
            "n_subscribers": self.n_subscribers,
            "room": self.room,
            "brokers": list(self.brokers),
            "beta_max": self.beta_max,
            "max_delay": self.max_delay,
        }


Groups = tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]  # bits of leaves, and how many


def find_obstacle(
    problem: Problem,
    groups: Callable[[float], Groups] | None = None,
    least_delay: float | None = None,
) -> Obstacle | None:
    """Return what keeps a problem from having a feasible answer, None when it has one.

    Cost: a maximum flow; a dozen or two where there is an obstacle.

    Parameters
    ----------
    groups, least_delay
        For a problem whose subscribers are not in memory: the groups of those with the same leaves
        in time when all who allow less allow a given delay, and the least that one allows.


    Examples
    --------
    >>> from meshwright.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [4.0]])
    >>> low = np.zeros((4, 1))
    >>> print(find_obstacle(Problem(tree, np.ones((4, 1)), low, low + 1, 0.5, beta=1.0)))
    load within latency cannot hold: 4 subscribers have only broker-1 in time, with room for 3; \
it could with beta_max 2 or with max_delay 6 for all

    """
    if groups is None:
        groups, least_delay = _in_memory(problem), float(problem.max_delay.min(initial=np.inf))
    assert least_delay is not None
    masks, counts = groups(0.0)
    limits = problem.load_limits(problem.beta_max)
    placement = place(masks, counts, limits)
    if placement.complete:
        return None
    first: tuple[npt.NDArray[np.bool_], int] | None = None
    beta_max: float | None = None
    while not placement.complete:
        leaves, members = tightest(masks, placement, limits)
        first = first or (leaves, members)
        # By Hall's theorem no smaller factor serves these, so the first that serves all is least.
        beta_max = _factor_for(problem, leaves, members)
        if beta_max is None:
            break
        limits = problem.load_limits(beta_max)
        placement = place(masks, counts, limits, placement)
    assert first is not None
    brokers = problem.tree.leaves[first[0]]
    return Obstacle(
        n_subscribers=first[1],
        room=int(problem.load_limits(problem.beta_max)[first[0]].sum()),
        brokers=tuple(problem.tree.names[broker] for broker in brokers),
        beta_max=beta_max,
        max_delay=_least_delay(problem, groups, least_delay),
    )


def _factor_for(problem: Problem, leaves: npt.NDArray[np.bool_], members: int) -> float | None:
    """Return the smallest load balance factor at which leaves take so many subscribers."""
    shares = problem.leaf_capacity[leaves] * problem.n_subscribers
    shares = shares[shares > 0]
    if len(shares) == 0:
        return None
    # Limits are whole numbers: some leaf is exactly full at the factor sought.
    least, most = members / shares.sum(), (members + len(shares)) / shares.sum()
    factors = np.unique(
        [
            n / share
            for share in shares.tolist()
            for n in range(max(1, floor(least * share)), ceil(most * share) + 1)
        ]
    )
    fits = [problem.load_limits(factor)[leaves].sum() >= members for factor in factors.tolist()]
    return float(factors[fits.index(True)])


def _in_memory(problem: Problem) -> Callable[[float], Groups]:
    def groups(delay: float) -> Groups:
        wider = problem.with_limits(max_delay=np.maximum(problem.max_delay, delay))
        masks, _, counts = group_rows(marks_in_time(wider))
        return masks, counts

    return groups


def _least_delay(problem: Problem, groups: Callable[[float], Groups], least: float) -> float | None:
    """Return the smallest delay for all, in steps, at which beta_max can be kept."""
    per_unit = STEPS[problem.n_subscribers >= LARGE]
    limits = problem.load_limits(problem.beta_max)
    if limits.sum() < problem.n_subscribers:
        return None

    def serves(steps: int) -> bool:
        return place(*groups(steps / per_unit), limits).complete

    low = floor(least * per_unit)
    high = low + 1
    while not serves(high):
        low, high = high, 2 * high
        if high > MOST_DELAY * per_unit:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if serves(middle):
            high = middle
        else:
            low = middle
    return high / per_unit


def _rounded_up(value: float) -> str:
    """Return a number of four digits that is not below the value."""
    text = f"{value:.4g}"
    return (
        text
        if float(text) >= value
        else f"{value + 0.5 * 10.0 ** (floor(np.log10(value)) - 3):.4g}"
    )
