"""Overlays on disk: the edges, the state of each topic, and the certificate in the manifest.

A small world adds the tables `ring` (position, node), a row per node, and `fingers` (node, phase,
finger), a row per node and phase. Nothing here needs a JVM.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from meshwright.errors import damaged
from meshwright.model.instance import Instance
from meshwright.model.overlay import Bounds, Overlay
from meshwright.model.small_world import SmallWorld, count_phases, stray_edges, violations
from meshwright.overlay.demand import make_demand
from meshwright.overlay.dependence import find_dependence
from meshwright.overlay.limits_tables import limit_facts, limit_tables, read_limit_tables
from meshwright.overlay.losses import survival_facts
from meshwright.overlay.relays import find_relays
from meshwright.patterns.expand import expand
from meshwright.runtime.arrays import Ints, Longs
from meshwright.storage import Manifest, find_input, open_dataset, read_table, staging, write_table

WORLD_TABLES = ("ring", "fingers")
MOST_FINDINGS = 10  # violations listed in full; the rest are counted


def write_overlay(
    overlay: Overlay,
    out: str | Path,
    workload: str | Path,
    *,
    force: bool = False,
    facts: Mapping[str, Any] | None = None,
    tables: Mapping[str, pa.Table] | None = None,
) -> Manifest:
    """Write an overlay, or a small world with its ring and fingers, as a dataset.

    `facts` and `tables` are further ones, of how it was made.
    """
    with staging(Path(out), "overlay", force=force) as stage:
        for name, columns in _tables(overlay).items():
            write_table(stage.table(name), pa.table(columns))
        for name, table in {**limit_tables(overlay), **(tables or {})}.items():
            write_table(stage.table(name), table)
        return stage.publish(
            {
                "workload": str(Path(workload).absolute()),
                "workload_digest": (overlay.instance.workload or overlay.instance).digest,
                "method": overlay.method,
                "parameters": dict(overlay.parameters),
                "seed": overlay.seed,
                "seconds": round(overlay.seconds, 3),
                **_participation(overlay.instance),
                **limit_facts(overlay),
                "dependence": found.as_dict() if (found := find_dependence(overlay)) else None,
                "relays": relays.as_dict() if (relays := find_relays(overlay)) else None,
                **survival_facts(overlay),
                **overlay.certificate(),
                **(facts or {}),
            }
        )


def _participation(instance: Instance) -> dict[str, int]:
    """Return how many topics have subscribers and no publisher, and who takes part to publish."""
    if instance.wants is None or instance.workload is None:
        return {}
    wanted = np.unique(expand(instance.workload).topics)
    return {
        "n_topics_unpublished": len(np.setdiff1d(wanted, instance.topics)),
        "n_only_publishing": int(np.count_nonzero(~instance.wants)),
    }


def _tables(overlay: Overlay) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """Return the columns of each table; `rank` is the order in which edges were added."""
    from meshwright.model.kernels.components import count_subscribers

    u, v = overlay.edges.T
    edges = {"u": u, "v": v, "rank": _numbers(overlay.n_edges), "gain": overlay.gains}
    instance, largest = overlay.instance, overlay.largest_components
    subscribers = count_subscribers(instance.topics, instance.n_topics)
    share = np.divide(largest, subscribers, out=np.ones(len(largest)), where=subscribers > 0)
    topics = {
        "topic": _numbers(instance.n_topics),
        "subscribers": subscribers,
        "components": overlay.components,
        "connected_share": share,  # of the subscribers, in the largest component
    }
    if not isinstance(overlay, SmallWorld):
        return {"edges": edges, "topics": topics}
    n, n_phases = overlay.fingers.shape
    ring = {"position": _numbers(n), "node": overlay.ring}
    nodes, phases = np.repeat(_numbers(n), n_phases), np.tile(_numbers(n_phases), n)
    fingers = {"node": nodes, "phase": phases, "finger": overlay.fingers.ravel()}
    return {"edges": edges, "topics": topics, "ring": ring, "fingers": fingers}


def _numbers(count: int) -> Ints:
    return np.arange(count, dtype=np.int32)


def load_overlay(path: str | Path, workload: str | Path | None = None) -> Overlay:
    """Return an overlay, or a `SmallWorld` if it has a ring and fingers, from its dataset."""
    return read_overlay(open_dataset(Path(path), "overlay"), workload)


def read_overlay(manifest: Manifest, workload: str | Path | None = None) -> Overlay:
    """Return the overlay of a dataset that is open."""
    source = find_input(manifest, "workload", workload)
    table = read_table(manifest, "edges").sort_by("rank")
    instance = designed_for(manifest, Instance.read(source))
    carries, limits, links = read_limit_tables(manifest, instance)
    values: dict[str, Any] = {
        "instance": instance,
        "edges": np.column_stack((table.column("u").to_numpy(), table.column("v").to_numpy())),
        "gains": table.column("gain").to_numpy(),
        "method": manifest["method"],
        "parameters": manifest["parameters"],
        "seed": manifest["seed"],
        "bounds": _read_bounds(manifest),
        "seconds": manifest["seconds"],
        "carries": carries,
        "limits": limits,
        "links": links,
    }
    if not is_small_world(manifest):
        return Overlay(**values)
    ring, fingers, wrong = _read_world(manifest, values["instance"].n_nodes)
    if wrong:
        raise damaged(manifest.path, wrong[0], "Design it again")
    return SmallWorld(**values, ring=ring, fingers=fingers)


def designed_for(overlay: Manifest, workload: Instance) -> Instance:
    """Return the instance that an overlay was designed for, from its workload."""
    assumed = overlay["parameters"].get("assume_publishers")
    return workload if assumed is None else make_demand(workload, assumed)


def _read_bounds(manifest: Manifest) -> Bounds | None:
    """Return the bounds that a manifest claims, if any."""
    claimed = manifest["bounds"]
    if claimed is None:
        return None
    known = [field for field in fields(Bounds) if field.type != "str"]
    names = [field.name for field in known]
    needed = [field.name for field in known if field.default is MISSING]
    if not set(needed) <= set(claimed) <= set(names):
        given = ", ".join(claimed) or "empty"
        why = f"its bounds are {given}, not {', '.join(needed)}"
        raise damaged(manifest.path, why, "Design it again")
    steps = manifest.get("bounds_by")
    steps = steps if isinstance(steps, dict) else {}
    by = [str(steps.get(name, "counting")) for name in ("edges", "max_degree")]
    return Bounds(**claimed, edges_by=by[0], max_degree_by=by[1])


def is_small_world(manifest: Manifest) -> bool:
    """Return whether an overlay dataset has a ring or fingers."""
    return any(table in manifest.rows for table in WORLD_TABLES)


def world_findings(manifest: Manifest, names: Sequence[str]) -> list[str]:
    """Return where a small world on disk violates Property 1; nothing for any other overlay.

    The ring must visit each node once, each node must have one finger in each phase and within its
    range, and the edges must be those of the ring and the fingers.
    """
    if not is_small_world(manifest):
        return []
    ring, fingers, wrong = _read_world(manifest, len(names))
    wrong = wrong or violations(ring, fingers, names)
    if not wrong:
        edges = read_table(manifest, "edges")
        links = np.column_stack((edges.column("u").to_numpy(), edges.column("v").to_numpy()))
        wrong = stray_edges(ring, fingers, links, names)
    listed = [finding.removesuffix(".") for finding in wrong[:MOST_FINDINGS]]
    more = len(wrong) - len(listed)
    return [*listed, f"and {more:,} more of this kind"] if more else listed


def _read_world(manifest: Manifest, n: int) -> tuple[Ints, Ints, list[str]]:
    """Return the ring, the fingers, and what is wrong with their tables."""
    nothing = _numbers(0)
    missing = [table for table in WORLD_TABLES if table not in manifest.rows]
    if missing:
        return nothing, nothing, [f"a small world needs the table {missing[0]!r} too"]
    ring, fingers = read_table(manifest, "ring"), read_table(manifest, "fingers")
    positions, phases = _column(ring, "position"), _column(fingers, "phase")
    n_phases = count_phases(n)
    slots = _column(fingers, "node") * n_phases + phases
    wrong = []
    if not _each_once(positions, n):
        wrong.append(f"the positions of the ring are not 0..{n - 1}, each once")
    if not _each_once(slots, n * n_phases) or np.any((phases < 0) | (phases >= n_phases)):
        wrong.append(f"the fingers are not one for each of {n:,} nodes and {n_phases} phases")
    if wrong:
        return nothing, nothing, wrong
    nodes = _column(ring, "node")[np.argsort(positions)].astype(np.int32)
    leads_to = _column(fingers, "finger")[np.argsort(slots)].astype(np.int32)
    return nodes, leads_to.reshape(n, n_phases), []


def _each_once(values: Longs, n: int) -> bool:
    return np.array_equal(np.sort(values), np.arange(n))


def _column(table: pa.Table, name: str) -> Longs:
    return table.column(name).to_numpy().astype(np.int64)
