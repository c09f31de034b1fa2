"""``meshwright demo``: the whole flow on a bundled example."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.cli import app, command_name, run_verb, show
from meshwright.cli.options import DemoOut, Master
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.model.overlay import Overlay

EXAMPLE = "company.csv"
TODAY = ("full-mesh", "star", "ring-per-topic")  # layouts to compare with
PLANNED = {
    "gm": ("gm", "--certify-seconds", "5"),
    "refined": ("refined", "--max-degree", "6"),
    "gpm": ("gpm", "--max-degree", "5"),
}
TOPIC, PUBLISHER = "plant4/line4/conveyor/jam", "plant4-line4"  # whose message is followed


@app.command()
def demo(out: DemoOut = Path("demo"), master: Master = None) -> None:
    """Run the whole flow on a bundled example; start here."""
    from meshwright.model.instance import Instance
    from meshwright.overlay import design
    from meshwright.overlay.dataset import load_overlay
    from meshwright.storage.files import make_directory

    example = find_example()
    make_directory(out)
    source, workload, report = out / EXAMPLE, out / "workload", out / "report.html"
    shutil.copyfile(example, source)
    print("A company runs 60 MQTT brokers. Which should be linked, so that every message")
    print("reaches the brokers that want it, and no broker carries what it does not want?")
    on_spark = ("--master", master) if master is not None else ()
    run_verb("ingest", source, "-o", workload, silent=("--force", *on_spark))
    run_verb("stats", workload, silent=on_spark)
    for name, words in PLANNED.items():
        run_verb("design", workload, "-o", out / name, "-m", *words, silent=("--force",))
    run_verb("check", out / "gm", silent=on_spark)
    instance = Instance.load(workload)
    print("\nWhat people build today, and what Meshwright plans:")
    print_comparison(
        {name: design(instance, name) for name in TODAY}
        | {name: load_overlay(out / name) for name in PLANNED}
    )
    print_dissemination(design(instance, "sl", certify=False))
    curve = out / "frontier"
    few = ("--points", "4", "--rounds", "1000")
    run_verb("frontier", workload, "-o", curve, *few, silent=("--force", *on_spark))
    shown = [out / "gm", out / "refined", curve]
    run_verb("report", *shown, "-o", report, silent=("--force",))
    print(f"\nTo run the plan on real Mosquitto brokers on this machine: {command_name()} lab demo")
    print("\nOpen the report in a browser; it needs no network:")
    print(report.absolute())


def print_comparison(overlays: Mapping[str, Overlay]) -> None:
    """Print the overlays side by side.

    The gap is to the best bound of all, which no complete overlay of this workload can go below.
    The components of a topic can only be joined by nodes that do not want it, its relays.
    """
    from meshwright.model.overlay import disconnected_topics

    bound = max(o.bounds.edges for o in overlays.values() if o.bounds is not None)
    rows = [
        (
            name,
            o.n_edges,
            f"{o.n_edges / bound - 1:,.0%}" if o.connected else "",
            o.max_degree,
            f"{o.support:.1%}",
            len(disconnected_topics(o)),
        )
        for name, o in overlays.items()
    ]
    columns = ("overlay", "links", "gap", "maximum degree", "support", "topics relayed")
    show.print_table(columns, rows)
    print(f"The gap is to {bound:,} links: every plan that relays nothing is proved to need them.")
    print("Relayed topics cross a node that does not want them; a star's hub relays all.")


def print_dissemination(world: Overlay) -> None:
    """Print the path of one publication over a small world."""
    from meshwright.smallworld.routing.trace import sketch

    topic = world.instance.topic_names.index(TOPIC)
    publisher = world.instance.node_names.index(PUBLISHER)
    print("\nHow messages travel: on a small world each receiver gets a part of the ring and")
    print(f"passes them on within it. {PUBLISHER} publishes on {TOPIC};")
    print("relays and pivots carry it without wanting it, the others have asked for it:\n")
    for line in sketch(world, topic, publisher):
        print(f"  {line}")


def find_example() -> Path:
    """Return the bundled example: in the package when installed, else in the repository."""
    package = Path(__file__).parents[1]
    for place in (package / "examples", package.parents[1] / "examples"):
        if (place / EXAMPLE).is_file():
            return place / EXAMPLE
    raise InputError("the bundled example is missing; run the demo from a clone or a whole wheel.")


def example_interests(n_brokers: int) -> dict[str, list[str]]:
    """Return what brokers of the bundled example want, of `n_brokers` spread over all of them."""
    import csv

    interests: dict[str, list[str]] = {}
    with find_example().open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            interests.setdefault(row["broker"], []).append(row["topic"])
    nodes = sorted(interests)
    return {node: interests[node] for node in nodes[:: len(nodes) // n_brokers][:n_brokers]}
