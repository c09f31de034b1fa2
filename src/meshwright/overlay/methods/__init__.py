"""Every way to design an overlay, by name, and the checks of their parameters."""

import math
from collections.abc import Mapping
from typing import Any

from meshwright.errors import InputError, unknown_choice
from meshwright.model.method import Method, check_seed, fill

TIES = ("degree", "id")
FINGERS = ("chord", "random")
MOST_BUDGET = 2**31 - 1

GREEDY = "meshwright.overlay.methods.greedy"
STARS = "meshwright.overlay.methods.stars"
BASELINES = "meshwright.overlay.methods.baselines"
WORLDS = "meshwright.smallworld.methods"
LIMITS = {"max_degree": None, "max_edges": None}


def _greedy(summary: str, function: str, *, on_spark: bool = True, **more: Any) -> Method:
    where = f"{GREEDY}:{function}"
    return Method(summary, where, reports_progress=True, on_spark=on_spark, **more)


def _world(summary: str, function: str, *, by_gain: bool = True, **defaults: Any) -> Method:
    return Method(summary, f"{WORLDS}:{function}", defaults, reports_progress=by_gain)


# These give a ring and fingers (a SmallWorld); the other methods give edges and gains.
SMALL_WORLDS: Mapping[str, Method] = {
    "sl": _world("small world, ring and fingers by gain", "greedy_world", seed=1),
    "s": _world("small world, ring by gain", "greedy_ring_world", fingers="chord", seed=1),
    "l": _world("small world, fingers by gain", "greedy_finger_world", seed=1),
    "none": _world(
        "small world, interests ignored", "plain_world", by_gain=False, fingers="chord", seed=1
    ),
}

METHODS: Mapping[str, Method] = {
    "gm": _greedy("fewest links: best edge first", "greedy_merge", defaults={"ties": "degree"}),
    "minmax": _greedy("low maximum degree", "minmax"),
    "low": _greedy("low maximum and average degree", "low", on_spark=False, defaults={"k": 2}),
    "gpa": _greedy(
        "most support with a number of links",
        "greedy_merge",
        defaults={"ties": "degree", "max_edges": None},
        budget="max_edges",
    ),
    "gpm": _greedy(
        "most support within a degree limit", "minmax", defaults=LIMITS, budget="max_degree"
    ),
    "cd": Method("diameter 2, most neighbours", f"{STARS}:cd"),
    "cd1": Method("diameter 2, most weighted neighbours", f"{STARS}:cd1"),
    "cd2": Method("diameter 2, densest first", f"{STARS}:cd2"),
    "spidercast": Method(
        "as peers would find it",
        "meshwright.overlay.methods.spidercast:spidercast",
        {**LIMITS, "k_greedy": 3, "k_random": 1, "seed": 1},
    ),
    "random-average": Method(
        "random links, a number of them",
        f"{BASELINES}:random_links",
        {"max_edges": None, "seed": 1},
        budget="max_edges",
    ),
    "random-max": Method(
        "random links within a degree limit",
        f"{BASELINES}:random_links",
        {**LIMITS, "seed": 1},
        budget="max_degree",
    ),
    "ring-per-topic": Method("today: a cycle per topic", f"{BASELINES}:ring_per_topic"),
    "star": Method("today: one hub", f"{BASELINES}:star", {"relay": True}),
    "full-mesh": Method("today: all pairs", f"{BASELINES}:full_mesh"),
    **SMALL_WORLDS,
}
ON_SPARK = tuple(name for name, method in METHODS.items() if method.on_spark)


def fill_parameters(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a method's parameters, defaults filled in; raise InputError for an invalid one."""
    parameters = fill(METHODS, method, given)
    for name in ("max_edges", "max_degree"):
        value = parameters.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_BUDGET:
            raise InputError(f"{name} is {value!r}; give a whole number from 1 to {MOST_BUDGET:,}.")
    for name, choices in (("ties", TIES), ("fingers", FINGERS)):
        if parameters.get(name, choices[0]) not in choices:
            raise unknown_choice(name, parameters[name], choices)
    k = parameters.get("k", 1)
    if not (isinstance(k, int | float) and math.isfinite(k) and k >= 1):
        raise InputError(f"k is {k!r}; give a number of at least 1.")
    for name in ("k_greedy", "k_random"):
        value = parameters.get(name, 0)
        if not (isinstance(value, int) and 0 <= value <= 1000):
            raise InputError(f"{name} is {value!r}; give a whole number from 0 to 1000.")
    check_seed(parameters.get("seed", 0))
    return parameters
