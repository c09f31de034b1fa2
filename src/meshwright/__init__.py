"""Meshwright: plan the network of a publish/subscribe system.

Names are loaded when first used, so that ``import meshwright`` starts nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from meshwright.content.assignment import Assignment
    from meshwright.content.dataset import load_assignment
    from meshwright.content.methods.registry import assign
    from meshwright.content.problem.dataset import load_problem
    from meshwright.errors import InputError, MeshwrightError
    from meshwright.model.broker_tree import BrokerTree
    from meshwright.model.density import Density
    from meshwright.model.instance import Instance
    from meshwright.model.overlay import Overlay, disconnected_topics
    from meshwright.model.problem import Problem
    from meshwright.model.small_world import SmallWorld
    from meshwright.overlay import design
    from meshwright.smallworld.routing.simulate import Run, simulate
    from meshwright.smallworld.routing.trace import trace

_HOME = {
    "InputError": "meshwright.errors",
    "MeshwrightError": "meshwright.errors",
    "Assignment": "meshwright.content.assignment",
    "BrokerTree": "meshwright.model.broker_tree",
    "Density": "meshwright.model.density",
    "Instance": "meshwright.model.instance",
    "Overlay": "meshwright.model.overlay",
    "Problem": "meshwright.model.problem",
    "Run": "meshwright.smallworld.routing.simulate",
    "SmallWorld": "meshwright.model.small_world",
    "assign": "meshwright.content.methods.registry",
    "design": "meshwright.overlay",
    "disconnected_topics": "meshwright.model.overlay",
    "load_assignment": "meshwright.content.dataset",
    "load_problem": "meshwright.content.problem.dataset",
    "simulate": "meshwright.smallworld.routing.simulate",
    "trace": "meshwright.smallworld.routing.trace",
}

__all__ = ["InputError", "MeshwrightError", "__version__"]
__all__ += ["Assignment", "BrokerTree", "Density", "Instance", "Overlay", "Problem"]
__all__ += ["Run", "SmallWorld", "assign", "design", "disconnected_topics"]
__all__ += ["load_assignment", "load_problem", "simulate", "trace"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'meshwright' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
