"""Meshwright: plan the network of a publish/subscribe system.

Names are loaded when first used, so that ``import meshwright`` starts nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from meshwright.errors import InputError, MeshwrightError
    from meshwright.routing.simulate import Run, simulate
    from meshwright.routing.trace import trace
    from meshwright.smallworld import SmallWorld, design
    from meshwright.values import Instance, Overlay, disconnected_topics, load_instance

_HOME = {
    "InputError": "meshwright.errors",
    "MeshwrightError": "meshwright.errors",
    "Instance": "meshwright.values",
    "Overlay": "meshwright.values",
    "Run": "meshwright.routing",
    "SmallWorld": "meshwright.smallworld",
    "design": "meshwright.smallworld",
    "disconnected_topics": "meshwright.values",
    "load_instance": "meshwright.values",
    "simulate": "meshwright.routing",
    "trace": "meshwright.routing",
}

__all__ = [
    "InputError",
    "Instance",
    "MeshwrightError",
    "Overlay",
    "Run",
    "SmallWorld",
    "__version__",
    "design",
    "disconnected_topics",
    "load_instance",
    "simulate",
    "trace",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'meshwright' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
