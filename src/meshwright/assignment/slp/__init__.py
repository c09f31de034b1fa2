"""SLP: subscriber assignment by linear programs, rounding and maximum flow."""

from meshwright.assignment.slp.levels import slp, slp_leaves, yardstick
from meshwright.assignment.slp.one_level import Settings

__all__ = ["Settings", "slp", "slp_leaves", "yardstick"]
