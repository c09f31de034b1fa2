"""Datasets to a web page, and the same numbers as JSON."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from meshwright import __version__
from meshwright.content.dataset import read_assignment
from meshwright.content.problem.dataset import read_problem
from meshwright.deploy.plan import FILE as PLAN_FILE
from meshwright.deploy.read import read_conf
from meshwright.errors import InputError
from meshwright.model.instance import Instance
from meshwright.overlay.dataset import read_overlay
from meshwright.report.assignment_facts import assignment_facts, problem_facts, triangle
from meshwright.report.deployment_facts import deployment_facts
from meshwright.report.frontier_facts import frontier_facts
from meshwright.report.overlay_facts import measured_facts, overlay_facts, run_facts, workload_facts
from meshwright.report.page import BUDGETS, render, trimmed
from meshwright.report.recommendation import recommend
from meshwright.runtime.progress import Progress, no_progress
from meshwright.storage import Manifest, find_input, open_dataset
from meshwright.storage.files import new_file, refuse_file

MOST_BYTES = 8_000_000
DIGEST_OF = {  # kind: the fact of its manifest that names its workload or problem
    "workload": "digest",
    "overlay": "workload_digest",
    "frontier": "workload_digest",
    "run": "workload_digest",
    "assignment": "problem_digest",
}
Dataset = tuple[str, Manifest]  # its label in the report, and its manifest


class Written(NamedTuple):
    """The files of a report and its content."""

    page: Path
    numbers: Path
    document: dict[str, Any]


@dataclass(slots=True)
class Section:
    """Overlays, frontiers, runs of one workload; assignments of one problem; or a deployment."""

    digest: str
    source: Manifest | None = None  # the workload or the problem
    datasets: dict[str, list[Dataset]] = field(default_factory=lambda: defaultdict(list))  # by kind
    deployment: tuple[str, Path] | None = None  # its label, and the directory of its files


def make_report(
    datasets: Sequence[str | Path],
    out: str | Path = "report.html",
    *,
    force: bool = False,
    **options: Any,
) -> Written:
    """Write a page that opens offline, and its numbers to a `.json` file of the same name.

    `options` are those of `document`.
    """
    page = Path(out)
    numbers = page.with_suffix(".json")
    if page.suffix.lower() not in (".html", ".htm") and not page.is_dir():
        raise InputError(f"the report is a web page; give -o a name such as {page.name}.html.")
    for target in (page, numbers):
        refuse_file(target, force=force)
    everything = document(datasets, **options)
    for budget in BUDGETS:
        content = trimmed(everything, budget)
        text = render(content)
        size = len(text.encode())
        if size <= MOST_BYTES:
            break
    else:
        raise InputError(
            f"the page would have {size / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:.0f} MB. "
            "Report fewer datasets at once."
        )
    as_json = json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"
    for target, written in ((page, text), (numbers, as_json)):
        with new_file(target) as file:
            file.write(written)
    return Written(page, numbers, content)


def document(
    datasets: Sequence[str | Path],
    *,
    workload: str | Path | None = None,
    problem: str | Path | None = None,
    before: str | Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the content of the report on some datasets; `trimmed` makes plain data of it.

    Datasets of one workload, or of one problem, are compared in one section. `workload` and
    `problem` say where these are, if they were moved. `before` is the deployment that runs now: the
    report on another lists the restarts from it.
    """
    progress = progress or no_progress()
    of_workload = "workload", Path(workload) if workload is not None else None
    moved = {  # kind of dataset: the kind it was made from, and where that is
        "overlay": of_workload,
        "frontier": of_workload,
        "assignment": ("problem", Path(problem) if problem is not None else None),
    }
    gathered = gather([Path(path) for path in datasets], moved)
    n_deployments = sum(section.deployment is not None for section in gathered)
    if before is not None and n_deployments != 1:
        raise InputError(
            f"--before says what runs instead of one deployment; {n_deployments:,} are named. Give "
            "the directory that `deploy mosquitto` wrote, or leave --before out."
        )
    sections = [_facts(section, before, progress) for section in gathered]
    return {"meshwright": __version__, "sections": sections}


def _facts(section: Section, before: str | Path | None, progress: Progress) -> dict[str, Any]:
    if section.deployment is not None:
        return _deployment(section.deployment, before, progress)
    return (_assignments if section.datasets["assignment"] else _overlays)(section, progress)


def gather(places: list[Path], moved: dict[str, tuple[str, Path | None]]) -> list[Section]:
    """Return the sections in the order in which their first dataset was named."""
    if not places:
        raise InputError("there is nothing to report; name a dataset, for example an overlay.")
    resolved = [place.resolve() for place in places]
    sections: dict[str, Section] = {}
    for label, place in zip(labels(places), places, strict=True):
        if resolved.count(place.resolve()) > 1:
            raise InputError(f"'{place}' is named twice; name each dataset once.")
        if (place / PLAN_FILE).is_file():
            sections[str(place)] = Section("", deployment=(label, place))
            continue
        manifest = open_dataset(place)
        if manifest.kind not in DIGEST_OF:
            raise InputError(
                f"'{place}' is a dataset of kind {manifest.kind!r}, which has nothing to show yet. "
                "Run `meshwright assign` on it and report the assignment."
            )
        digest = manifest[DIGEST_OF[manifest.kind]]
        section = sections.setdefault(digest, Section(digest))
        section.datasets[manifest.kind].append((label, manifest))
        if manifest.kind == "workload":
            section.source = manifest
        elif manifest.kind in moved:
            section.source = find_input(manifest, *moved[manifest.kind])
    return list(sections.values())


def labels(places: Sequence[Path]) -> list[str]:
    """Return a short name of each dataset: its directory, or its path where names are equal.

    Examples
    --------
    >>> labels([Path("a/gm"), Path("a/gpm"), Path("b/gm")])
    ['a/gm', 'gpm', 'b/gm']
    """
    names = [place.resolve().name for place in places]
    named = zip(names, places, strict=True)
    return [name if names.count(name) == 1 else str(place) for name, place in named]


def _overlays(section: Section, progress: Progress) -> dict[str, Any]:
    overlays: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    instance: Instance | None = None
    for label, manifest in section.datasets["overlay"]:
        with progress.step(f"reading {label}"):
            overlay = read_overlay(manifest, section.source.path if section.source else None)
            if instance is not None and instance.digest != overlay.instance.digest:
                raise InputError(
                    f"{label!r} assumes other publishers than the overlays before it "
                    "(--assume-publishers), so their topics cannot be compared. Report it apart."
                )
            instance = overlay.instance
            facts = overlay_facts(label, overlay, manifest)
            overlays.append({**facts, "digest": overlay.digest, "edges": overlay.edges})
    for label, manifest in section.datasets["run"]:
        with progress.step(f"reading {label}"):
            runs += run_facts(label, manifest)
    for facts in overlays:
        own = [run for run in runs if run["overlay_digest"] == facts["digest"]]
        facts["measured"] = [measured_facts(run) for run in own]
    workload: dict[str, Any] = {"digest": section.digest}
    if section.source is not None:
        made = section.source
        instance = instance or Instance.read(made)
        workload |= workload_facts(source_name(made.path), instance)
        workload |= {"created": made.created, "command": made.command}
    shown = {"workload": workload, "overlays": overlays, "runs": runs}
    shown["frontiers"] = _frontiers(section, progress)
    return {"kind": "overlays", **shown, "recommendation": recommend(overlays)}


def _frontiers(section: Section, progress: Progress) -> list[dict[str, Any]]:
    found = []
    for label, manifest in section.datasets["frontier"]:
        assert section.source is not None
        with progress.step(f"reading {label}"):
            found.append(frontier_facts(label, manifest, Instance.read(section.source)))
    return found


def _deployment(
    deployment: tuple[str, Path], before: str | Path | None, progress: Progress
) -> dict[str, Any]:
    label, place = deployment
    with progress.step(f"reading {label}"):
        conf = read_conf(place)
        running = read_conf(before) if before is not None else None
        return {"kind": "deployment", **deployment_facts(label, conf, running)}


def _assignments(section: Section, progress: Progress) -> dict[str, Any]:
    assert section.source is not None
    source = section.source
    facts = problem_facts(source_name(source.path), read_problem(source), source)
    found = []
    for label, own in section.datasets["assignment"]:
        with progress.step(f"reading {label}"):
            assignment = read_assignment(own, source.path)
            drawn = facts["drawn"]["subscriber"]
            found.append(assignment_facts(label, assignment, own, drawn))
    shown = {"problem": facts, "assignments": found, "triangle": triangle(found)}
    return {"kind": "assignments", **shown}


def source_name(path: Path) -> str:
    """Return the name of a workload or problem with its directory: many are called `workload`."""
    place = path.resolve()
    return "/".join(part for part in (place.parent.name, place.name) if part)
