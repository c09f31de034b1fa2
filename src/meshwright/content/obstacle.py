"""Why a problem has no feasible assignment, and which limit would have to be relaxed how far.

Neither alpha nor nesting can be the reason: one box around everything keeps both. Load and latency
together can. Whether they can be kept is a question of flow from leaves to subscribers: a maximum
flow that leaves a subscriber without a place shows a bottleneck, a set of leaves with less room
than there are subscribers that have no other leaf in time.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from functools import partial
from math import floor

from meshwright.content.methods.flow import least_factor, place, tightest
from meshwright.content.problem import Problem
from meshwright.content.subscribers import InMemory, PlainTable, leaves_of, pack, subscribers_of
from meshwright.model.problem import ProblemSummary
from meshwright.runtime.arrays import Longs, Words

N_NAMED = 5  # brokers of a bottleneck that a message names
LARGE = 200_000  # subscribers; from here on delays are searched in coarser steps
STEPS = (1000, 100)  # per unit of delay, for small and for large problems
MOST_DELAY = 1000.0  # a larger delay does not limit anything


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Limits on load and latency that cannot be kept together."""

    n_subscribers: int  # the bottleneck: subscribers that have only these brokers in time
    room: int  # the number of subscribers that these brokers take at beta_max
    brokers: tuple[str, ...]
    beta_max: float | None  # the smallest that can be kept within latency, if there is one
    max_delay: float | None  # the smallest, in steps, that for all makes beta_max possible, if any

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


Groups = tuple[Words, Longs]  # leaves in time as bits, and subscribers with them


def find_obstacle(problem: Problem) -> Obstacle | None:
    """Return the reason why a problem has no feasible assignment, None if it has one.

    Cost: a maximum flow; a dozen or two if there is an obstacle.

    Examples
    --------
    >>> from meshwright.content.problem import BrokerTree
    >>> tree = BrokerTree(parent=[-1, 0, 0], location=[[0.0], [1.0], [4.0]])
    >>> low, high = [[0.0]] * 4, [[1.0]] * 4
    >>> print(find_obstacle(Problem(tree, high, low, high, 0.5, beta=1.0)))
    load within latency cannot hold: 4 subscribers have only broker-1 in time, with room for 3; \
it could with beta_max 2 or with max_delay 6 for all
    """
    return obstacle_of(problem, InMemory(subscribers_of(problem)))


def obstacle_of(problem: ProblemSummary, table: PlainTable) -> Obstacle | None:
    """Return the obstacle of a problem with the subscribers of a table."""
    leaves = leaves_of(problem)

    def groups(delay: float) -> Groups:
        return table.count(partial(leaves.in_time, least_delay=delay))

    masks, counts = groups(0.0)
    limits = problem.load_limits(problem.beta_max)
    placement = place(masks, counts, limits)
    if placement.complete:
        return None
    bottleneck, members = tightest(masks, placement, limits)
    able = (masks & pack(problem.leaf_capacity[None] > 0)).any(axis=1)
    return Obstacle(
        n_subscribers=members,
        room=int(limits[bottleneck].sum()),
        brokers=tuple(problem.tree.names[broker] for broker in problem.tree.leaves[bottleneck]),
        beta_max=least_factor(problem, masks, counts)[0] if able.all() else None,
        max_delay=_least_delay(problem, groups),
    )


def _least_delay(problem: ProblemSummary, groups: Callable[[float], Groups]) -> float | None:
    """Return the smallest delay for all, in steps, at which beta_max can be kept."""
    per_unit = STEPS[problem.n_subscribers >= LARGE]
    limits = problem.load_limits(problem.beta_max)
    if limits.sum() < problem.n_subscribers:
        return None

    def serves(steps: int) -> bool:
        return place(*groups(steps / per_unit), limits).complete

    low = floor(problem.delay_range[0] * per_unit)
    high = low + 1
    while not serves(high):
        low, high = high, 2 * high
        if high > MOST_DELAY * per_unit:
            return None
    return bisect_left(range(high), True, lo=low + 1, key=serves) / per_unit


def _rounded_up(value: float) -> str:
    """Return a number of four digits that is not below the value."""
    return f"{float(Context(prec=4, rounding=ROUND_CEILING).create_decimal(repr(value))):.4g}"
