"""``meshwright demo``: the whole flow on a bundled example."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Master, start
from meshwright.cli.show import print_table
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.values import Overlay

EXAMPLE = "company.csv"
PLANS: dict[str, tuple[str, dict[str, Any]]] = {
    "full-mesh": ("full-mesh", {}),
    "star": ("star", {}),
    "ring-per-topic": ("ring-per-topic", {}),
    "gm": ("gm", {}),
    "gpm": ("gpm", {"max_degree": 5}),
}
SHOWN = ("gm", "gpm")
REPORT = "report.html"
JAM = ("plant4/line4/conveyor/jam", "plant4-line4")  # a topic and who publishes on it


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("demo", help="Run the whole flow on a bundled example; start here.")(command)


def command(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where to put the demo's datasets.", metavar="DIR")
    ] = Path("demo"),
    master: Master = None,
) -> None:
    """Run the whole flow on a bundled example; start here."""
    from meshwright.cli.check import print_evaluation
    from meshwright.cli.design import print_overlay
    from meshwright.cli.ingest import print_workload
    from meshwright.cli.stats import print_statistics
    from meshwright.evaluation import check
    from meshwright.overlay.dataset import write_overlay
    from meshwright.report import make_report
    from meshwright.smallworld import design
    from meshwright.values import Instance
    from meshwright.workload import ingest, statistics

    example = find_example()
    out.mkdir(parents=True, exist_ok=True)
    source, workload = out / EXAMPLE, out / "workload"
    shutil.copyfile(example, source)
    print("A company runs 60 MQTT brokers. Which should be linked, so that every message")
    print("reaches the brokers that want it, and no broker carries what it does not want?")
    n_steps = ingest.N_STEPS + statistics.N_STEPS + len(PLANS) + check.N_STEPS + 2
    spark, progress = start(master, n_steps)
    say(f"ingest {source} -o {workload}")
    manifest = ingest.ingest(spark, [str(source)], workload, force=True, progress=progress)
    print_workload(workload, manifest)
    say(f"stats {workload}")
    print_statistics(workload, statistics.statistics(spark, workload, progress=progress))
    instance = Instance.load(workload)
    overlays = {}
    for name, (method, parameters) in PLANS.items():
        with progress.step(f"designing {name}"):
            overlays[name] = design(instance, method, **parameters)
    for name in SHOWN:
        method, parameters = PLANS[name]
        options = "".join(
            f" --{key.replace('_', '-')} {value}" for key, value in parameters.items()
        )
        say(f"design {workload} -o {out / name} --method {method}{options}")
        print_overlay(out / name, write_overlay(overlays[name], out / name, workload, force=True))
    say(f"check {out / SHOWN[0]}")
    print_evaluation(out / SHOWN[0], check.check(spark, out / SHOWN[0], progress=progress))
    print("\nWhat people build today, and what Meshwright plans:")
    compare(overlays)
    with progress.step("designing a small world"):
        world = design(instance, "sl", certify=False)
    show_dissemination(world, *JAM)
    say(f"report {out / SHOWN[0]} {out / SHOWN[1]} -o {out / REPORT}")
    with progress.step("drawing the report"):
        written = make_report([out / name for name in SHOWN], out / REPORT, force=True)
    print("Open it in a browser; it needs no network:")
    print(written.page.absolute())


def compare(overlays: Mapping[str, Overlay]) -> None:
    """Print the overlays side by side."""
    from meshwright.values import disconnected_topics

    print_table(
        ("overlay", "links", "maximum degree", "support", "topics relayed"),
        [
            (
                name,
                overlay.n_edges,
                overlay.max_degree,
                f"{overlay.support:.1%}",
                # A topic in pieces can only be carried over nodes that do not want it.
                len(disconnected_topics(overlay)),
            )
            for name, overlay in overlays.items()
        ],
    )
    print("Relayed topics cross a node that does not want them; a star's hub relays them all.")


def show_dissemination(world: Overlay, topic: str, publisher: str) -> None:
    """Print the way of one publication over a small world."""
    from meshwright.routing.trace import sketch

    names = world.instance
    t, v = list(names.topic_names).index(topic), list(names.node_names).index(publisher)
    print("\nHow messages travel: on a small world each receiver gets a part of the ring and")
    print(f"passes them on within it. {publisher} publishes on {topic};")
    print("relays and pivots carry it without wanting it, the others have asked for it:\n")
    for line in sketch(world, t, v):
        print(f"  {line}")


def say(command: str) -> None:
    """Print the command whose output follows."""
    print(f"\n$ ./meshwright {command}")


def find_example() -> Path:
    """Return the bundled example: in the package when installed, else in the repository."""
    package = Path(__file__).parents[1]
    for place in (package / "examples", package.parents[1] / "examples"):
        if (place / EXAMPLE).is_file():
            return place / EXAMPLE
    raise InputError("the bundled example is missing; run the demo from a clone or a whole wheel.")
