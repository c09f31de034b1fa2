"""One entry in a table of methods: the overlay methods and the assignment methods share this type.

A table names each function as text and imports it on first use, so reading a table, as `--help`
does, imports nothing.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from meshwright.errors import InputError, unknown_choice


@dataclass(frozen=True, slots=True)
class Method:
    """Where the function of a method is, and which parameters it takes."""

    function: str  # "package.module:function"
    defaults: Mapping[str, Any] = field(default_factory=dict)  # every parameter, with its default
    budget: str | None = None  # the parameter that must be given
    reports_progress: bool = False  # whether the function takes `on_progress`
    on_spark: bool = False  # whether it also runs on Spark
    restrictable: bool = False  # whether it obeys leaves, limits and links
    searches: bool = False  # whether it takes `restrictions`, and returns facts of its search
    survivable: bool = False  # whether it designs overlays that survive the loss of nodes

    def load(self) -> Callable[..., Any]:
        """Import the function and return it."""
        module, name = self.function.split(":")
        return getattr(importlib.import_module(module), name)


def choose(methods: Mapping[str, Method], name: str) -> Method:
    """Return the method of that name; raise InputError if the table has none."""
    if name not in methods:
        raise unknown_choice("method", name, methods)
    return methods[name]


def fill(methods: Mapping[str, Method], name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a method, defaults filled in; None counts as not given.

    Raise InputError for a parameter that the method does not take, or without the budget it needs.
    """
    method = choose(methods, name)
    set_parameters = {key: value for key, value in given.items() if value is not None}
    for key in set_parameters:
        if key not in method.defaults:
            takes = ", ".join(method.defaults) or "no parameter"
            raise InputError(f"{name} does not take {key}; it takes {takes}.")
    parameters = {**method.defaults, **set_parameters}
    if method.budget is not None and parameters[method.budget] is None:
        option = method.budget.replace("_", "-")
        raise InputError(f"{name} needs a budget: give {method.budget} (--{option}).")
    return parameters


def check_seed(seed: object) -> None:
    """Raise InputError unless the seed is a whole number from 0 to 2^63 - 1."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed!r}; give a whole number from 0 to 2^63 - 1.")
