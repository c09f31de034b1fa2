"""What a synthetic problem is made from, checked, with the paper's values where none are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from meshwright.errors import InputError, unknown_choice
from meshwright.values import MOST_IDS

SETS = (1, 2, 3)
DEGREES = ("low", "high")
LATENCIES = ("tight", "loose")
LEVELS = ("one", "many")
ALPHA = 3
OUT_DEGREE = 15
BROKERS = {"one": 100, "many": 200}
MAX_DELAY = 0.3
BETAS = {1: (1.5, 1.8), 2: (2.3, 2.5), 3: (1.3, 1.5)}  # one level: beta, beta_max of each set
MANY = {"tight": (0.2, 7.0, 8.0), "loose": (1.0, 1.3, 1.5)}  # max_delay, beta, beta_max
MOST_BROKERS = 100_000  # each subscriber looks at every leaf


@dataclass(frozen=True, slots=True)
class ContentArguments:
    """The arguments of one synthetic problem, complete."""

    set: int
    subscribers: int
    brokers: int  # without the publisher, inner ones included
    skew: str | None  # set 1 only
    broad: str | None  # set 1 only
    max_out_degree: int | None  # None: one level
    max_delay: float
    alpha: int
    beta: float
    beta_max: float
    last_hop: bool
    seed: int

    @property
    def limits(self) -> dict[str, Any]:
        """The limits as a problem and its manifest hold them."""
        return {
            "alpha": self.alpha,
            "beta": self.beta,
            "beta_max": self.beta_max,
            "last_hop": self.last_hop,
        }


def content_arguments(
    *,
    set: int = 1,
    subscribers: int = 100_000,
    brokers: int | None = None,
    skew: str | None = None,
    broad: str | None = None,
    levels: str = "one",
    max_out_degree: int | None = None,
    latency: str | None = None,
    max_delay: float | None = None,
    alpha: int = ALPHA,
    beta: float | None = None,
    beta_max: float | None = None,
    last_hop: bool = False,
    seed: int = 1,
) -> ContentArguments:
    """Return the arguments of a synthetic problem, the paper's values where none are given.

    Examples
    --------
    >>> found = content_arguments(set=1, levels="many", latency="tight")
    >>> found.brokers, found.max_out_degree, found.max_delay, found.beta, found.beta_max
    (200, 15, 0.2, 7.0, 8.0)

    """
    if set not in SETS:
        raise unknown_choice("set", set, map(str, SETS))
    if levels not in LEVELS:
        raise unknown_choice("--levels", levels, LEVELS)
    for name, choice in (("--skew", skew), ("--broad", broad)):
        if choice is not None and set != 1:
            raise InputError(f"{name} belongs to set 1, not to set {set}. Leave it out.")
        if choice is not None and choice not in DEGREES:
            raise unknown_choice(name, choice, DEGREES)
    if levels == "one" and (latency is not None or max_out_degree is not None):
        name = "--latency" if latency is not None else "--max-out-degree"
        raise InputError(f"{name} belongs to trees of several levels; add --levels many.")
    if latency is not None and latency not in LATENCIES:
        raise unknown_choice("--latency", latency, LATENCIES)
    if levels == "many":
        delay, low, high = MANY[latency or "loose"]
        max_out_degree = OUT_DEGREE if max_out_degree is None else max_out_degree
    else:
        delay, (low, high) = MAX_DELAY, BETAS[set]
    if beta is None:
        beta = low if beta_max is None else min(low, beta_max)
    if beta_max is None:
        beta_max = max(high, beta)
    found = ContentArguments(
        set=set,
        subscribers=subscribers,
        brokers=BROKERS[levels] if brokers is None else brokers,
        skew=(skew or "high") if set == 1 else None,
        broad=(broad or "low") if set == 1 else None,
        max_out_degree=max_out_degree,
        max_delay=delay if max_delay is None else max_delay,
        alpha=alpha,
        beta=beta,
        beta_max=beta_max,
        last_hop=last_hop,
        seed=seed,
    )
    _check(found)
    return found


def check_limits(max_delay: float, alpha: int, beta: float, beta_max: float) -> None:
    """Raise unless the limits of a problem make sense."""
    if not 0 <= max_delay < float("inf"):
        raise InputError(f"--max-delay is {max_delay}; give 0 or more, the paper's is 0.3.")
    if alpha < 1:
        raise InputError(f"--alpha is {alpha}; give 1 or more boxes per filter.")
    if not 1 <= beta <= beta_max < float("inf"):
        raise InputError(
            f"--beta is {beta} and --beta-max is {beta_max}; give 1 <= beta <= beta-max."
        )


def _check(found: ContentArguments) -> None:
    if not 1 <= found.subscribers <= MOST_IDS:
        raise InputError(f"--subscribers is {found.subscribers}; give 1 to {MOST_IDS:,}.")
    if not 1 <= found.brokers <= MOST_BROKERS:
        raise InputError(f"--brokers is {found.brokers}; give 1 to {MOST_BROKERS:,}.")
    if found.max_out_degree is not None and found.max_out_degree < 2:
        raise InputError(f"--max-out-degree is {found.max_out_degree}; give 2 or more.")
    check_limits(found.max_delay, found.alpha, found.beta, found.beta_max)
    if not 0 <= found.seed < 2**63:
        raise InputError(f"seed is {found.seed}; give a whole number from 0 to 2^63 - 1.")
