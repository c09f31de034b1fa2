"""Overlays on disk: the edges, how each topic fares, and the certificate in the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from meshwright.datasets import Manifest, open_dataset, read_table, staging, write_table
from meshwright.errors import InputError
from meshwright.values import Bounds, Instance, Overlay


def write_overlay(
    overlay: Overlay,
    out: str | Path,
    workload: str | Path,
    *,
    force: bool = False,
    more: Mapping[str, pa.Table] | None = None,
) -> Manifest:
    """Write an overlay as a dataset that remembers its workload; `more` are further tables."""
    with staging(Path(out), "overlay", force=force) as stage:
        edges = overlay.edges
        write_table(
            stage.table("edges"),
            pa.table(
                {
                    "u": pa.array(edges[:, 0]),
                    "v": pa.array(edges[:, 1]),
                    "rank": pa.array(np.arange(len(edges), dtype=np.int32)),
                    "gain": pa.array(overlay.gains),
                }
            ),
        )
        write_table(stage.table("topics"), topic_table(overlay))
        for name, table in (more or {}).items():
            write_table(stage.table(name), table)
        return stage.publish(
            {
                "workload": str(Path(workload).absolute()),
                "workload_digest": overlay.instance.digest,
                "method": overlay.method,
                "parameters": dict(overlay.parameters),
                "seed": overlay.seed,
                "seconds": round(overlay.seconds, 3),
                **overlay.certificate(),
            }
        )


def topic_table(overlay: Overlay) -> pa.Table:
    """Return for each topic its subscribers, components, and the share in the largest one."""
    from meshwright.kernels.components import count_subscribers

    instance, largest = overlay.instance, overlay.largest_components
    subscribers = count_subscribers(instance.topics, instance.n_topics)
    share = np.divide(largest, subscribers, out=np.ones(len(largest)), where=subscribers > 0)
    return pa.table(
        {
            "topic": pa.array(np.arange(instance.n_topics, dtype=np.int32)),
            "subscribers": pa.array(subscribers),
            "components": pa.array(overlay.components),
            "connected_share": pa.array(share),
        }
    )


def find_workload(
    manifest: Manifest, overlay: Path, workload: Path | None
) -> tuple[Path, Manifest]:
    """Return the workload of an overlay: as given, where it was, or beside the overlay."""
    recorded = Path(manifest["workload"])
    beside = overlay.absolute().parent / recorded.name
    places = [workload] if workload is not None else [recorded, beside]
    for place in places:
        if not place.exists():
            continue
        found = open_dataset(place, "workload")
        if found["digest"] != manifest["workload_digest"]:
            raise InputError(
                f"'{overlay}' was designed for another workload than '{place}' holds now. "
                "Design it again, or name the right one with --workload."
            )
        return place, found
    if workload is not None:
        raise InputError(f"there is no workload at '{workload}'; check what --workload names.")
    raise InputError(
        f"the workload of '{overlay}' is not at '{places[0]}' any more. Name it with --workload."
    )


def load_overlay(path: str | Path, workload: str | Path | None = None) -> Overlay:
    """Return an overlay from its dataset and that of its workload."""
    directory = Path(path)
    manifest = open_dataset(directory, "overlay")
    place, _ = find_workload(manifest, directory, Path(workload) if workload else None)
    table = read_table(directory, "edges").sort_by("rank")
    edges = np.column_stack((table.column("u").to_numpy(), table.column("v").to_numpy()))
    bounds: dict[str, Any] | None = manifest["bounds"]
    return Overlay(
        instance=Instance.load(place),
        edges=edges,
        gains=table.column("gain").to_numpy(),
        method=manifest["method"],
        parameters=manifest["parameters"],
        seed=manifest["seed"],
        bounds=Bounds(**bounds) if bounds else None,
        seconds=manifest["seconds"],
    )
