"""``meshwright design``: a workload to an overlay with its certificate."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from typer import Option

from meshwright.cli import app, command_name, show
from meshwright.cli.options import Job, WorkloadPath, makes_dataset, start
from meshwright.errors import CheckError, InputError

if TYPE_CHECKING:
    from meshwright.storage import Manifest
    from meshwright.workload.forecast import Forecast

LONG = 60.0  # seconds; longer designs are announced
VERY_LONG = 3600.0  # seconds; with advice
METHOD_HELP = (
    "gm, minmax, low, refined, exact, gpa, gpm, cd, cd1, cd2, spidercast, random-average, "
    "random-max, ring-per-topic, star, full-mesh, or a small world: sl, s, l, none."
)
LIMITS_HELP = (
    "CSV: node, max_degree, role (hub, relay, leaf); gm, minmax, low, refined, exact, gpa, gpm."
)
LINKS_HELP = "CSV: a, b, allowed (yes, no), dial (a, b, both, none), cost; for the same methods."
SURVIVE_HELP = "Keep every topic connected after the loss of any K nodes (gm, minmax, refined)."
FROM_HELP = "Mend this overlay of an earlier workload; its method and limits stay."
PATIENCE_HELP = "How long this process may take, for --engine auto."


@app.command()
@makes_dataset
def design(
    job: Job,
    workload: WorkloadPath,
    method: str = Option("gm", "--method", "-m", help=METHOD_HELP),
    max_edges: int | None = Option(None, help="The most links in all (gpa, random-average)."),
    average_degree: float | None = Option(None, help="The same budget, as the average degree."),
    max_degree: int | None = Option(
        None, help="Most links of a node (refined, exact, gpm, spidercast, random-max)."
    ),
    seconds: float | None = Option(None, help="refined, exact: how long to search."),
    rounds: int | None = Option(None, help="refined: how many rounds, instead of seconds."),
    certify_seconds: float | None = Option(
        None, help="How long to improve the bounds. [default: some rounds, under a second]"
    ),
    budget_ratio: float | None = Option(None, metavar="B", help="Budget as a share of minmax's."),
    budget_counts: str | None = Option(
        None,
        help="With --budget-ratio: all counts every link that minmax adds in its paper, gaining "
        "only those that gain something. [default: all]",
    ),
    equal_edges: bool = Option(
        False, "--equal-edges", help="With --budget-ratio: as many links for all methods."
    ),
    ties: str | None = Option(None, help="gm, gpa: degree or id. [default: degree]"),
    k: float | None = Option(None, help="low: how much more a link of gm must gain. [default: 2]"),
    k_greedy: int | None = Option(None, help="spidercast: cover topics so often. [default: 3]"),
    k_random: int | None = Option(None, help="spidercast: then so often at random. [default: 1]"),
    until: str | None = Option(
        None, help="spidercast: stop when topics are covered, or nodes full. [default: covered]"
    ),
    relay: bool | None = Option(
        None, "--relay/--no-relay", help="star: link all nodes / only those that share a topic."
    ),
    fingers: str | None = Option(None, help="s, none: chord or random. [default: chord]"),
    fill: str | None = Option(
        None, help="sl, l: fingers where no link gains: by interest or random. [default: interest]"
    ),
    seed: int | None = Option(
        None, help="refined, spidercast, random-*, small worlds: the seed. [default: 1]"
    ),
    assume_publishers: str | None = Option(
        None,
        help="Who publishes: listed (by the workload), subscribers or anyone. [default: listed, "
        "or subscribers if the workload has no publications]",
    ),
    publishers_as: str | None = Option(
        None,
        help="Nodes that only publish a topic: member, which may carry it for others, or leaf. "
        "[default: member]",
    ),
    limits: Path | None = Option(None, metavar="FILE", help=LIMITS_HELP),
    links: Path | None = Option(None, metavar="FILE", help=LINKS_HELP),
    survive: int | None = Option(None, metavar="K", help=SURVIVE_HELP),
    from_: Path | None = Option(None, "--from", metavar="OVERLAY", help=FROM_HELP),
    moves: int | None = Option(None, metavar="M", help="With --from: move at most M links."),
    engine: str = Option(
        "auto",
        help="driver: in this process; spark: on Spark (gm, minmax, gpa, gpm); auto: on Spark for "
        "designs of over 8 GB or expected to take longer than --patience.",
    ),
    patience: float = Option(VERY_LONG, metavar="SECONDS", min=0, help=PATIENCE_HELP),
) -> None:
    """Decide which nodes to link; print the certificate."""
    from meshwright.model.method import choose
    from meshwright.overlay.forecast import choose_engine, workload_forecast
    from meshwright.overlay.methods import METHODS
    from meshwright.storage import read_manifest

    choose(METHODS, method)
    if from_ is not None:
        from meshwright.cli.replan import print_replanned, replan_from

        job.print(replan_from(job, workload, from_, moves, method), print_replanned)
        show.warn_of_topics(workload)
        return
    if moves is not None:
        raise InputError(f"--moves {moves} goes with --from; give both or neither.")
    options = job.options("workload", "engine", "patience")
    if limits or links or publishers_as == "leaf":
        engine = _obeying_engine(engine, options)
    if survive:
        engine = _surviving_engine(engine, method, survive)
    read_manifest(workload, "workload")
    expected = workload_forecast(workload)
    on_spark = choose_engine(engine, method, expected, patience) == "spark"
    make = _on_spark if on_spark else _in_this_process
    manifest = make(job, workload, expected, options)
    job.print(manifest, print_overlay)
    show.warn_of_topics(workload)
    if METHODS[method].searches and not manifest["connected"]:
        raise CheckError(_incomplete(manifest, max_degree))
    if (limits or links) and METHODS[method].budget is None and not manifest["connected"]:
        raise CheckError(
            f"found no plan within these limits that connects every topic; one may exist. "
            f"{manifest['n_disconnected']:,} topics are not connected: {job.out} has them all. "
            "Raise limits, or try another method."
        )
    if manifest.get("n_not_surviving"):
        raise CheckError(
            f"found no plan within these limits that survives the loss of any {survive}; one may "
            f"exist. {manifest['n_not_surviving']:,} topics would be split, for example "
            f"{manifest['not_surviving'][0]!r}. Raise limits, or try another method."
        )


def _surviving_engine(engine: str, method: str, survive: int) -> str:
    """Return the engine of a design for failures: this process, and never Spark."""
    from meshwright.overlay.methods import check_survive

    check_survive(method, survive)
    if engine == "spark":
        raise InputError("engine spark does not design for failures; choose driver.")
    return "driver" if engine == "auto" else engine


def _incomplete(manifest: Manifest, max_degree: int | None) -> str:
    """Return what to say of a search that found no complete plan, and whether there is one."""
    bound = manifest["bounds"]["max_degree"]
    if max_degree is not None and bound > max_degree:
        return (
            f"no plan with at most {max_degree} links per node connects every topic: it is proved "
            f"that some node has {bound}. Raise --max-degree to {bound} or more."
        )
    return (
        f"found no plan within these limits that connects every topic; one may exist. The best has "
        f"a support of {manifest['support']:.2%}. Search longer (--seconds), or raise the limits."
    )


def _obeying_engine(engine: str, options: dict[str, Any]) -> str:
    """Return the engine of a design with leaves or limits: this process, and never Spark."""
    from meshwright.overlay import check_request
    from meshwright.overlay.restricted import check_restrictable

    check_request(**{k: v for k, v in options.items() if k not in ("limits", "links")})
    check_restrictable(
        options["method"], budget_ratio=options.get("budget_ratio"), on_spark=engine == "spark"
    )
    return "driver" if engine == "auto" else engine


def _in_this_process(
    job: Job, workload: Path, expected: Forecast, options: dict[str, Any]
) -> Manifest:
    """Design with the engine `driver` and write the overlay; `options` are those of `design`."""
    from meshwright.model.instance import Instance
    from meshwright.overlay import design
    from meshwright.overlay.dataset import write_overlay
    from meshwright.overlay.relays import price_of_anyone
    from meshwright.runtime.progress import Progress

    progress = Progress(2)
    with progress.step("reading the workload"):
        instance = Instance.load(workload)
    if expected.seconds > LONG:
        print(announcement(expected), file=sys.stderr)
    with progress.step(f"designing with {options['method']}"):
        overlay = design(instance, on_progress=progress.update, **options)
    facts = price_of_anyone(overlay, instance, options)
    return write_overlay(overlay, job.out, workload, force=job.force, facts=facts)


def _on_spark(job: Job, workload: Path, expected: Forecast, options: dict[str, Any]) -> Manifest:
    """Design with the engine `spark` and write the overlay; `options` are those of `design`."""
    from meshwright.overlay import check_request
    from meshwright.overlay.greedy.spark_design import N_STEPS, design_on_spark, rounds_path

    check_request(**options)  # before Spark starts
    spark, progress = start(job.master, N_STEPS)
    print(
        f"designing on Spark, {expected.incidences:,} incidences; finished tasks are kept in "
        f"{rounds_path(job.out)}: if this run stops, the same command continues from there",
        file=sys.stderr,
    )
    return design_on_spark(spark, workload, job.out, **options, force=job.force, progress=progress)


def announcement(expected: Forecast) -> str:
    """Return how long a design will take, and the alternative if that is very long."""
    text = (
        f"about {show.duration(expected.seconds)} expected for {expected.incidences:,} incidences"
    )
    if expected.seconds < VERY_LONG:
        return text
    return f"{text}; Ctrl-C stops it, and `{command_name()} sample` makes a smaller workload"


def publishers_line(manifest: Manifest) -> str:
    """Return who was taken to publish, and how to say otherwise."""
    assumed = manifest["parameters"].get("assume_publishers", "subscribers")
    how = "ingest --publications says who does"
    silent, carrying = manifest.get("n_topics_unpublished", 0), manifest.get("n_only_publishing", 0)
    if assumed == "subscribers":
        return f"assumed: subscribers publish their topics; {how}"
    text = "publishers: as the workload lists them"
    if assumed == "anyone":
        text = f"assumed: anyone may publish; {how}{_price_of_anyone(manifest)}"
    if carrying:
        text += f"\n{carrying:,} times a broker takes part in a topic only to publish it"
    if silent:
        text += f"\n{silent:,} topics that nobody publishes need no links"
    return text


def _price_of_anyone(manifest: Manifest) -> str:
    """Return a line on what it costs that anyone may publish, if that is known."""
    other, relays = manifest.get("without_anyone"), manifest.get("relays")
    if not other:
        return ""
    who = "listed publishers" if other["assume_publishers"] == "listed" else "subscribers"
    text = f"the price: {manifest['n_edges']:,} links instead of {other['n_edges']:,}"
    if relays and other["relayed"] is not None:
        text += f", topics relayed {relays['times']:,} times instead of {other['relayed']:,}"
    return "\n" + fill(f"{text} (only {who})", 80)


def print_limits(manifest: Manifest) -> None:
    """Print what the design obeys, if anything, and what its bounds leave out."""
    what = []
    if leaves := manifest.get("n_leaves"):
        what.append(f"{leaves:,} leaves of topics")
    for table, unit in (("limits", "limits of nodes"), ("links", "listed pairs")):
        if table in manifest.rows:
            what.append(f"{manifest.rows[table]:,} {unit}")
    if what:
        print(f"obeys {', '.join(what)}")
    if ignored := manifest.get("bounds_ignore"):
        print(fill(f"the bounds leave out: {'; '.join(ignored)}", 80))


def print_survival(manifest: Manifest) -> None:
    """Print what the plan survives, and what that costs in links."""
    survive = manifest["parameters"].get("survive")
    if not survive:
        return
    if not manifest.get("n_not_surviving"):
        one = "the loss of any one node" if survive == 1 else f"the loss of any {survive} nodes"
        print(f"survives {one}: no topic is split, and no publisher cut off")
    links, degree = (
        manifest["parameters"].get(name) for name in ("links_without", "max_degree_without")
    )
    if links is not None:
        show.print_sentence(
            f"The price: {manifest['n_edges']:,} links instead of {links:,}, and a maximum degree "
            f"of {manifest['max_degree']:,} instead of {degree:,}."
        )


def _joined(relays: dict[str, int] | None) -> str:
    """Return how all topics are joined; `relays` None: they were not counted."""
    if relays is None:
        return "every topic's subscribers are joined"
    if not relays["topics"]:
        return "every topic's subscribers are joined without relays"
    nodes = relays["nodes"]
    who = "1 broker that only publishes" if nodes == 1 else f"{nodes:,} brokers that only publish"
    return f"every topic is joined, {relays['topics']:,} of them through relays: {who} there"


def print_dependence(manifest: Manifest) -> None:
    """Print whether the plan is a star, and what most depends on."""
    from meshwright.overlay.dependence import Dependence

    if (found := manifest.get("dependence")) is not None:
        for sentence in Dependence(**found).sentences():
            show.print_sentence(sentence)


def print_overlay(out: Path, manifest: Manifest) -> None:
    """Print the measures of an overlay, and bounds that no overlay can beat."""
    from meshwright.model.overlay import bound_on_links

    connected, support, bounds = manifest["connected"], manifest["support"], manifest["bounds"]
    facts = {
        "method": show.with_parameters(manifest["method"], manifest["parameters"]),
        "seconds": f"{manifest['seconds']:.2f}",
    }
    links = bound_on_links(bounds["edges"], manifest["parameters"])
    if manifest.rows.get("ring"):
        phases = manifest.rows["fingers"] // manifest.rows["ring"]
        facts["small world"] = f"a ring, and {phases} fingers per node"
    show.print_facts(f"overlay {out}", facts)

    def least(name: str, value: int, bound: int) -> tuple[str, ...]:
        # These bounds hold for overlays that connect every topic.
        gap = f"{value / bound - 1:.0%}" if connected and bound else ""
        return name, f"{value:,}", f"{bound:,}" if connected else "", gap

    best = min(bounds["support_with_edges"], bounds["support_with_degree"])
    gap = f"{(best - support) / max(best, 1e-12):.1%}"
    rows = [
        least("links", manifest["n_edges"], links),
        least("maximum degree", manifest["max_degree"], bounds["max_degree"]),
        ("average degree", f"{manifest['average_degree']:.2f}", "", ""),
        ("support", f"{support:.1%}", f"{best:.1%}", gap),
    ]
    if (cost := manifest.get("cost")) is not None:
        rows.append(("cost of links", show.number(cost), "", ""))
    show.print_table(("", "value", "bound", "gap"), rows)
    if without := manifest.get("n_links_without_cost"):
        print(f"links without a cost, which are not counted in it: {without:,}")
    print(publishers_line(manifest))
    print_limits(manifest)
    print_survival(manifest)
    print_dependence(manifest)
    if connected:
        show.print_sentence(_joined(manifest.get("relays")))
        return
    budget = any(manifest["parameters"].get(name) for name in ("max_edges", "max_degree"))
    within = " within this budget" if budget else ""
    print(f"{manifest['n_disconnected']:,} topics are not connected{within}, for example:")
    for name in manifest["disconnected"][:5]:
        print(f"  {name}")
    print(f"all topics, with the share of subscribers connected: {out}/topics.parquet")
