"""Overlays of any method on disk: small worlds add the tables `ring` and `fingers`.

`ring` (position, node) has a row per node, `fingers` (node, phase, finger) one per node and phase.
Nothing here needs a JVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from meshwright.datasets import Manifest, open_dataset, read_table
from meshwright.errors import InputError
from meshwright.overlay import dataset
from meshwright.smallworld.world import Ints, SmallWorld, count_phases, stray_edges, violations
from meshwright.values import Overlay

TABLES = ("ring", "fingers")
NAMED = 10  # violations that are told in full


def write_overlay(
    overlay: Overlay, out: str | Path, workload: str | Path, *, force: bool = False
) -> Manifest:
    """Write an overlay, or a small world with its ring and fingers, as a dataset."""
    more = world_tables(overlay) if isinstance(overlay, SmallWorld) else None
    return dataset.write_overlay(overlay, out, workload, force=force, more=more)


def world_tables(world: SmallWorld) -> dict[str, pa.Table]:
    """Return the ring and the fingers as tables."""
    n, n_phases = world.fingers.shape
    columns = {
        "node": np.repeat(np.arange(n, dtype=np.int32), n_phases),
        "phase": np.tile(np.arange(n_phases, dtype=np.int32), n),
        "finger": world.fingers.ravel(),
    }
    ring = {"position": np.arange(n, dtype=np.int32), "node": world.ring}
    return {"ring": _table(ring), "fingers": _table(columns)}


def load_overlay(path: str | Path, workload: str | Path | None = None) -> Overlay:
    """Return an overlay from its dataset and that of its workload.

    A dataset with a ring and fingers gives a `SmallWorld`, any other an `Overlay`.
    """
    directory = Path(path)
    overlay = dataset.load_overlay(directory, workload)
    if not is_small_world(open_dataset(directory, "overlay")):
        return overlay
    ring, fingers, wrong = _read_world(directory, overlay.instance.n_nodes)
    if wrong:
        raise InputError(f"'{directory}' is damaged: {wrong[0]}. Design it again.")
    return SmallWorld(
        instance=overlay.instance,
        edges=overlay.edges,
        gains=overlay.gains,
        method=overlay.method,
        parameters=overlay.parameters,
        seed=overlay.seed,
        bounds=overlay.bounds,
        seconds=overlay.seconds,
        ring=ring,
        fingers=fingers,
    )


def is_small_world(manifest: Manifest) -> bool:
    """Tell whether an overlay dataset has a ring and fingers."""
    return any(table in manifest.rows for table in TABLES)


def world_findings(path: str | Path, names: Sequence[str]) -> list[str]:
    """Return where a small world on disk lacks Property 1, in words; empty when all is well.

    The ring must visit each node once, each node have one finger in each phase and within its
    range, and the edges be those of the ring and the fingers. An overlay without a ring has
    nothing to show.
    """
    directory = Path(path)
    if not is_small_world(open_dataset(directory, "overlay")):
        return []
    ring, fingers, wrong = _read_world(directory, len(names))
    wrong = wrong or violations(ring, fingers, names)
    if not wrong:
        edges = read_table(directory, "edges")
        links = np.column_stack((edges.column("u").to_numpy(), edges.column("v").to_numpy()))
        wrong = stray_edges(ring, fingers, links, names)
    told = [finding.removesuffix(".") for finding in wrong[:NAMED]]
    more = len(wrong) - len(told)
    return [*told, f"and {more:,} more of this kind"] if more else told


def _read_world(directory: Path, n: int) -> tuple[Ints, Ints, list[str]]:
    """Return the ring, the fingers, and why the tables do not hold them."""
    rows = open_dataset(directory, "overlay").rows
    lacking = [table for table in TABLES if table not in rows]
    if lacking:
        return _no_ints(), _no_ints(), [f"a small world needs the table {lacking[0]!r} too"]
    ring, fingers = read_table(directory, "ring"), read_table(directory, "fingers")
    place, n_phases = _column(ring, "position"), count_phases(n)
    slot = _column(fingers, "node") * n_phases + _column(fingers, "phase")
    wrong = []
    if not _each_once(place, n):
        wrong.append(f"the positions of the ring are not 0..{n - 1}, each once")
    phases = _column(fingers, "phase")
    if not _each_once(slot, n * n_phases) or np.any((phases < 0) | (phases >= n_phases)):
        wrong.append(f"the fingers are not one for each of {n:,} nodes and {n_phases} phases")
    if wrong:
        return _no_ints(), _no_ints(), wrong
    order, by_slot = np.argsort(place), np.argsort(slot)
    leads_to = _column(fingers, "finger")[by_slot].astype(np.int32)
    around = _column(ring, "node")[order].astype(np.int32)
    return around, leads_to.reshape(n, n_phases), []


def _each_once(values: npt.NDArray[np.int64], n: int) -> bool:
    return np.array_equal(np.sort(values), np.arange(n))


def _column(table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    column: npt.NDArray[np.int64] = table.column(name).to_numpy().astype(np.int64)
    return column


def _table(columns: dict[str, Ints]) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def _no_ints() -> Ints:
    return np.empty(0, dtype=np.int32)
