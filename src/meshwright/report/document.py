"""The content of a report as plain data: every number that the page shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from meshwright import __version__
from meshwright.assignment.dataset import load_answer
from meshwright.datasets import open_dataset
from meshwright.problem.dataset import load_problem
from meshwright.report.assignment_facts import assignment_facts, problem_facts, triangle
from meshwright.report.distributions import summary
from meshwright.report.gather import Section, gather
from meshwright.report.overlay_facts import overlay_facts
from meshwright.report.run_facts import run_facts
from meshwright.routing.digest import overlay_digest
from meshwright.routing.tables import subscribers_of
from meshwright.smallworld.dataset import load_overlay
from meshwright.spark.progress import Progress, no_progress
from meshwright.values import Instance


def document(
    datasets: Sequence[str | Path],
    *,
    workload: Path | None = None,
    problem: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the content of the report on some datasets; `trimmed` makes plain data of it."""
    progress = progress or no_progress()
    sections = gather(datasets, workload=workload, problem=problem)
    found = [
        _assignments(section, progress) if section.assignments else _overlays(section, progress)
        for section in sections
    ]
    return {"meshwright": __version__, "sections": found}


def _overlays(section: Section, progress: Progress) -> dict[str, Any]:
    overlays: list[dict[str, Any]] = []
    instance: Instance | None = None
    for given in section.overlays:
        with progress.step(f"looking at {given.label}"):
            overlay = load_overlay(given.path, section.source)
            instance = overlay.instance
            facts = overlay_facts(given.label, overlay, given.manifest)
            overlays.append({**facts, "digest": overlay_digest(overlay), "edges": overlay.edges})
    if instance is None and section.source is not None:
        instance = Instance.load(section.source)
    runs = []
    for given in section.runs:
        with progress.step(f"looking at {given.label}"):
            runs += run_facts(given.label, given.path, given.manifest)
    for facts in overlays:
        facts["measured"] = [
            {"run": run["label"], "routing": run["routing"], **_overhead(run)}
            for run in runs
            if run["overlay_digest"] == facts["digest"]
        ]
    workload: dict[str, Any] = {"digest": section.digest}
    if instance is not None and section.source is not None:
        made = open_dataset(section.source, "workload")
        workload |= workload_facts(source_name(section.source), instance)
        workload |= {"created": made.created, "command": made.command}
    return {"kind": "overlays", "workload": workload, "overlays": overlays, "runs": runs}


def source_name(path: Path) -> str:
    """Return what a workload or problem is called: many are just `workload`, so where it is too."""
    place = path.resolve()
    return "/".join(part for part in (place.parent.name, place.name) if part)


def workload_facts(name: str, instance: Instance) -> dict[str, Any]:
    """Return what is shown of a workload: sizes, the two CCDFs, names, and who wants what."""
    topic_ptr, members = subscribers_of(instance)
    sizes, wants = np.diff(topic_ptr), np.diff(instance.indptr)
    return {
        "name": name,
        "n_nodes": instance.n_nodes,
        "n_topics": instance.n_topics,
        "n_subscriptions": instance.n_subscriptions,
        "topics_per_node": summary(wants),
        "subscribers_per_topic": summary(sizes),
        "node_names": list(instance.node_names),
        "topic_names": list(instance.topic_names),
        "topics_of_node": wants.tolist(),
        "subscribers_of_topic": sizes.tolist(),
        "subscribers": np.split(members, topic_ptr[1:-1]) if len(sizes) else [],
    }


def _overhead(run: dict[str, Any]) -> dict[str, Any]:
    """Return what the headline tells of a run; what it should deliver is what it did and missed."""
    totals = run["totals"]
    wanted = totals["deliveries"] + totals["missed"]
    kept = {name: totals[name] for name in ("overhead_per_delivery", "missed")}
    return {**kept, "deliveries_wanted": wanted}


def _assignments(section: Section, progress: Progress) -> dict[str, Any]:
    assert section.source is not None
    problem = load_problem(section.source)
    name = source_name(section.source)
    facts = problem_facts(name, problem, open_dataset(section.source, "problem"))
    drawn = facts["drawn"]["subscriber"]
    found = []
    for given in section.assignments:
        with progress.step(f"looking at {given.label}"):
            answer = load_answer(given.path, section.source)
            found.append(assignment_facts(given.label, answer, given.manifest, drawn))
    return {
        "kind": "assignments",
        "problem": facts,
        "assignments": found,
        "triangle": triangle(found),
    }
