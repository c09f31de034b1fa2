"""What a report tells of runs: overhead, paths and load of each system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from meshwright.datasets import Manifest, read_table
from meshwright.report.distributions import box, short, summary


def run_facts(label: str, directory: Path, manifest: Manifest) -> list[dict[str, Any]]:
    """Return the systems of a run: its own, and the one it was simulated against, totals only."""
    rows = read_table(directory, "publications", ["overhead", "hops_mean", "hops_max"])
    load = read_table(directory, "load", ["sent", "received"])
    loads = load.column("sent").to_numpy() + load.column("received").to_numpy()
    told = {
        "overlay": manifest["method"],
        "overlay_digest": manifest["overlay_digest"],
        "links": manifest["n_edges"],
        "publications": manifest["parameters"]["publications"],
        "weighted": manifest["parameters"]["weighted"],
        "seed": manifest["seed"],
        "seconds": short(manifest["seconds"]),
        "command": manifest.command,
        "created": manifest.created,
    }
    found = [
        {
            "label": label,
            "routing": manifest["routing"],
            **told,
            **totals(manifest["totals"]),
            "overhead_per_publication": summary(rows.column("overhead").to_numpy()),
            "mean_path": summary(_numbers(rows.column("hops_mean"))),
            "longest_path": summary(_numbers(rows.column("hops_max"))),
            "load": {**summary(loads), "box": box(loads)},
            "busiest": manifest["busiest"],
        }
    ]
    other = manifest.get("against")
    if other is not None:
        alone = {"label": f"{label} ({other['routing']})", "routing": other["routing"]}
        found.append({**alone, **told, **totals(other["totals"])})
    return found


def totals(found: dict[str, Any]) -> dict[str, Any]:
    """Return the totals of a run, each with few digits, and the overhead of one delivery."""
    kept = {k: short(v) if isinstance(v, float) else v for k, v in found.items()}
    per = found["overhead"] / found["deliveries"] if found["deliveries"] else None
    return {"totals": {**kept, "overhead_per_delivery": None if per is None else short(per)}}


def _numbers(column: Any) -> Any:
    """Return a column without its nulls: a publication that reaches nobody has no path."""
    return pc.drop_null(column).to_numpy().astype(np.float64).round(6)
