"""The verbs of the command line as functions: values and paths in, values and paths out.

`design`, `simulate` and `assign` work in memory and are elsewhere; so does `replan`, which is here
because it takes overlays and small worlds. `deploy` and `report` are names of packages, so their
functions are `deploy_mosquitto`, `deploy_check`, ... and `make_report`. The other functions here
read or write datasets; those on Spark use the active session, or start one on this machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.model.changes import Change, Crash, apply_changes
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import SmallWorld

if TYPE_CHECKING:
    from meshwright.content.dataset import Claims
    from meshwright.deploy import Change as ConfChange
    from meshwright.deploy import Findings, Merged, Plan
    from meshwright.model.problem import Problem
    from meshwright.overlay.check import Evaluation
    from meshwright.overlay.frontier import Frontier
    from meshwright.overlay.replanning import Replan
    from meshwright.storage import Manifest
    from meshwright.workload.statistics import Statistics


def ingest(sources: str | Path | Sequence[str | Path], out: str | Path, **options: Any) -> Instance:
    """Read sources, write them as a workload, and return it; `options` are those of the verb."""
    from meshwright.runtime.session import spark_session
    from meshwright.workload.ingest import ingest as stage

    listed = [sources] if isinstance(sources, str | Path) else sources
    stage(spark_session(), [str(source) for source in listed], out, **options)
    return Instance.load(out)


def ingest_content(
    subscribers: str | Path,
    brokers: str | Path,
    out: str | Path,
    *,
    max_delay: float = 0.3,
    alpha: int = 3,
    beta: float = 1.5,
    beta_max: float = 1.8,
    last_hop: bool = False,
    force: bool = False,
) -> Problem:
    """Read tables of subscribers and brokers, write them as a problem, and return it."""
    from meshwright.content.problem import ingest as stage
    from meshwright.content.problem.dataset import load_problem
    from meshwright.runtime.session import spark_session

    tables, limits = (str(subscribers), str(brokers)), (alpha, beta, beta_max, last_hop)
    named = dict(zip(("alpha", "beta", "beta_max", "last_hop"), limits, strict=True))
    stage.ingest(spark_session(), *tables, out, max_delay=max_delay, limits=named, force=force)
    return load_problem(out)


def generate(family: str, out: str | Path, *, force: bool = False, **options: Any) -> Instance:
    """Write a synthetic workload, and return it.

    `family` is ``zipf``, ``unif`` or ``expo`` with the fields of `TopicModel`, or ``social`` with
    those of `SocialModel`.
    """
    from meshwright.runtime.session import spark_session
    from meshwright.workload import generate as stage
    from meshwright.workload.social_law import SocialModel

    if family == "social":
        stage.generate_social(spark_session(), out, SocialModel(**options), force=force)
    else:
        model = stage.TopicModel(family=family, **options)
        stage.generate(spark_session(), out, model, force=force)
    return Instance.load(out)


def generate_content(out: str | Path, *, force: bool = False, **options: Any) -> Problem:
    """Write a synthetic problem, and return it; `options` are those of the verb."""
    from meshwright.content.problem import generate as stage
    from meshwright.content.problem.dataset import load_problem
    from meshwright.content.problem.synthetic import content_arguments
    from meshwright.runtime.session import spark_session

    stage.generate(spark_session(), out, content_arguments(**options), force=force)
    return load_problem(out)


def sample(workload: str | Path, out: str | Path, *, nodes: int, **options: Any) -> Instance:
    """Write a breadth-first sample of a social workload, and return it."""
    from meshwright.runtime.session import spark_session
    from meshwright.workload.sample import sample as stage

    stage(spark_session(), workload, out, nodes=nodes, **options)
    return Instance.load(out)


def stats(workload: str | Path) -> Statistics:
    """Return counts, distributions and the cost to expect of a workload on disk."""
    from meshwright.runtime.session import spark_session
    from meshwright.workload.statistics import statistics

    return statistics(spark_session(), workload)


def write(value: Instance | Overlay, out: str | Path, **options: Any) -> Path:
    """Write an instance as a workload, or an overlay as an overlay dataset; return its path.

    An overlay needs `workload`, the path of the workload that it was designed for. `force` replaces
    what is there.
    """
    if isinstance(value, Instance):
        from meshwright.workload.write import write_workload

        write_workload(value, out, **options)
    elif isinstance(value, Overlay):
        from meshwright.overlay.dataset import write_overlay

        if "workload" not in options:
            raise InputError("an overlay is written with workload=, the path of its workload.")
        write_overlay(value, out, **options)
    else:
        raise InputError(f"write takes an Instance or an Overlay; got {type(value).__name__}.")
    return Path(out)


def frontier(workload: str | Path, out: str | Path, **options: Any) -> Frontier:
    """Plan a workload on disk for several maximum degrees; `options` are those of the verb.

    Each point is an overlay beside `out`: ``load_overlay(found.overlay_path(point))``.
    """
    from meshwright.overlay.spark_frontier import frontier_on_spark
    from meshwright.runtime.session import spark_session

    return frontier_on_spark(spark_session(), workload, out, **options)


def replan(
    overlay: Overlay,
    changes: Iterable[Change] | Instance,
    *,
    moves: int | None = None,
    assume_publishers: str | None = None,
    **options: Any,
) -> Replan:
    """Return an overlay or a small world after changes, and which links to add and to remove.

    Nothing else moves: nodes and topics keep their names, and links stay where they serve. The
    value that is given stays as it was. Needs no JVM.

    Parameters
    ----------
    changes
        What happened, in order: `Subscribe`, `Unsubscribe`, `Publish`, `Unpublish`, `Join`,
        `Leave` and `Crash`; topics may be filters. Or the workload of today, as an `Instance`:
        then nodes and topics are matched by name.
    moves
        The most links to add and remove; links of nodes that are gone do not count. Topics that
        cannot be joined within that are in `unjoined` of the result. A small world that takes more
        moves cannot be left in between: InfeasibleError.
    assume_publishers
        Who publishes, as for `design`; by default as the overlay was designed.
    **options
        ``limits`` and ``links``, as for `design`, instead of those that the overlay has. Without
        them its own are carried over by name.

    Notes
    -----
    Cost: a few copies of the arrays of the instance, and work in the topics that changed and those
    of the nodes that changed; one change at 10,000 nodes takes milliseconds, so give events in
    batches where they come in hundreds. With filters, the whole workload is expanded again. A small
    world costs a repair of its fingers each time. docs/replanning.md has figures.

    Examples
    --------
    >>> import meshwright as mw
    >>> pairs = [("edge-1", "plant/temp"), ("edge-2", "plant/temp"), ("edge-3", "plant/power")]
    >>> before = mw.design(mw.Instance.from_pairs(pairs))
    >>> after = mw.replan(before, [mw.Subscribe("edge-3", "plant/temp"), mw.Join("edge-4")])
    >>> after.steps
    (LinkChange(action='add', u='edge-1', v='edge-3'),)
    >>> after.overlay.connected
    True
    """
    from meshwright.overlay.demand import make_demand
    from meshwright.overlay.replanning import check_moves, mend
    from meshwright.smallworld.replanning import replan_world

    if not isinstance(overlay, Overlay):
        raise InputError(
            f"replan takes an Overlay; got {overlay!r}. For one on disk: load_overlay."
        )
    assumed = assume_publishers or overlay.parameters.get("assume_publishers") or "subscribers"
    crashed: set[str] = set()
    if isinstance(changes, Instance):
        workload = changes
    else:
        happened = list(changes)
        crashed = {change.node for change in happened if isinstance(change, Crash)}
        workload = apply_changes(overlay.instance.workload or overlay.instance, happened)
    check_moves(moves)
    instance = make_demand(workload, assumed)
    if isinstance(overlay, SmallWorld):
        refused = [name for name, value in options.items() if value is not None]
        if refused:
            raise InputError(f"a small world knows no {refused[0]}; leave it out.")
        return replan_world(overlay, instance, assumed, moves=moves, crashed=crashed)
    return mend(overlay, instance, assumed, moves=moves, crashed=crashed, **options)


def check(
    dataset: str | Path,
    *,
    workload: str | Path | None = None,
    problem: str | Path | None = None,
) -> Evaluation | Claims:
    """Recompute what an overlay or assignment on disk claims.

    `findings` of the result lists what is false. `workload` and `problem` are where the dataset's
    own was moved to.
    """
    from meshwright.content.dataset import check_claims
    from meshwright.overlay.check import check as stage
    from meshwright.runtime.session import spark_session
    from meshwright.storage import read_manifest

    if read_manifest(Path(dataset)).kind == "assignment":
        return check_claims(dataset, problem)
    return stage(spark_session(), dataset, workload=workload)


def write_run(overlay: str | Path, out: str | Path, **options: Any) -> Manifest:
    """Simulate publications on an overlay on disk, write the run, and return its manifest.

    `options` are those of the verb `simulate`; `mw.simulate` does the same in memory.
    """
    from meshwright.runtime.session import spark_session
    from meshwright.smallworld.routing import spark_simulation as stage

    chosen = {"routing": stage.default_routing(overlay), **options}
    return stage.simulate_on_spark(spark_session(), overlay, out, **chosen)


def deploy_mosquitto(
    overlay: Overlay | str | Path, inventory: str | Path, out: str | Path, **options: Any
) -> Plan:
    """Write configurations of Mosquitto for an overlay, and return the plan.

    `inventory` is a CSV of the brokers. `options` are those of `meshwright.deploy.plan` (``tree``,
    ``qos``, ``complete``, ``publishers``) and of `write_conf` (``layout``, ``force``, ...).
    """
    from inspect import signature

    from meshwright import deploy as stage
    from meshwright.overlay.dataset import load_overlay

    found = overlay if isinstance(overlay, Overlay) else load_overlay(overlay)
    brokers = stage.read_inventory(inventory, list(found.instance.node_names))
    planning = signature(stage.plan).parameters.keys()
    made = stage.plan(found, brokers, **{k: v for k, v in options.items() if k in planning})
    stage.write_conf(made, out, **{k: v for k, v in options.items() if k not in planning})
    return made


def deploy_check(conf: str | Path, installed: Mapping[str, str | Path] | None = None) -> Findings:
    """Prove from the files of a configuration that no message can loop.

    `installed` has the mosquitto.conf that brokers run, by node. `errors` of the result are empty
    if all is well.
    """
    from meshwright.deploy import check_conf, read_conf

    places = {node: Path(place) for node, place in (installed or {}).items()}
    return check_conf(read_conf(Path(conf)), places)


def deploy_merge(piece: str | Path, into: str | Path, **options: Any) -> Merged:
    """Put a broker's bridges and users beside its operator's own; `options` are those of the verb.

    With ``dry_run=True`` nothing is written, and `changes` of the result says what would be.
    """
    from meshwright.deploy import merge

    return merge(piece, into, **options)


def deploy_diff(before: str | Path, after: str | Path) -> ConfChange:
    """Return which brokers change between two configurations, and a safe order of restarts."""
    from meshwright.deploy import compare_confs

    return compare_confs(Path(before), Path(after))


def make_report(
    datasets: str | Path | Sequence[str | Path], out: str | Path = "report.html", **options: Any
) -> Path:
    """Write a page about datasets that opens offline, and return its path."""
    from meshwright import report

    listed = [datasets] if isinstance(datasets, str | Path) else datasets
    return report.make_report(listed, out, **options).page
