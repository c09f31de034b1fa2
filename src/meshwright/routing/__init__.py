"""Overlay -> Run: how messages travel, one protocol per file."""

from __future__ import annotations

from meshwright.routing.protocols import ROUTINGS
from meshwright.routing.simulate import Run, simulate
from meshwright.routing.trace import Message, trace

__all__ = ["ROUTINGS", "Message", "Run", "simulate", "trace"]
