"""Every way to design an overlay, by name, and the checks of their parameters."""

from collections.abc import Mapping
from typing import Any

from meshwright.errors import InputError, unknown_choice
from meshwright.model.method import Method, check_seed, fill

TIES = ("degree", "id")
FINGERS = ("chord", "random")
FILLS = ("interest", "random")
UNTIL = ("covered", "full")
MOST_BUDGET = 2**31 - 1
MOST_LOST = 8  # nodes whose loss a plan survives; more would need a full mesh of most topics
MOST_K = 1000  # as a fraction of integers: their products with gains fit int64

GREEDY = "meshwright.overlay.methods.greedy"
STARS = "meshwright.overlay.methods.stars"
BASELINES = "meshwright.overlay.methods.baselines"
RANDOM = f"{BASELINES}:random_links"
WORLDS = "meshwright.smallworld.methods"
LIMITS = {"max_degree": None, "max_edges": None}


def _greedy(function: str, *, on_spark: bool = True, **more: Any) -> Method:
    return Method(
        f"{GREEDY}:{function}", reports_progress=True, restrictable=True, on_spark=on_spark, **more
    )


def _world(name: str, **defaults: Any) -> Method:
    return Method(f"{WORLDS}:world_{name}", {**defaults, "seed": 1}, reports_progress=True)


# These give a ring and fingers (a SmallWorld); the other methods give edges and gains.
SMALL_WORLDS: Mapping[str, Method] = {
    "sl": _world("sl", fill="interest"),
    "s": _world("s", fingers="chord"),
    "l": _world("l", fill="interest"),
    "none": _world("none", fingers="chord"),
}
MAX_EDGES = {"max_edges": None}
METHODS: Mapping[str, Method] = {
    "gm": _greedy("greedy_merge", defaults={"ties": "degree"}, survivable=True),
    "minmax": _greedy("minmax", survivable=True),
    "low": _greedy("low", on_spark=False, defaults={"k": 2}),
    "gpa": _greedy("greedy_merge", defaults={"ties": "degree", **MAX_EDGES}, budget="max_edges"),
    "gpm": _greedy("minmax", defaults=LIMITS, budget="max_degree"),
    "refined": Method(
        "meshwright.overlay.methods.refined:refined",
        {"max_degree": None, "seconds": None, "rounds": None, "seed": 1},
        reports_progress=True,
        restrictable=True,
        searches=True,
        survivable=True,
    ),
    "exact": Method(
        "meshwright.overlay.methods.exact:exact",
        {"max_degree": None, "seconds": 60.0},
        reports_progress=True,
        restrictable=True,
        searches=True,
    ),
    "cd": Method(f"{STARS}:cd"),
    "cd1": Method(f"{STARS}:cd1"),
    "cd2": Method(f"{STARS}:cd2"),
    "spidercast": Method(
        "meshwright.overlay.methods.spidercast:spidercast",
        {**LIMITS, "k_greedy": 3, "k_random": 1, "until": "covered", "seed": 1},
    ),
    "random-average": Method(RANDOM, {**MAX_EDGES, "seed": 1}, budget="max_edges"),
    "random-max": Method(RANDOM, {**LIMITS, "seed": 1}, budget="max_degree"),
    # What people build today.
    "ring-per-topic": Method(f"{BASELINES}:ring_per_topic"),
    "star": Method(f"{BASELINES}:star", {"relay": True}),
    "full-mesh": Method(f"{BASELINES}:full_mesh"),
    **SMALL_WORLDS,
}
ON_SPARK = tuple(name for name, method in METHODS.items() if method.on_spark)
SURVIVABLE = tuple(name for name, method in METHODS.items() if method.survivable)
RESTRICTABLE = tuple(name for name, method in METHODS.items() if method.restrictable)


def fill_parameters(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a method's parameters, defaults filled in; raise InputError for an invalid one."""
    parameters = fill(METHODS, method, given)
    for name in ("max_edges", "max_degree"):
        value = parameters.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_BUDGET:
            raise InputError(f"{name} is {value!r}; give a whole number from 1 to {MOST_BUDGET:,}.")
    known = {"ties": TIES, "fingers": FINGERS, "fill": FILLS, "until": UNTIL}
    for name, choices in known.items():
        if parameters.get(name, choices[0]) not in choices:
            raise unknown_choice(name, parameters[name], choices)
    k = parameters.get("k", 1)
    if not (isinstance(k, int | float) and 1 <= k <= MOST_K):
        raise InputError(f"k is {k!r}; give a number from 1 to {MOST_K:,}.")
    for name in ("k_greedy", "k_random"):
        value = parameters.get(name, 0)
        if not (isinstance(value, int) and 0 <= value <= 1000):
            raise InputError(f"{name} is {value!r}; give a whole number from 0 to 1000.")
    _check_search(parameters)
    check_seed(parameters.get("seed", 0))
    return parameters


def check_survive(method: str, survive: object) -> None:
    """Raise InputError unless a method can design for the loss of so many nodes."""
    is_count = isinstance(survive, int) and not isinstance(survive, bool)
    if not is_count or not 0 <= survive <= MOST_LOST:  # type: ignore[operator]
        raise InputError(f"survive is {survive!r}; give a whole number from 0 to {MOST_LOST}.")
    if survive and not METHODS[method].survivable:
        raise InputError(f"{method} does not know survive; {', '.join(SURVIVABLE)} do.")


def _check_search(parameters: Mapping[str, Any]) -> None:
    """Raise InputError unless the limits of a search, if it has any, are possible."""
    seconds, rounds = parameters.get("seconds"), parameters.get("rounds")
    if seconds is not None and not (
        isinstance(seconds, int | float) and 0 < seconds <= MOST_BUDGET
    ):
        raise InputError(f"seconds is {seconds!r}; give a number above 0.")
    is_count = isinstance(rounds, int) and not isinstance(rounds, bool)
    if rounds is not None and not (is_count and 0 <= rounds <= MOST_BUDGET):
        raise InputError(f"rounds is {rounds!r}; give a whole number, 0 or more.")
    if seconds is not None and rounds is not None:
        raise InputError("give seconds or rounds, not both.")
