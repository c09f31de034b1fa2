"""``meshwright design``: a workload to an overlay with its certificate."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Force, Json, Master, Out, start
from meshwright.cli.show import duration, print_facts, print_json, print_table

if TYPE_CHECKING:
    from meshwright.datasets import Manifest
    from meshwright.workload.forecast import Forecast

LONG = 60.0  # seconds; longer designs are announced
VERY_LONG = 3600.0  # seconds; with advice


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("design", help="Decide which nodes to link; prints the certificate.")(command)


def command(
    workload: Annotated[Path, typer.Argument(help="A workload dataset.")],
    out: Out,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help="gm, minmax, low, gpa, gpm, cd, cd1, cd2, spidercast, random-average, "
            "random-max, ring-per-topic, star, full-mesh, or a small world: sl, s, l, none.",
        ),
    ] = "gm",
    max_edges: Annotated[
        int | None, typer.Option("--max-edges", help="The budget of links (gpa, random-average).")
    ] = None,
    average_degree: Annotated[
        float | None, typer.Option("--average-degree", help="The same as a mean per node.")
    ] = None,
    max_degree: Annotated[
        int | None,
        typer.Option(
            "--max-degree", help="The most links of a node (gpm, spidercast, random-max)."
        ),
    ] = None,
    budget_ratio: Annotated[
        float | None,
        typer.Option("--budget-ratio", metavar="B", help="A share of what minmax would need."),
    ] = None,
    equal_edges: Annotated[
        bool, typer.Option("--equal-edges", help="With --budget-ratio: stop all at as many links.")
    ] = False,
    ties: Annotated[
        str | None, typer.Option("--ties", help="degree or id (gm, gpa). [default: degree]")
    ] = None,
    k: Annotated[float | None, typer.Option("--k", help="low: the threshold. [default: 2]")] = None,
    k_greedy: Annotated[
        int | None, typer.Option("--k-greedy", help="spidercast: greedy coverage. [default: 3]")
    ] = None,
    k_random: Annotated[
        int | None, typer.Option("--k-random", help="spidercast: random coverage. [default: 1]")
    ] = None,
    relay: Annotated[
        bool | None,
        typer.Option("--relay/--no-relay", help="star: link all nodes, or those that share."),
    ] = None,
    fingers: Annotated[
        str | None, typer.Option("--fingers", help="s, none: chord or random. [default: chord]")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="spidercast, random-*, small worlds: the seed. [default: 1]"),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            help="Where to design: driver, in this process; spark (gm, minmax, gpa, gpm); auto, on "
            "Spark when this process has too little memory or takes longer than --patience.",
        ),
    ] = "auto",
    patience: Annotated[
        float,
        typer.Option(
            "--patience", metavar="SECONDS", min=0, help="How long this process may take."
        ),
    ] = VERY_LONG,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Decide which nodes to link; prints the certificate."""
    from meshwright.datasets import read_manifest, refuse_overwrite
    from meshwright.overlay.forecast import choose_engine, workload_forecast
    from meshwright.overlay.methods import check_choice
    from meshwright.smallworld import ALL_METHODS
    from meshwright.spark.session import machine_memory

    check_choice(method, ALL_METHODS)
    read_manifest(workload, "workload")
    refuse_overwrite(out.absolute(), force=force)
    given = {
        "average_degree": average_degree,
        "budget_ratio": budget_ratio,
        "equal_edges": equal_edges,
        "max_edges": max_edges,
        "max_degree": max_degree,
        "ties": ties,
        "k": k,
        "k_greedy": k_greedy,
        "k_random": k_random,
        "relay": relay,
        "fingers": fingers,
        "seed": seed,
    }
    expected = workload_forecast(workload)
    chosen = choose_engine(engine, method, expected, machine_memory(), patience)
    run = partial(_on_spark, master) if chosen == "spark" else _here
    manifest = run(workload, out, method, expected, given, force=force)
    if json:
        print_json(manifest.as_dict())
    else:
        print_overlay(out, manifest)


def _here(
    workload: Path,
    out: Path,
    method: str,
    expected: Forecast,
    given: dict[str, Any],
    *,
    force: bool,
) -> Manifest:
    """Design in this process."""
    from meshwright.overlay.forecast import refuse_what_cannot_fit
    from meshwright.smallworld import design, write_overlay
    from meshwright.spark.progress import Progress
    from meshwright.spark.session import machine_memory
    from meshwright.values import Instance

    refuse_what_cannot_fit(expected, machine_memory())
    progress = Progress(2)
    with progress.step("reading the workload"):
        instance = Instance.load(workload)
    if expected.seconds > LONG:
        print(announcement(expected), file=sys.stderr)
    with progress.step(f"designing with {method}"):
        overlay = design(instance, method, tell=progress.tell, **given)
    return write_overlay(overlay, out, workload, force=force)


def _on_spark(
    master: str | None,
    workload: Path,
    out: Path,
    method: str,
    expected: Forecast,
    given: dict[str, Any],
    *,
    force: bool,
) -> Manifest:
    """Design level by level on Spark."""
    from meshwright.overlay import check_asked
    from meshwright.overlay.levels.design import N_STEPS, design_on_spark, rounds_of

    asked = {name: value for name, value in given.items() if value is not None}
    check_asked(method, **asked)  # before Spark is started
    spark, progress = start(master, N_STEPS)
    print(
        f"designing on Spark, {expected.incidences:,} incidences; until it is done, what the tasks "
        f"found is kept in {rounds_of(out)}, and the same command goes on from there",
        file=sys.stderr,
    )
    return design_on_spark(spark, workload, out, method, force=force, progress=progress, **asked)


def announcement(expected: Forecast) -> str:
    """Return what a long design will take, and what to do when that is too long."""
    text = f"about {duration(expected.seconds)} expected for {expected.incidences:,} incidences"
    if expected.seconds < VERY_LONG:
        return text
    return f"{text}; Ctrl-C stops it, and a smaller one comes from `meshwright sample`"


def print_overlay(out: Path, manifest: Manifest) -> None:
    """Print what an overlay achieves, against what none can beat."""
    print(f"overlay {out}")
    told = [
        f"{name} {value}" for name, value in manifest["parameters"].items() if value is not None
    ]
    method = manifest["method"] + (f" ({', '.join(told)})" if told else "")
    facts = {"method": method, "seconds": f"{manifest['seconds']:.2f}"}
    if manifest.rows.get("ring"):
        phases = manifest.rows["fingers"] // manifest.rows["ring"]
        facts["small world"] = f"a ring, and {phases} fingers per node"
    print_facts(facts)
    bounds = manifest["bounds"]
    rows: list[tuple[str, object, object, object]] = []
    if manifest["connected"]:
        rows.append(_row("links", manifest["n_edges"], bounds["edges"], ""))
        rows.append(_row("maximum degree", manifest["max_degree"], bounds["max_degree"], ""))
    else:
        rows.append(("links", f"{manifest['n_edges']:,}", "", ""))
        rows.append(("maximum degree", f"{manifest['max_degree']:,}", "", ""))
    rows.append(("average degree", f"{manifest['average_degree']:.2f}", "", ""))
    reachable = min(bounds["support_with_edges"], bounds["support_with_degree"])
    best = f"{reachable:.1%}"
    gap = f"{(reachable - manifest['support']) / max(reachable, 1e-12):.1%}"
    rows.append(("support", f"{manifest['support']:.1%}", best, gap))
    print_table(("", "value", "bound", "gap"), rows)
    if manifest["connected"]:
        print("every topic's subscribers are joined without relays")
        return
    budget = any(manifest["parameters"].get(name) for name in ("max_edges", "max_degree"))
    within = " within this budget" if budget else ""
    print(f"{manifest['n_disconnected']:,} topics are left apart{within}, among them:")
    for name in manifest["disconnected"][:5]:
        print(f"  {name}")
    print(f"all of them, with the share of subscribers joined: {out}/topics.parquet")


def _row(name: str, value: int, bound: int, unit: str) -> tuple[str, object, object, object]:
    gap = f"{value / bound - 1:.0%}" if bound else ""
    return name, f"{value:,}{unit}", f"{bound:,}{unit}", gap
