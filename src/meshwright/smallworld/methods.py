"""The four small worlds of paper 4, Table 2, and `design` for all methods.

The letters say what is chosen by gain: S the short links of the ring, L the long ones. What is not
is left to chance (RandomS for the ring) or to Chord or chance (for the fingers).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, overload

from meshwright import overlay
from meshwright.errors import InputError
from meshwright.kernels.compiling import Stopwatch
from meshwright.overlay.bounds import find_bounds
from meshwright.overlay.engine import Tell
from meshwright.overlay.methods import METHODS, Method, check_choice, choose
from meshwright.smallworld.chord_fingers import chord_fingers
from meshwright.smallworld.gswico_fingers import gswico_fingers
from meshwright.smallworld.gswico_ring import gswico_ring
from meshwright.smallworld.random_fingers import random_fingers
from meshwright.smallworld.random_ring import random_ring
from meshwright.smallworld.world import Ints, SmallWorld, small_world
from meshwright.values import Instance, Overlay

BUDGETS = ("average_degree", "budget_ratio", "equal_edges")

Parts = tuple[Ints, Ints]  # the node at each position; by position and phase the finger's position


@overload
def design(
    instance: Instance, method: Literal["sl", "s", "l", "none"], **options: Any
) -> SmallWorld: ...
@overload
def design(instance: Instance, method: str = "gm", **options: Any) -> Overlay: ...
def design(
    instance: Instance,
    method: str = "gm",
    *,
    certify: bool = True,
    tell: Tell | None = None,
    **options: Any,
) -> Overlay:
    """Return the overlay that a method designs: for ``sl``, ``s``, ``l``, ``none`` a SmallWorld.

    Parameters
    ----------
    method
        One of `ALL_METHODS`.
    certify
        Compute the bounds; without them the overlay is the same.
    tell
        Called with the share of the joins done so far.
    **options
        The method's own parameters (``max_edges``, ``max_degree``, ``ties``, ``k``, ``fingers``,
        ``seed``, ...), and those of `meshwright.overlay.design` that set a budget.

    Examples
    --------
    >>> pairs = [("a", "x"), ("b", "x"), ("b", "y"), ("c", "y"), ("d", "y")]
    >>> world = design(Instance.from_pairs(pairs), method="sl")
    >>> world.ring.tolist(), world.fingers.tolist(), world.support
    ([0, 1, 2, 3], [[1, 2], [2, 3], [3, 1], [0, 1]], 1.0)
    >>> design(Instance.from_pairs(pairs), method="gm").edge_list()
    [(0, 1), (2, 3), (1, 2)]

    """
    check_choice(method, ALL_METHODS)
    if method not in WORLDS:
        return overlay.design(instance, method, certify=certify, tell=tell, **options)
    watch = Stopwatch()
    for name in BUDGETS:
        if options.pop(name, None):
            raise InputError(f"{method} takes no budget; leave out {name}.")
    chosen, filled = choose(method, options, WORLDS)
    ring, fingers = chosen.build(instance, **filled, **({"tell": tell} if chosen.tells else {}))
    seed = filled.pop("seed")
    world = small_world(instance, ring, fingers, method=method, parameters=filled, seed=seed)
    seconds = watch.seconds
    bounds = find_bounds(instance, world.edges) if certify else None
    return replace(world, bounds=bounds, seconds=seconds)


def greedy_world(instance: Instance, *, seed: int, tell: Tell | None = None) -> Parts:  # noqa: ARG001 - no chance in it
    """Return ring and fingers by gain: `sl`, GSwicoSL."""
    ring = gswico_ring(instance, tell)
    return ring, gswico_fingers(instance, ring, tell)


def greedy_ring_world(
    instance: Instance, *, fingers: str, seed: int, tell: Tell | None = None
) -> Parts:
    """Return a ring by gain: `s`."""
    return gswico_ring(instance, tell), plain_fingers(instance.n_nodes, fingers, seed)


def greedy_finger_world(instance: Instance, *, seed: int, tell: Tell | None = None) -> Parts:
    """Return a random ring with fingers by gain: `l`."""
    ring = random_ring(instance.n_nodes, seed)
    return ring, gswico_fingers(instance, ring, tell)


def plain_world(instance: Instance, *, fingers: str, seed: int) -> Parts:
    """Return a ring and fingers that know nothing of interests: `none`."""
    n = instance.n_nodes
    return random_ring(n, seed), plain_fingers(n, fingers, seed)


def plain_fingers(n: int, kind: str, seed: int) -> Ints:
    """Return fingers that know nothing of interests."""
    return chord_fingers(n) if kind == "chord" else random_fingers(n, seed)


WORLDS: Mapping[str, Method] = {
    "sl": Method("small world, ring and fingers by gain", greedy_world, {"seed": 1}, tells=True),
    "s": Method(
        "small world, ring by gain",
        greedy_ring_world,
        {"fingers": "chord", "seed": 1},
        tells=True,
    ),
    "l": Method("small world, fingers by gain", greedy_finger_world, {"seed": 1}, tells=True),
    "none": Method("small world, interests ignored", plain_world, {"fingers": "chord", "seed": 1}),
}
ALL_METHODS: Mapping[str, Method] = {**METHODS, **WORLDS}
