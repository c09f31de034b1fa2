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
    from meshwright.deploy.watch import watch
    from meshwright.errors import InputError, MeshwrightError
    from meshwright.model.broker_tree import BrokerTree
    from meshwright.model.changes import (
        Crash,
        Join,
        Leave,
        Publish,
        Subscribe,
        Unpublish,
        Unsubscribe,
    )
    from meshwright.model.density import Density
    from meshwright.model.instance import Instance
    from meshwright.model.overlay import Overlay, disconnected_topics
    from meshwright.model.problem import Problem
    from meshwright.model.small_world import SmallWorld
    from meshwright.overlay import design
    from meshwright.overlay.dataset import load_overlay
    from meshwright.overlay.export import export
    from meshwright.smallworld.routing.simulate import Run, simulate
    from meshwright.smallworld.routing.trace import trace
    from meshwright.verbs import (
        check,
        deploy_check,
        deploy_diff,
        deploy_merge,
        deploy_mosquitto,
        frontier,
        generate,
        generate_content,
        ingest,
        ingest_content,
        make_report,
        replan,
        sample,
        stats,
        write,
        write_run,
    )

_PARTS = {
    "errors": ("InputError", "MeshwrightError"),
    "content.assignment": ("Assignment",),
    "content.dataset": ("load_assignment",),
    "content.methods.registry": ("assign",),
    "content.problem.dataset": ("load_problem",),
    "model.broker_tree": ("BrokerTree",),
    "model.changes": (
        *("Crash", "Join", "Leave", "Publish", "Subscribe", "Unpublish", "Unsubscribe"),
    ),
    "model.density": ("Density",),
    "model.instance": ("Instance",),
    "model.overlay": ("Overlay", "disconnected_topics"),
    "model.problem": ("Problem",),
    "model.small_world": ("SmallWorld",),
    "deploy.watch": ("watch",),
    "overlay": ("design",),
    "overlay.dataset": ("load_overlay",),
    "overlay.export": ("export",),
    "smallworld.routing.simulate": ("Run", "simulate"),
    "smallworld.routing.trace": ("trace",),
    "verbs": (
        *("check", "deploy_check", "deploy_diff", "deploy_merge", "deploy_mosquitto", "frontier"),
        *("generate", "generate_content", "ingest", "ingest_content", "make_report", "replan"),
        *("sample", "stats", "write", "write_run"),
    ),
}
_HOME = {name: f"meshwright.{part}" for part, names in _PARTS.items() for name in names}
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'meshwright' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
