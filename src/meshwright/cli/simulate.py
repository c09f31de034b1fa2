"""``meshwright simulate``: publications on an overlay, to a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Force, Json, Master, Out, Seed, start
from meshwright.cli.show import number, print_facts, print_json, print_table

if TYPE_CHECKING:
    from meshwright.datasets import Manifest

SHOWN = (
    ("deliveries", "deliveries"),
    ("missed", "missed"),
    ("overhead", "overhead"),
    ("overhead per delivery", "overhead_per_delivery"),
    ("mean path", "hops_mean"),
    ("longest path", "hops_max"),
    ("load per node, mean", "load_mean"),
    ("  standard deviation", "load_stdev"),
    ("  largest", "load_max"),
    ("  share of busiest 1%", "busiest_share"),
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("simulate", help="Publish on an overlay; count deliveries, overhead, hops, load.")(
        command
    )


def command(
    overlay: Annotated[Path, typer.Argument(help="An overlay dataset.")],
    out: Out,
    routing: Annotated[
        str,
        typer.Option(
            "--routing", "-r", help="po, pal, pie, scribe or iscribe on small worlds; tree on any."
        ),
    ] = "pie",
    publications: Annotated[
        int, typer.Option("--publications", "-n", help="How many publications to draw.")
    ] = 1000,
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights",
            help="How often topics are published on: a .csv, .tsv or .parquet with the columns "
            "topic and weight. [default: all alike]",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", help="Another routing, simulated too and compared with."),
    ] = None,
    seed: Seed = 1,
    workload: Annotated[
        Path | None, typer.Option("--workload", help="Where its workload is, if it was moved.")
    ] = None,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Publish on an overlay; count deliveries, overhead, hops, load."""
    from meshwright.datasets import refuse_overwrite
    from meshwright.routing import on_spark as stage
    from meshwright.routing.weights import read_weights

    stage.check_arguments(routing, publications, seed, against)
    stage.refuse_no_small_world(overlay, routing, against)
    refuse_overwrite(out.absolute(), force=force)
    rates = read_weights(weights) if weights is not None else None
    more = stage.N_STEPS_AGAINST if against else 0
    spark, progress = start(master, stage.N_STEPS + more)
    manifest = stage.simulate_on_spark(
        spark,
        overlay,
        out,
        routing=routing,
        publications=publications,
        seed=seed,
        weights=rates,
        against=against,
        workload=workload,
        force=force,
        progress=progress,
    )
    if json:
        print_json(manifest.as_dict())
    else:
        print_run(out, manifest)


def print_run(out: Path, manifest: Manifest) -> None:
    """Print what publications came to, beside another routing if there is one."""
    totals = manifest["totals"]
    print(f"run {out}")
    print_facts(
        {
            "overlay": f"{Path(manifest['overlay']).name} ({manifest['method']})",
            "links": f"{manifest['n_edges']:,}, at most {manifest['max_degree']:,} of a node",
            "publications": f"{totals['publications']:,}",
            "seconds": f"{manifest['seconds']:.2f}",
        }
    )
    other = manifest.get("against")
    columns = {manifest["routing"]: [_cell(totals, name) for _, name in SHOWN]}
    if other is not None:
        columns[other["routing"]] = [_cell(other["totals"], name) for _, name in SHOWN]
        columns["ratio"] = [_ratio(other["ratios"], name) for _, name in SHOWN]
    headed = {name: max(map(len, (name, *cells))) for name, cells in columns.items()}
    aligned = [[cell.rjust(headed[name]) for cell in cells] for name, cells in columns.items()]
    labels = [label for label, _ in SHOWN]
    heads = [name.rjust(width) for name, width in headed.items()]
    print_table(("", *heads), zip(labels, *aligned, strict=True))
    print("\nbusiest nodes")
    rows = [(row["node"], row["sent"], row["received"]) for row in manifest["busiest"]]
    print_table(("node", "sent", "received"), rows)
    if totals["missed"]:
        print("subscribers are missed where a topic is not connected: see `meshwright check`")


def _cell(totals: dict[str, Any], name: str) -> str:
    if name == "overhead_per_delivery":
        value = totals["overhead"] / totals["deliveries"] if totals["deliveries"] else None
    else:
        value = totals[name]
    if value is None:
        return "-"
    return f"{value:.1%}" if name == "busiest_share" else number(value)


def _ratio(ratios: dict[str, float | None], name: str) -> str:
    value = ratios.get(name)
    return "" if value is None else f"{value:.3f}"
