"""The frontier: the fewest links found for each cap on the maximum degree, as a dataset.

The dataset has one table, `points`. Each plan is an overlay dataset of its own beside it
(``NAME-cap-6``, ``NAME-no-cap``), so every verb that takes an overlay takes a point. A dataset is
replaced table by table, so overlays cannot be kept inside of it. Nothing here needs a JVM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from meshwright.errors import InputError
from meshwright.model.overlay import Overlay
from meshwright.overlay.dataset import write_overlay
from meshwright.overlay.methods import fill_parameters
from meshwright.storage import (
    Manifest,
    open_dataset,
    read_table,
    refuse_overwrite,
    staging,
    write_table,
)

POINTS, MOST_POINTS = 8, 1000
OBEYED = ("limits", "links")  # options of `design` that all points obey
SCHEMA = pa.schema(
    [
        ("max_degree", pa.int32()),
        ("links", pa.int64()),
        ("degree", pa.int32()),
        ("support", pa.float64()),
        ("connected", pa.bool_()),
        ("bound_links", pa.int64()),
        ("bound_degree", pa.int32()),
        ("seconds", pa.float64()),
        ("overlay", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class Point:
    """The best plan found for one cap, and what no complete plan can beat."""

    max_degree: int | None  # the cap; None: no cap
    links: int
    degree: int  # the maximum degree that the plan reaches
    support: float
    connected: bool
    bound_links: int
    bound_degree: int
    seconds: float  # of the search for this cap
    overlay: str  # the name of its dataset, beside the frontier


@dataclass(frozen=True, slots=True)
class Frontier:
    """The points of a frontier: the lowest cap first, and last the plan without a cap."""

    manifest: Manifest
    points: tuple[Point, ...]

    def overlay_path(self, point: Point) -> Path:
        """Return where the overlay of a point is."""
        return self.manifest.path.absolute().with_name(point.overlay)

    def as_dict(self) -> dict[str, Any]:
        """Return the manifest and the points."""
        return {**self.manifest.as_dict(), "points": [asdict(point) for point in self.points]}


def check_frontier(points: int = POINTS, **parameters: Any) -> None:
    """Raise InputError unless the options are possible; `parameters` are those of `refined`.

    `limits` and `links` are left alone: to read them takes the names of the nodes.
    """
    if isinstance(points, bool) or not isinstance(points, int) or not 1 <= points <= MOST_POINTS:
        raise InputError(f"points is {points!r}; give a whole number from 1 to {MOST_POINTS:,}.")
    if "max_degree" in parameters:
        raise InputError("a frontier has a cap for each point; leave out max_degree.")
    fill_parameters("refined", {k: v for k, v in parameters.items() if k not in OBEYED})


def choose_caps(least: int, most: int, points: int) -> list[int]:
    """Return up to `points` caps from `least` on and below `most`, dense where they are low.

    No complete plan has a maximum degree below `least`, and the plan without a cap has `most`, so
    a cap of `most` or more would not bind.

    Examples
    --------
    >>> choose_caps(5, 10, 8), choose_caps(4, 100, 6)
    ([5, 6, 7, 8, 9], [4, 8, 14, 27, 52, 99])
    """
    least = max(least, 1)
    if least >= most:
        return []
    if most - least <= points:
        return list(range(least, most))
    caps = {round(cap) for cap in np.geomspace(least, most - 1, points).tolist()}
    unused = (cap for cap in range(least, most) if cap not in caps)
    while len(caps) < points:  # where rounding made two of them equal
        caps.add(next(unused))
    return sorted(caps)


def overlay_name(out: Path, cap: int | None) -> str:
    """Return the name of the dataset of a point."""
    return f"{out.name}-no-cap" if cap is None else f"{out.name}-cap-{cap}"


def refuse_points(out: Path, caps: Sequence[int | None] = (), *, force: bool) -> None:
    """Raise InputError if writing the overlays of points would lose something.

    Without `force`, no overlay of an earlier frontier of this name may be there.
    """
    there = [] if force else sorted(out.parent.glob(f"{escape(out.name)}-cap-[0-9]*"))
    for target in [*there, *(out.with_name(overlay_name(out, cap)) for cap in (None, *caps))]:
        refuse_overwrite(target, force=force)


def best_plans(found: Mapping[int | None, Overlay]) -> dict[int | None, int | None]:
    """Return for each cap the cap whose plan is best there: its own, or a lower one.

    A plan within a cap is within every higher one too.
    """
    best: dict[int | None, int | None] = {}
    last: int | None = None
    for cap in _in_order(found):
        mine = found[cap]
        lower = found[last] if best else None
        if lower is None or _rank(mine) <= _rank(lower):
            last = cap
        best[cap] = last
    return best


def _in_order(found: Mapping[int | None, Any]) -> list[int | None]:
    return [*sorted(cap for cap in found if cap is not None), None]


def _rank(overlay: Overlay) -> tuple[float, int]:
    """Return what to compare: more support is better, then fewer links."""
    return -overlay.support, overlay.n_edges


def make_points(found: Mapping[int | None, Overlay], out: Path) -> tuple[Point, ...]:
    """Return the points of the plans that were found.

    A bound of one search holds for all plans, so each point gets the best of all bounds.
    """
    bounds = [plan.bounds for plan in found.values() if plan.bounds is not None]
    least = max((bound.edges for bound in bounds), default=0)
    least_degree = max((bound.max_degree for bound in bounds), default=0)
    points = []
    for cap, chosen in best_plans(found).items():
        plan = found[chosen]
        points.append(
            Point(
                max_degree=cap,
                links=plan.n_edges,
                degree=plan.max_degree,
                support=plan.support,
                connected=plan.connected,
                bound_links=least,
                bound_degree=least_degree,
                seconds=round(found[cap].seconds, 3),
                overlay=overlay_name(out, chosen),
            )
        )
    return tuple(points)


def write_frontier(
    found: Mapping[int | None, Overlay],
    out: str | Path,
    workload: str | Path,
    *,
    force: bool = False,
) -> Frontier:
    """Write the plans by cap, each as an overlay beside `out`, then the table of points."""
    target = Path(out).resolve()
    free = found[None]
    points = make_points(found, target)
    with staging(target, "frontier", force=force) as stage:
        refuse_points(target, [cap for cap in found if cap is not None], force=force)
        used = {point.overlay for point in points}
        for cap, plan in found.items():
            name = overlay_name(target, cap)
            if name in used:
                write_overlay(plan, target.with_name(name), workload, force=force)
        rows = [asdict(point) for point in points]
        write_table(stage.table("points"), pa.Table.from_pylist(rows, SCHEMA))
        manifest = stage.publish(
            {
                "workload": str(Path(workload).absolute()),
                "workload_digest": (free.instance.workload or free.instance).digest,
                "method": free.method,
                "parameters": {k: v for k, v in free.parameters.items() if k != "max_degree"},
                "seed": free.seed,
                "seconds": round(sum(plan.seconds for plan in found.values()), 3),
                "n_points": len(points),
            }
        )
    return Frontier(manifest, points)


def load_frontier(path: str | Path) -> Frontier:
    """Return a frontier from its dataset."""
    return read_frontier(open_dataset(Path(path), "frontier"))


def read_frontier(manifest: Manifest) -> Frontier:
    """Return the frontier of a dataset that is open."""
    rows = read_table(manifest, "points", SCHEMA.names).to_pylist()
    return Frontier(manifest, tuple(Point(**row) for row in rows))
