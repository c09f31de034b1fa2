"""``meshwright lab``: the brokers of a plan as real processes on this machine."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Json, Seed
from meshwright.cli.show import print_facts, print_json, print_table
from meshwright.errors import CheckError, DeployError

if TYPE_CHECKING:
    from meshwright.lab.compare import Measured
    from meshwright.lab.running import Lab
    from meshwright.lab.verify import Verification

MOST_ROWS = 10

Conf = Annotated[
    Path, typer.Argument(help="A directory that `deploy mosquitto` wrote.", metavar="CONF")
]
Place = Annotated[
    Path | None,
    typer.Option("--lab", help="Where the lab keeps its files. [default: CONF.lab]", metavar="DIR"),
]
Publishers = Annotated[
    int | None,
    typer.Option("--publishers", min=1, help="Publishers drawn for each topic. [default: all]"),
]


@contextmanager
def stopping_brokers() -> Iterator[None]:
    """Let a command that is told to end stop its brokers first, as one that is interrupted does."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def register(app: typer.Typer) -> None:
    """Add the verbs of the lab."""
    group = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Run a plan on real brokers, here.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.command("up", help="Start a plan's brokers and wait until its links carry.")(up)
    group.command("verify", help="Publish on every topic; exit 1 unless each arrives once.")(verify)
    group.command("compare", help="Measure a plan beside a full mesh and a hub.")(compare)
    group.command("down", help="Stop exactly the brokers that were started.")(down)
    group.command("demo", help="Run the bundled example on real brokers; start here.")(demo)
    app.add_typer(group, name="lab")


def up(
    conf: Conf,
    lab: Place = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", help="A broker to leave out; repeatable.")
    ] = None,
    any_ports: Annotated[
        bool, typer.Option("--any-ports", help="Free ports even where the plan's are loopback.")
    ] = False,
    json: Json = False,
) -> None:
    """Start a plan's brokers and wait until its links carry."""
    from meshwright.lab import running
    from meshwright.lab.verify import await_links
    from meshwright.spark.progress import Progress

    progress = Progress(2)
    with stopping_brokers():
        with progress.step("starting brokers"):
            started = running.up(conf, place=lab, without=without or (), any_ports=any_ports)
        try:
            with progress.step("waiting for bridges"):
                await_links(started)
        except DeployError:
            started.stop_brokers()  # their logs tell why
            raise
        except BaseException:
            started.stop()
            raise
    if json:
        print_json({"lab": str(started.place), "ports": dict(started.access.ports)})
    else:
        print_lab(conf, started)


def print_lab(conf: Path, lab: Lab) -> None:
    """Print what runs and where."""
    print(f"lab {lab.place}")
    n_links = len(lab.plan.links)
    up = set(lab.up)
    n_open = sum(u in up and v in up for u, v in lab.plan.links)
    print_facts({"brokers up": f"{len(up):,} of {len(lab.plan.brokers):,}"})
    print_facts({"links open": f"{n_open:,} of {n_links:,}"})
    print("\nendpoints")
    listed = [(node, f"127.0.0.1:{port}") for node, port in lab.access.ports.items() if node in up]
    print_table(("broker", "endpoint"), listed[:MOST_ROWS])
    if len(listed) > MOST_ROWS:
        print(f"... and {len(listed) - MOST_ROWS} more; --json lists all")
    print(f"\nnext: meshwright lab verify {conf}    stop: meshwright lab down {conf}")


def verify(
    conf: Conf,
    lab: Place = None,
    messages: Annotated[
        int, typer.Option("--messages", min=1, help="Messages of each publisher on each topic.")
    ] = 3,
    publishers: Publishers = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Publish on every topic; exit 1 unless each arrives once."""
    from meshwright.lab import running
    from meshwright.lab import verify as stage
    from meshwright.spark.progress import Progress

    found = running.find_lab(conf, lab)
    progress = Progress(1)
    with progress.step("publishing"):
        result = stage.verify(
            found, n_messages=messages, publishers=publishers, seed=seed, tell=progress.tell
        )
    if json:
        print_json(result.as_dict())
    else:
        print_verification(conf, result)
    if result.findings:
        raise CheckError(
            f"the lab of '{conf}' does not do what its plan says:\n  "
            + "\n  ".join(result.findings),
            result.findings,
        )


def print_verification(conf: Path, found: Verification) -> None:
    """Print what was published and what arrived."""
    sample = (
        "every publisher"
        if found.n_publishers == found.n_possible
        else f"{found.n_publishers:,} of {found.n_possible:,} (topic, publisher) pairs"
    )
    print(f"lab of {conf}")
    print_facts(
        {
            "brokers": f"{found.n_brokers:,}" + (f", {found.n_down} down" if found.n_down else ""),
            "topics": f"{found.n_topics:,}",
            "published": f"{found.n_messages:,} messages by {sample}",
            "delivered": f"{found.n_deliveries:,}",
            "missing": f"{found.n_missing:,}",
            "copies too many": f"{found.n_extra:,}",
            "unwanted": f"{found.n_unwanted:,}",
            "relayed": f"{found.n_relayed:,}",
            "out of order": f"{found.n_out_of_order:,}",
            "over links": f"{found.n_crossings:,} on {found.n_links:,} links",
            "seconds": f"{found.seconds:.1f}",
        }
    )
    if found.crossings:
        print("\nbusiest ways over links")
        print_table(("from", "to", "messages"), found.crossings[:5])
    if not found.findings:
        print("\nevery message reached each broker that wants it once, in order, and no other")


def compare(
    conf: Conf,
    messages: Annotated[
        int, typer.Option("--messages", min=1, help="Messages of each publisher on each topic.")
    ] = 1,
    publishers: Annotated[
        int, typer.Option("--publishers", min=1, help="Publishers drawn for each topic.")
    ] = 1,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Measure a plan beside a full mesh and a hub."""
    from meshwright.lab import compare as stage
    from meshwright.spark.progress import Progress

    progress = Progress(stage.N_STEPS)
    with stopping_brokers():
        found = stage.compare(
            conf, n_messages=messages, publishers=publishers, seed=seed, step=progress.step
        )
    if json:
        print_json([measured.as_dict() for measured in found])
    else:
        print_comparison(conf, found, publishers)


def print_comparison(conf: Path, found: Sequence[Measured], publishers: int) -> None:
    """Print the layouts side by side."""
    plan = found[-1]
    drawn = "1 publisher" if publishers == 1 else f"{publishers} publishers"
    print(f"{conf}: {plan.n_messages:,} publications, {drawn} drawn for each topic")
    print_table(
        ("layout", "links", "most", "per delivery", "unwanted", "median ms", "99% ms"),
        [
            (
                measured.name,
                measured.n_links,
                measured.max_degree,
                measured.crossings_per_delivery,
                measured.n_unwanted,
                measured.median_ms,
                measured.percentile_99_ms,
            )
            for measured in found
        ],
    )
    print("most: links of one broker; per delivery: messages over links; unwanted: those")
    print("into brokers that do not want the topic; ms: publishing to arrival elsewhere")
    for measured in found:
        if measured.n_missing or measured.n_extra:
            print(
                f"{measured.name}: {measured.n_missing:,} deliveries missing, "
                f"{measured.n_extra:,} copies too many"
            )


def down(
    conf: Conf,
    lab: Place = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the brokers' logs and files.")] = False,
    json: Json = False,
) -> None:
    """Stop exactly the brokers that were started."""
    from meshwright.lab import running

    n_stopped, n_gone = running.down(conf, place=lab, keep=keep)
    if json:
        print_json({"stopped": n_stopped, "ended_before": n_gone})
        return
    gone = f"; {n_gone:,} had ended before" if n_gone else ""
    print(f"stopped {n_stopped:,} brokers{gone}")
    if keep:
        print(f"their files are in {running.lab_place(conf, lab)}")


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where to put the configuration.", metavar="DIR")
    ] = Path("demo"),
) -> None:
    """Run the bundled example on real brokers; start here."""
    from meshwright.cli.demo import find_example, say
    from meshwright.lab.demo import METHOD, write_demo
    from meshwright.lab.processes import find_mosquitto

    find_mosquitto()
    out.mkdir(parents=True, exist_ok=True)
    conf, inventory = out / "conf", out / "brokers.csv"
    print("A company runs 60 MQTT brokers. Here they run on this machine, linked as planned.")
    write_demo(find_example(), inventory, conf)
    print(f"\nThe plan of {METHOD} is deployed to {conf} for the brokers in {inventory}.")
    say(f"lab up {conf}")
    up(conf)
    with stopping_brokers():
        try:
            say(f"lab verify {conf}")
            verify(conf)
        finally:
            say(f"lab down {conf}")
            down(conf)
    say(f"lab compare {conf}")
    compare(conf)
