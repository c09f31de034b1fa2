"""The verbs of the command line as functions: values and paths in, values and paths out.

`design`, `simulate` and `assign` work in memory and are elsewhere; so does `replan`, which is here
because it takes overlays and small worlds. `deploy` and `report` are names of packages, so their
functions are `deploy_mosquitto` and `make_report`. The other functions here read or write datasets;
those on Spark use the active session, or start one on this machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.errors import InputError
from meshwright.model.changes import Change, Crash, apply_changes
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.model.small_world import SmallWorld

if TYPE_CHECKING:
    from meshwright.deploy import Plan
    from meshwright.overlay.check import Evaluation
    from meshwright.overlay.frontier import Frontier
    from meshwright.overlay.replanning import Replan
    from meshwright.workload.statistics import Statistics


def ingest(sources: str | Path | Sequence[str | Path], out: str | Path, **options: Any) -> Instance:
    """Read sources, write them as a workload, and return it; `options` are those of the verb."""
    from meshwright.runtime.session import spark_session
    from meshwright.workload.ingest import ingest as stage

    listed = [sources] if isinstance(sources, str | Path) else sources
    stage(spark_session(), [str(source) for source in listed], out, **options)
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


def check(overlay: str | Path, *, workload: str | Path | None = None) -> Evaluation:
    """Recompute what an overlay on disk claims; `findings` of the result lists what is false."""
    from meshwright.overlay.check import check as stage
    from meshwright.runtime.session import spark_session

    return stage(spark_session(), overlay, workload=workload)


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


def make_report(
    datasets: str | Path | Sequence[str | Path], out: str | Path = "report.html", **options: Any
) -> Path:
    """Write a page about datasets that opens offline, and return its path."""
    from meshwright import report

    listed = [datasets] if isinstance(datasets, str | Path) else datasets
    return report.make_report(listed, out, **options).page
