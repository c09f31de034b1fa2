"""Synthetic problems in memory: their arguments, workload sets and broker trees.

The paper's values hold for arguments that are not given (docs/content.md).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from meshwright.content.problem import workload_sets as sets
from meshwright.content.problem.dataset import LIMITS
from meshwright.errors import InputError, check_choice
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.instance import MOST_IDS
from meshwright.model.method import check_seed
from meshwright.model.names import NumberedNames
from meshwright.model.problem import Problem, check_limits
from meshwright.runtime.arrays import Floats, Ints

OUT_DEGREE = 15
BROKERS = {"one": 100, "many": 200}  # by levels
MAX_DELAY = 0.3
BETAS = {1: (1.5, 1.8), 2: (2.3, 2.5), 3: (1.3, 1.5)}  # one level: beta, beta_max of each set
MANY = {"tight": (0.2, 7.0, 8.0), "loose": (1.0, 1.3, 1.5)}  # max_delay, beta, beta_max
MOST_BROKERS = 100_000  # every subscriber is compared with every leaf


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentArguments:
    """The complete arguments of one synthetic problem."""

    set: int
    subscribers: int = 100_000
    brokers: int  # inner ones included, the publisher not
    skew: str | None  # set 1 only
    broad: str | None  # set 1 only
    max_out_degree: int | None  # None: one level
    max_delay: float
    alpha: int = 3
    beta: float
    beta_max: float
    last_hop: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.subscribers <= MOST_IDS:
            raise InputError(f"--subscribers is {self.subscribers}; give 1 to {MOST_IDS:,}.")
        if not 1 <= self.brokers <= MOST_BROKERS:
            raise InputError(f"--brokers is {self.brokers}; give 1 to {MOST_BROKERS:,}.")
        if self.max_out_degree is not None and not 2 <= self.max_out_degree <= MOST_BROKERS:
            raise InputError(
                f"--max-out-degree is {self.max_out_degree}; give 2 or more (the paper uses 15), "
                f"{MOST_BROKERS:,} at most."
            )
        check_limits(self.alpha, self.beta, self.beta_max, self.max_delay)
        check_seed(self.seed)

    @property
    def limits(self) -> dict[str, Any]:
        """The limits as a problem and its manifest hold them."""
        return {name: getattr(self, name) for name in LIMITS}


def content_arguments(
    *,
    set: int = 1,
    brokers: int | None = None,
    skew: str | None = None,
    broad: str | None = None,
    levels: str = "one",
    max_out_degree: int | None = None,
    latency: str | None = None,
    max_delay: float | None = None,
    beta: float | None = None,
    beta_max: float | None = None,
    **more: Any,
) -> ContentArguments:
    """Return the arguments of a synthetic problem, with the paper's values where none are given.

    `more` are fields of `ContentArguments` with a default of their own.

    Examples
    --------
    >>> found = content_arguments(set=1, levels="many", latency="tight")
    >>> found.brokers, found.max_out_degree, found.max_delay, found.beta, found.beta_max
    (200, 15, 0.2, 7.0, 8.0)
    """
    check_choice("set", set, BETAS)
    check_choice("--levels", levels, BROKERS)
    check_choice("--latency", latency, MANY)
    check_choice("--skew", skew, sets.SKEW)
    check_choice("--broad", broad, sets.BREADTH)
    for name, degree in (("--skew", skew), ("--broad", broad)):
        if degree is not None and set != 1:
            raise InputError(f"{name} belongs to set 1, not to set {set}. Leave it out.")
    for name, value in (("--latency", latency), ("--max-out-degree", max_out_degree)):
        if levels == "one" and value is not None:
            raise InputError(f"{name} belongs to trees of several levels; add --levels many.")
    if levels == "many":
        delay, low, high = MANY[latency or "loose"]
        max_out_degree = OUT_DEGREE if max_out_degree is None else max_out_degree
    else:
        delay, (low, high) = MAX_DELAY, BETAS[set]
    if beta is None:
        beta = low if beta_max is None else min(low, beta_max)
    return ContentArguments(
        set=set,
        brokers=BROKERS[levels] if brokers is None else brokers,
        skew=(skew or "high") if set == 1 else None,
        broad=(broad or "low") if set == 1 else None,
        max_out_degree=max_out_degree,
        max_delay=delay if max_delay is None else max_delay,
        beta=beta,
        beta_max=max(high, beta) if beta_max is None else beta_max,
        **more,
    )


def draw_problem(arguments: ContentArguments) -> Problem:
    """Return a synthetic problem in memory, without Spark: the problem that `generate` writes."""
    drawn = workload_set(arguments)
    rows = drawn.subscribers(0, arguments.subscribers)
    delay = np.array(arguments.max_delay)
    return Problem(broker_tree(drawn, arguments), *rows, delay, **arguments.limits)


def workload_set(arguments: ContentArguments) -> sets.WorkloadSet:
    """Return the workload set that the arguments name."""
    if arguments.set == 1:
        return sets.GoogleGroups(
            arguments.seed, skew=str(arguments.skew), broad=str(arguments.broad)
        )
    kind = sets.NewsFeeds if arguments.set == 2 else sets.GridHotSpots
    return kind(arguments.seed, arguments.brokers)


def broker_tree(drawn: sets.WorkloadSet, arguments: ContentArguments) -> BrokerTree:
    """Return the broker tree of a workload set; the publisher is the last row."""
    n = arguments.brokers
    places = drawn.brokers(n)
    if arguments.max_out_degree is None:
        parent = np.full(n, n)
    else:
        parent = build_broker_tree(places, drawn.publisher, arguments.max_out_degree)
        parent = np.where(parent < 0, n, parent)
    names = [*NumberedNames("broker", n), "publisher"]
    return BrokerTree(np.append(parent, -1), np.vstack((places, drawn.publisher)), names=names)


def build_broker_tree(places: Floats, publisher: Floats, max_out_degree: int) -> Ints:
    """Return the parent of each broker, -1 for the publisher's children.

    `places` is float64[brokers, network dimensions], `max_out_degree` the largest number of
    children, at least 2. Brokers join in the order of their distance from the publisher. Each
    becomes a child of the nearest that is there already, the publisher included, and has room; ties
    go to the one that joined first. Nothing is random.

    Examples
    --------
    >>> places = np.array([[1.0], [2.0], [-3.0], [9.0]])
    >>> build_broker_tree(places, np.array([0.0]), 2).tolist()
    [-1, 0, -1, 1]
    """
    n = len(places)
    order = np.argsort(_squares(places - publisher), kind="stable")
    joined = np.vstack((publisher, places[order]))  # the publisher, then brokers as they join
    room = np.full(n + 1, max_out_degree)
    above = np.zeros(n, np.int64)  # by order of joining: the row of `joined` that is the parent
    for row in range(1, n + 1):
        far = np.where(room[:row] > 0, _squares(joined[:row] - joined[row]), np.inf)
        above[row - 1] = best = int(np.argmin(far))
        room[best] -= 1
    parent = np.full(n, -1, np.int32)
    inner = above > 0
    parent[order[inner]] = order[above[inner] - 1]
    return parent


def _squares(offsets: Floats) -> Floats:
    """Return the squared length of each row."""
    return np.asarray((offsets * offsets).sum(axis=1))
