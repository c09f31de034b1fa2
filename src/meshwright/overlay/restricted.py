"""What a design must obey besides its method, put together; and which methods can."""

from functools import partial

import numpy as np

from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.model.method import choose
from meshwright.model.overlay import frozen_flags
from meshwright.overlay.carriers import settle_carriers
from meshwright.overlay.greedy.key_order import greedy_edges
from meshwright.overlay.greedy.rule import Engine, Restrictions
from meshwright.overlay.methods import METHODS, RESTRICTABLE
from meshwright.runtime.arrays import Bools


def restrict(
    instance: Instance, *, carries: Bools | None = None, publishers_as: str | None = None
) -> Restrictions:
    """Return what a design for an instance must obey."""
    may_carry = np.ones(instance.n_subscriptions, np.bool_)
    if carries is not None:
        may_carry &= frozen_flags(instance, carries)
    if publishers_as == "leaf" and instance.wants is not None:
        may_carry &= instance.wants
    return Restrictions(None if may_carry.all() else settle_carriers(instance, may_carry))


def check_restrictable(method: str, *, budget_ratio: float | None, on_spark: bool) -> None:
    """Raise InputError unless a method obeys leaves, limits and links."""
    if not choose(METHODS, method).restrictable:
        raise InputError(
            f"{method} does not obey leaves, limits or links; {', '.join(RESTRICTABLE)} do."
        )
    if on_spark:
        raise InputError("engine spark does not obey leaves, limits or links; choose driver.")
    if budget_ratio is not None:
        raise InputError(
            "budget_ratio does not go with leaves, limits or links: it is a share of an overlay "
            "without them. Give max_edges or max_degree."
        )


def restricted_engine(restrictions: Restrictions) -> Engine:
    """Return the engine that obeys."""
    return partial(greedy_edges, restrictions=restrictions)
