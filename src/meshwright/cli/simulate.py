"""``meshwright simulate``: publications on an overlay, to a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Option

from meshwright.cli import app, command_name, show
from meshwright.cli.options import Job, OverlayPath, Seed, Workload, makes_dataset

if TYPE_CHECKING:
    from meshwright.storage import Manifest

ROUTING_HELP = (
    "po, pal, pie, scribe or iscribe on small worlds; tree on any overlay. [default: pie, or tree "
    "without a ring]"
)
DIRECTION_HELP = (
    "Small worlds: one sends over fingers, clockwise; both over links in both directions."
)
MATCH_HELP = "With --direction both: look for subscribers among fingers, or among all neighbours."
MEASURES = {  # of a run's totals, and their labels
    "deliveries": "deliveries",
    "missed": "missed",
    "overhead": "overhead",
    "overhead_per_delivery": "overhead per delivery",
    "hops_mean": "mean path",
    "hops_max": "longest path",
    "load_mean": "load per node, mean",
    "load_stdev": "  standard deviation",
    "load_max": "  largest",
    "busiest_share": "  share of busiest 1%",
}


@app.command()
@makes_dataset
def simulate(
    job: Job,
    overlay: OverlayPath,
    routing: str | None = Option(None, "--routing", "-r", help=ROUTING_HELP),
    publications: int = Option(1000, "--publications", "-n", help="How many publications to draw."),
    weights: Path | None = Option(
        None,
        help="How often topics are published on: a .csv, .tsv or .parquet with the columns topic "
        "and weight. [default: equally]",
    ),
    against: str | None = Option(None, help="Another routing to simulate and compare with."),
    direction: str = Option("one", help=DIRECTION_HELP),
    match: str = Option("fingers", help=MATCH_HELP),
    seed: Seed = 1,
    workload: Workload = None,
) -> None:
    """Publish on an overlay; count deliveries, overhead, hops, load."""
    from meshwright.smallworld.routing import spark_simulation as stage
    from meshwright.smallworld.routing.simulate import read_weights
    from meshwright.storage import find_input, read_manifest

    chosen = routing or stage.default_routing(overlay)
    stage.check_arguments(chosen, publications, seed, against, direction, match)
    stage.check_is_small_world(overlay, chosen, against)
    find_input(read_manifest(overlay, "overlay"), "workload", workload)
    options = {**job.options(), "routing": chosen}
    if weights is not None:
        options["weights"] = read_weights(weights)
    n_steps = stage.N_STEPS + (stage.N_STEPS_AGAINST if against else 0)
    manifest = job.on_spark(stage.simulate_on_spark, n_steps, n_rows=publications, **options)
    job.print(manifest, print_run)


def print_run(out: Path, manifest: Manifest) -> None:
    """Print the totals of a run, beside those of another routing if there is one."""
    totals = manifest["totals"]
    facts = {
        "overlay": f"{Path(manifest['overlay']).name} ({manifest['method']})",
        "links": f"{manifest['n_edges']:,}, at most {manifest['max_degree']:,} of a node",
        "publications": totals["publications"],
        "seconds": f"{manifest['seconds']:.2f}",
    }
    show.print_facts(f"run {out}", facts)
    columns = [["", *MEASURES.values()], [manifest["routing"], *_cells(totals)]]
    other = manifest.get("against")
    if other is not None:
        ratios = [other["ratios"].get(name) for name in MEASURES]
        columns.append([other["routing"], *_cells(other["totals"])])
        columns.append(["ratio", *["" if ratio is None else f"{ratio:.3f}" for ratio in ratios]])
    for column in columns[1:]:  # of numbers, though they are text by now
        column[:] = [cell.rjust(max(map(len, column))) for cell in column]
    names, *rows = zip(*columns, strict=True)
    show.print_table(names, rows)
    print("\nbusiest nodes")
    rows = [(row["node"], row["sent"], row["received"]) for row in manifest["busiest"]]
    show.print_table(("node", "sent", "received"), rows)
    print_traffic(manifest.get("traffic"))
    if totals["missed"]:
        print(f"subscribers of disconnected topics are missed: see `{command_name()} check`")


def print_traffic(found: dict[str, Any] | None) -> None:
    """Print the traffic by the rates of the workload, if it has some, and where it is most."""
    if not found:
        return
    print()
    show.print_sentence(
        f"By the rates of the workload, on trees: {show.number(found['messages'])} messages and "
        f"{show.number(found['bytes'])} bytes per second over all links."
    )
    rows: list[tuple[str | float, ...]] = []
    for what, kind in (("busiest link", "links"), ("busiest node", "nodes")):
        for i, row in enumerate(found[kind]):
            name = row["node"] if kind == "nodes" else " - ".join(row["ends"])
            flow = row["messages"], row["bytes"]
            rows.append(("" if i else f"{what}s", name, *flow))
    show.print_table(("", "", "messages/s", "bytes/s"), rows)
    if found["n_unknown"]:
        print(f"publications without a rate, which are not counted: {found['n_unknown']:,}")


def _cells(totals: dict[str, Any]) -> list[str]:
    deliveries = totals["deliveries"]
    ratio = totals["overhead"] / deliveries if deliveries else None
    known = {**totals, "overhead_per_delivery": ratio}
    shown = {name: "-" if known[name] is None else show.number(known[name]) for name in MEASURES}
    return list({**shown, "busiest_share": f"{totals['busiest_share']:.1%}"}.values())
