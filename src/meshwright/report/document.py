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
from meshwright.routing.tables import subscribers_of
from meshwright.smallworld.dataset import load_overlay
from meshwright.spark.progress import Progress, no_progress
from meshwright.values import Instance

# What the page carries for choosing topics and lighting up links; 8 MB are all there is.
MOST_SUBSCRIPTIONS = 1_200_000
MOST_EDGES = 400_000
MOST_NAMES = 100_000  # nodes, topics


def document(
    datasets: Sequence[str | Path],
    *,
    workload: Path | None = None,
    problem: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the content of the report on some datasets."""
    progress = progress or no_progress()
    sections = gather(datasets, workload=workload, problem=problem)
    room = max(1, sum(1 for section in sections if section.source))
    n_overlays = max(1, sum(len(section.overlays) for section in sections))
    found = []
    for section in sections:
        if section.assignments:
            found.append(_assignments(section, progress))
        else:
            found.append(
                _overlays(section, progress, MOST_SUBSCRIPTIONS // room, MOST_EDGES // n_overlays)
            )
    return {"meshwright": __version__, "sections": found}


def _overlays(
    section: Section, progress: Progress, most_subscriptions: int, most_edges: int
) -> dict[str, Any]:
    overlays: list[dict[str, Any]] = []
    instance: Instance | None = None
    for given in section.overlays:
        with progress.step(f"looking at {given.label}"):
            overlay = load_overlay(given.path, section.source)
            instance = overlay.instance
            facts = overlay_facts(given.label, overlay, given.manifest)
            few = overlay.n_edges <= most_edges
            facts["edges"] = (
                {"one": overlay.edges[:, 0].tolist(), "other": overlay.edges[:, 1].tolist()}
                if few
                else None
            )
            overlays.append(facts)
    if instance is None and section.source is not None:
        instance = Instance.load(section.source)
    runs = []
    for given in section.runs:
        with progress.step(f"looking at {given.label}"):
            runs += run_facts(given.label, given.path, given.manifest)
    workload: dict[str, Any] = {"digest": section.digest}
    if instance is not None and section.source is not None:
        workload |= workload_facts(source_name(section.source), instance, most_subscriptions)
    return {"kind": "overlays", "workload": workload, "overlays": overlays, "runs": runs}


def source_name(path: Path) -> str:
    """Return what a workload or problem is called: many are just `workload`, so where it is too."""
    place = path.resolve()
    return "/".join(part for part in (place.parent.name, place.name) if part)


def workload_facts(name: str, instance: Instance, most_subscriptions: int) -> dict[str, Any]:
    """Return what is shown of a workload: sizes, the two CCDFs, names, and who wants what."""
    if max(instance.n_nodes, instance.n_topics) > MOST_NAMES:
        node_names, topic_names = None, None
    else:
        node_names, topic_names = list(instance.node_names), list(instance.topic_names)
    topic_ptr, members = subscribers_of(instance)
    sizes = np.diff(topic_ptr)
    # Small topics first: so most can be chosen, and large ones light up nearly everything anyway.
    order = np.argsort(sizes, kind="stable")
    listed = np.zeros(len(sizes), np.bool_)
    listed[order[np.cumsum(sizes[order]) <= most_subscriptions]] = True
    wants = np.diff(instance.indptr)
    return {
        "name": name,
        "n_nodes": instance.n_nodes,
        "n_topics": instance.n_topics,
        "n_subscriptions": instance.n_subscriptions,
        "topics_per_node": summary(wants),
        "subscribers_per_topic": summary(sizes),
        "node_names": node_names,
        "topic_names": topic_names,
        "topics_of_node": wants.tolist(),
        "subscribers_of_topic": sizes.tolist(),
        "subscribers": [
            members[topic_ptr[t] : topic_ptr[t + 1]].tolist() if listed[t] else None
            for t in range(len(sizes))
        ]
        if topic_names is not None
        else None,
    }


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
