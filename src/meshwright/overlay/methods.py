"""The methods by name: what each takes, and how its budget is checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from meshwright.errors import InputError, unknown_choice
from meshwright.overlay.engine import Edges
from meshwright.overlay.greedy_merge import greedy_merge
from meshwright.overlay.low import low
from meshwright.overlay.minmax import minmax
from meshwright.overlay.random_links import random_links
from meshwright.overlay.spidercast import spidercast
from meshwright.overlay.stars import stars
from meshwright.overlay.today import full_mesh, hub, ring_per_topic, star
from meshwright.values import Instance

TIES = ("degree", "id")
FINGERS = ("chord", "random")
MOST_BUDGET = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Method:
    """One way to design an overlay.

    `defaults` are the parameters it takes; `budget` names the one it cannot go without; a method
    that `tells` takes a function to report its progress to.
    """

    summary: str
    build: Callable[..., Edges]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    budget: str | None = None
    tells: bool = False


METHODS: Mapping[str, Method] = {
    "gm": Method("fewest links: best edge first", greedy_merge, {"ties": "degree"}, tells=True),
    "minmax": Method("low maximum degree", minmax, tells=True),
    "low": Method("low maximum and average degree", low, {"k": 2}, tells=True),
    "gpa": Method(
        "most support with a number of links",
        greedy_merge,
        {"ties": "degree", "max_edges": None},
        budget="max_edges",
        tells=True,
    ),
    "gpm": Method(
        "most support within a degree limit",
        minmax,
        {"max_degree": None, "max_edges": None},
        budget="max_degree",
        tells=True,
    ),
    "cd": Method("diameter 2, most neighbours", partial(stars, method="cd")),
    "cd1": Method("diameter 2, most weighted neighbours", partial(stars, method="cd1")),
    "cd2": Method("diameter 2, densest first", partial(stars, method="cd2")),
    "spidercast": Method(
        "as peers would find it",
        spidercast,
        {"max_degree": None, "max_edges": None, "k_greedy": 3, "k_random": 1, "seed": 1},
    ),
    "random-average": Method(
        "random links, a number of them",
        random_links,
        {"max_edges": None, "seed": 1},
        budget="max_edges",
    ),
    "random-max": Method(
        "random links within a degree limit",
        random_links,
        {"max_degree": None, "max_edges": None, "seed": 1},
        budget="max_degree",
    ),
    "ring-per-topic": Method("today: a cycle per topic", ring_per_topic),
    "star": Method("today: one hub", star, {"relay": True}),
    "full-mesh": Method("today: all pairs", full_mesh),
}


def choose(
    method: str, given: Mapping[str, Any], methods: Mapping[str, Method] = METHODS
) -> tuple[Method, dict[str, Any]]:
    """Return the method and its parameters, defaults filled in; raise when they do not fit."""
    check_choice(method, methods)
    chosen = methods[method]
    asked = {name: value for name, value in given.items() if value is not None}
    for name in asked:
        if name not in chosen.defaults:
            takes = ", ".join(chosen.defaults) or "no parameter"
            raise InputError(f"{method} does not take {name}; it takes {takes}.")
    parameters = {**chosen.defaults, **asked}
    _check(parameters)
    if chosen.budget is not None and parameters[chosen.budget] is None:
        option = chosen.budget.replace("_", "-")
        raise InputError(f"{method} needs a budget: give {chosen.budget} (--{option}).")
    return chosen, parameters


def check_choice(method: str, methods: Mapping[str, Method] = METHODS) -> None:
    """Raise unless there is a method of that name."""
    if method not in methods:
        raise unknown_choice("method", method, methods)


def check_average(average_degree: float) -> None:
    """Raise unless an average degree can be a budget."""
    if not (math.isfinite(average_degree) and average_degree > 0):
        raise InputError(f"average_degree is {average_degree}; give a number above 0.")


def edges_of_average(instance: Instance, average_degree: float) -> int:
    """Return the budget of edges that an average degree allows."""
    return max(1, math.floor(average_degree * instance.n_nodes / 2))


def _check(parameters: Mapping[str, Any]) -> None:
    for name in ("max_edges", "max_degree"):
        value = parameters.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_BUDGET:
            raise InputError(f"{name} is {value!r}; give a whole number from 1 to {MOST_BUDGET:,}.")
    if parameters.get("ties", "degree") not in TIES:
        raise unknown_choice("ties", parameters["ties"], TIES)
    if parameters.get("fingers", "chord") not in FINGERS:
        raise unknown_choice("fingers", parameters["fingers"], FINGERS)
    k = parameters.get("k", 1)
    if not (isinstance(k, int | float) and math.isfinite(k) and k >= 1):
        raise InputError(f"k is {k!r}; give a number of at least 1.")
    for name in ("k_greedy", "k_random"):
        value = parameters.get(name, 0)
        if not (isinstance(value, int) and 0 <= value <= 1000):
            raise InputError(f"{name} is {value!r}; give a whole number from 0 to 1000.")
    seed = parameters.get("seed", 0)
    if not (isinstance(seed, int) and 0 <= seed < 2**63):
        raise InputError(f"seed is {seed!r}; give a whole number from 0 to 2^63 - 1.")


def noted(instance: Instance, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as the manifest tells them: the hub by name, the seed apart."""
    told = {name: value for name, value in parameters.items() if name != "seed"}
    if method == "star" and instance.n_nodes:
        told["hub"] = instance.node_names[hub(instance)]
    return told
