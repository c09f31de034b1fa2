"""Meshwright: plan the network of a publish/subscribe system.

Names are loaded when first used, so that ``import meshwright`` starts nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from meshwright.assignment.answer import Answer
    from meshwright.assignment.dataset import load_answer
    from meshwright.assignment.methods import assign
    from meshwright.errors import InputError, MeshwrightError
    from meshwright.problem import BrokerTree, Density, Problem
    from meshwright.problem.dataset import load_problem
    from meshwright.routing.simulate import Run, simulate
    from meshwright.routing.trace import trace
    from meshwright.smallworld import SmallWorld, design
    from meshwright.values import Instance, Overlay, disconnected_topics, load_instance

_HOME = {
    "InputError": "meshwright.errors",
    "MeshwrightError": "meshwright.errors",
    "Answer": "meshwright.assignment.answer",
    "BrokerTree": "meshwright.problem",
    "Density": "meshwright.problem",
    "Instance": "meshwright.values",
    "Overlay": "meshwright.values",
    "Problem": "meshwright.problem",
    "Run": "meshwright.routing",
    "SmallWorld": "meshwright.smallworld",
    "assign": "meshwright.assignment.methods",
    "design": "meshwright.smallworld",
    "disconnected_topics": "meshwright.values",
    "load_answer": "meshwright.assignment.dataset",
    "load_instance": "meshwright.values",
    "load_problem": "meshwright.problem.dataset",
    "simulate": "meshwright.routing",
    "trace": "meshwright.routing",
}

__all__ = [
    "Answer",
    "BrokerTree",
    "Density",
    "InputError",
    "Instance",
    "MeshwrightError",
    "Overlay",
    "Problem",
    "Run",
    "SmallWorld",
    "__version__",
    "assign",
    "design",
    "disconnected_topics",
    "load_answer",
    "load_instance",
    "load_problem",
    "simulate",
    "trace",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'meshwright' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
