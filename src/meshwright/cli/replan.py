"""``meshwright design W2 -o O2 --from O1``: yesterday's overlay, mended for today's workload."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.cli import show
from meshwright.cli.design import print_overlay
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.cli.options import Job
    from meshwright.deploy import Plan
    from meshwright.model.instance import Instance
    from meshwright.model.overlay import Overlay
    from meshwright.overlay.replanning import Replan
    from meshwright.storage import Manifest

MOST_TOPICS = 10  # listed on the terminal; the manifest has all
PRICE = ("links_without", "max_degree_without")  # what survival costs, found with a fresh design
MOST_TO_DEPLOY = 20_000  # subscriptions: a second for the trees of all topics, of each overlay
TAKEN = ("limits", "links", "assume_publishers", "certify_seconds")  # options that go with --from


def check_options(job: Job, method: str, before: Overlay) -> dict[str, Any]:
    """Return the options that go with --from; raise InputError if another one is given."""
    without = ("workload", "engine", "patience", "from_", "moves", "method")
    given = {name: value for name, value in job.options(*without).items() if value is not False}
    for name in given:
        if name not in TAKEN:
            option = name.replace("_", "-")
            raise InputError(
                f"--from takes the method and its parameters from the overlay; leave out --{option}"
                "."
            )
    if method not in ("gm", before.method):
        raise InputError(
            f"the overlay to start from is by {before.method}, and --method is {method!r}; leave "
            "out one of --from and --method."
        )
    return given


def replan_from(job: Job, workload: Path, start: Path, moves: int | None, method: str) -> Manifest:
    """Mend an overlay for a workload, write it, and return its manifest."""
    from meshwright.model.instance import Instance
    from meshwright.overlay.dataset import load_overlay, write_overlay
    from meshwright.runtime.progress import Progress
    from meshwright.verbs import replan

    progress = Progress(4)
    with progress.step("reading the overlay and the workload"):
        before, instance = load_overlay(start), Instance.load(workload)
        options = check_options(job, method, before)
    seconds = options.pop("certify_seconds", None)
    with progress.step("mending the overlay"):
        found = replan(before, instance, moves=moves, **options)
    with progress.step(f"designing with {before.method}, to compare"):
        fresh = design_anew(found.overlay, instance, progress.update)
    with progress.step("computing bounds"):
        overlay = certified(found.overlay, seconds, fresh)
    facts = {"replanned": replan_facts(found, before, fresh, start) | {"most_moves": moves}}
    tables = {"steps": steps_table(found)}
    return write_overlay(overlay, job.out, workload, force=job.force, facts=facts, tables=tables)


def design_anew(mended: Overlay, workload: Instance, on_progress: Any) -> Overlay:
    """Return a design from scratch by the same method, with the same parameters and limits."""
    from meshwright.overlay import design
    from meshwright.overlay.methods import METHODS

    takes = METHODS[mended.method].defaults
    own = {name: value for name, value in mended.parameters.items() if name in takes}
    if "seed" in takes:
        own["seed"] = mended.seed
    return design(
        workload,
        mended.method,
        certify=False,
        on_progress=on_progress,
        limits=mended.limits,
        links=mended.links,
        assume_publishers=mended.parameters.get("assume_publishers"),
        publishers_as=mended.parameters.get("publishers_as"),
        survive=mended.parameters.get("survive"),
        **own,
    )


def certified(overlay: Overlay, seconds: float | None, fresh: Overlay) -> Overlay:
    """Return the overlay with its bounds, and with what a fresh design says of survival's price."""
    from dataclasses import replace

    from meshwright.overlay.bounds import Certify, find_bounds
    from meshwright.overlay.restricted import restrictions_of

    effort = Certify.within(seconds) if seconds is not None else None
    find = partial(
        find_bounds,
        restrictions=restrictions_of(overlay.carries, overlay.limits, overlay.links),
        certify=effort,
        survive=overlay.parameters.get("survive") or 0,
    )
    price = {k: v for k, v in fresh.parameters.items() if k in PRICE}
    bounds = find(overlay.instance, overlay.edges)
    return replace(overlay, bounds=bounds, parameters={**overlay.parameters, **price})


def replan_facts(found: Replan, before: Overlay, fresh: Overlay, start: Path) -> dict[str, Any]:
    """Return what the manifest says about how an overlay was mended."""
    touched = {name for link in (*found.added, *found.removed, *found.lost) for name in link}
    there = set(found.overlay.instance.node_names)
    old, new = (
        {frozenset(link) for link in overlay.edge_list(names=True)} for overlay in (before, fresh)
    )
    restarts, fresh_restarts = count_restarts(before, found.overlay, fresh)
    return {
        "from": str(start.absolute()),
        "from_digest": before.digest,
        **found.facts(),
        "changed_subscriptions": found.n_changed,
        "nodes_with_other_links": len(touched & there),
        "restarts": restarts,
        "unjoined": list(found.unjoined),
        "fresh": {
            "n_edges": fresh.n_edges,
            "max_degree": fresh.max_degree,
            "support": fresh.support,
            "links_that_differ": len(old ^ new),
            "restarts": fresh_restarts,
            "seconds": round(fresh.seconds, 3),
        },
    }


def count_restarts(before: Overlay, *after: Overlay) -> list[int | None]:
    """Return how many brokers `deploy diff` restarts from one overlay to each of the others.

    None where that is unknown: there are too many subscriptions, or an overlay cannot be deployed.
    """
    from meshwright.deploy import restarts_between

    if max(o.instance.n_subscriptions for o in (before, *after)) > MOST_TO_DEPLOY:
        return [None for _ in after]
    # Which hosts they are on does not matter, if each broker keeps its own.
    names = {name for overlay in (before, *after) for name in overlay.instance.node_names}
    hosts = {name: f"host-{i}" for i, name in enumerate(sorted(names))}
    old, *new = (_bridges(overlay, hosts) for overlay in (before, *after))
    return [
        None if old is None or plan is None else len(restarts_between(old, plan)) for plan in new
    ]


def _bridges(overlay: Overlay, hosts: dict[str, str]) -> Plan | None:
    """Return what `deploy` plans for an overlay, None if it refuses to."""
    from meshwright.deploy import Broker, plan

    brokers = [Broker(node, hosts[node], 1883) for node in overlay.instance.node_names]
    complete = None if overlay.connected else "relay"
    try:
        return plan(overlay, brokers, complete=complete, skip_unsupported=True)
    except InputError:
        return None


def steps_table(found: Replan) -> Any:
    """Return the changes of links in order, by name."""
    import pyarrow as pa

    steps = found.steps
    columns: dict[str, list[Any]] = {
        "step": list(range(len(steps))),
        "action": [step.action for step in steps],
        "a": [step.u for step in steps],
        "b": [step.v for step in steps],
    }
    kinds = (pa.int32(), pa.string(), pa.string(), pa.string())
    return pa.table(
        {
            name: pa.array(values, kind)
            for (name, values), kind in zip(columns.items(), kinds, strict=True)
        }
    )


def print_replanned(out: Path, manifest: Manifest) -> None:
    """Print the overlay, what moved, and a design from scratch beside it."""
    print_overlay(out, manifest)
    facts = manifest["replanned"]
    fresh, bounds = facts["fresh"], manifest["bounds"]
    print()
    lost = f", {facts['lost']:,} fell with crashed nodes" if facts["lost"] else ""
    show.print_sentence(
        f"links kept {facts['kept']:,}, added {facts['added']:,}, removed {facts['removed']:,}"
        f"{lost}; {facts['nodes_with_other_links']:,} nodes have other links than before"
    )
    restarts = facts["restarts"]
    if restarts is not None:
        show.print_sentence(
            f"Deployed as bridges, {restarts:,} brokers restart (deploy diff gives the order)"
        )
    moved = facts["added"] + facts["removed"]
    rows = [
        ("links", manifest["n_edges"], fresh["n_edges"], bounds["edges"]),
        ("maximum degree", manifest["max_degree"], fresh["max_degree"], bounds["max_degree"]),
        ("links to move", moved, fresh["links_that_differ"], None),
    ]
    if restarts is not None and fresh["restarts"] is not None:
        rows.append(("brokers to restart", restarts, fresh["restarts"], None))
    show.print_table(("", "mended", "from scratch", "bound"), rows)
    unjoined = facts["unjoined"]
    if unjoined and facts["most_moves"] is not None:
        print(f"{len(unjoined):,} topics cannot be joined within {facts['most_moves']:,} moves:")
        for name in unjoined[:MOST_TOPICS]:
            print(f"  {name}")
        if len(unjoined) > MOST_TOPICS:
            print(f"  and {len(unjoined) - MOST_TOPICS:,} more (--json lists all)")
    print(f"the changes in order, additions first: {out}/steps.parquet")
