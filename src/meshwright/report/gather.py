"""The datasets of a report, sorted into sections: those of one workload or problem compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from meshwright.assignment.dataset import find_problem
from meshwright.datasets import Manifest, open_dataset, read_manifest
from meshwright.errors import InputError
from meshwright.overlay.dataset import find_workload


@dataclass(frozen=True, slots=True)
class Given:
    """A dataset that was named, under the label it has in the report."""

    label: str
    path: Path
    manifest: Manifest


@dataclass(slots=True)
class Section:
    """What is compared: overlays and runs of one workload, or assignments of one problem."""

    digest: str
    source: Path | None = None  # the workload or the problem
    overlays: list[Given] = field(default_factory=list)
    runs: list[Given] = field(default_factory=list)
    assignments: list[Given] = field(default_factory=list)


def gather(
    paths: Sequence[str | Path],
    *,
    workload: Path | None = None,
    problem: Path | None = None,
) -> list[Section]:
    """Return the sections in the order their first dataset was named."""
    places = [Path(path) for path in paths]
    if not places:
        raise InputError("there is nothing to report; name a dataset, for example an overlay.")
    seen: dict[Path, Path] = {}
    for place in places:
        if place.resolve() in seen:
            raise InputError(f"'{place}' is named twice; name each dataset once.")
        seen[place.resolve()] = place
    sections: dict[str, Section] = {}
    for label, place in zip(labels(places), places, strict=True):
        read_manifest(place)  # what is wrong is said of the path as it was given
        manifest = open_dataset(place)
        given = Given(label, place, manifest)
        if manifest.kind == "overlay":
            found, _ = find_workload(manifest, place, workload)
            section = sections.setdefault(
                manifest["workload_digest"], Section(manifest["workload_digest"])
            )
            section.source = found
            section.overlays.append(given)
        elif manifest.kind == "workload":
            section = sections.setdefault(manifest["digest"], Section(manifest["digest"]))
            section.source = place
        elif manifest.kind == "run":
            digest = manifest["workload_digest"]
            sections.setdefault(digest, Section(digest)).runs.append(given)
        elif manifest.kind == "assignment":
            digest = manifest["problem_digest"]
            section = sections.setdefault(digest, Section(digest))
            section.source = find_problem(manifest, place, problem)
            section.assignments.append(given)
        else:
            raise InputError(
                f"'{place}' is a dataset of kind {manifest.kind!r}, which has nothing to show yet. "
                "Run `meshwright assign` on it and report the assignment."
            )
    return list(sections.values())


def labels(places: Sequence[Path]) -> list[str]:
    """Return a short name of each dataset: its directory's, or the path where that is not enough.

    Examples
    --------
    >>> labels([Path("a/gm"), Path("a/gpm"), Path("b/gm")])
    ['a/gm', 'gpm', 'b/gm']

    """
    names = [place.resolve().name for place in places]
    return [
        name if names.count(name) == 1 else str(place)
        for name, place in zip(names, places, strict=True)
    ]
