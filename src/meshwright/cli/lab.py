"""``meshwright lab``: the brokers of a plan as real processes on this machine."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from meshwright.cli import add_group, command_name, run_verb, show
from meshwright.cli.options import DemoOut, Json, Seed
from meshwright.errors import DeployError
from meshwright.runtime import interrupts
from meshwright.runtime.progress import Progress

if TYPE_CHECKING:
    from meshwright.deploy.lab.compare import Measured
    from meshwright.deploy.lab.running import Lab
    from meshwright.deploy.lab.verify import Verification

MOST_ROWS = 10
LAYOUT_COLUMNS = {
    "layout": "name",
    "links": "n_links",
    "most": "max_degree",
    "per delivery": "crossings_per_delivery",
    "unwanted": "n_unwanted",
    "median ms": "median_ms",
    "99% ms": "percentile_99_ms",
}

Conf = Annotated[Path, Argument(metavar="CONF", help="A directory that `deploy mosquitto` wrote.")]
Place = Annotated[
    Path | None, Option(metavar="DIR", help="Where the lab keeps its files. [default: CONF.lab]")
]
Messages = Annotated[int, Option(min=1, help="Messages of each publisher on each topic.")]

lab = add_group("lab", "Run a plan on real brokers on this machine.")


@contextmanager
def stopping_brokers() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into SystemExit, so that the brokers are stopped on the way out.

    Signals come in only where `interrupts.let_in` lets them.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    interrupts.raise_on(*before)
    try:
        with interrupts.held():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@lab.command()
def up(
    conf: Conf,
    lab: Place = None,
    without: list[str] | None = Option(None, help="A broker to leave out; repeatable."),
    any_ports: bool = Option(
        False, "--any-ports", help="Use free ports even if the plan's are on loopback."
    ),
    json: Json = False,
) -> None:
    """Start a plan's brokers and wait until its links are open."""
    from meshwright.deploy.lab import running
    from meshwright.deploy.lab.verify import await_links

    progress = Progress(2)
    with stopping_brokers():
        with progress.step("starting brokers"):
            started = running.up(conf, place=lab, without=without or (), any_ports=any_ports)
        try:
            with interrupts.let_in(), progress.step("waiting for bridges"):
                await_links(started)
        except DeployError:
            started.stop_brokers()  # keeps their logs, which show the cause
            raise
        except BaseException:
            started.stop()
            raise
    if json:
        show.print_json({"lab": str(started.place), "ports": dict(started.access.ports)})
    else:
        print_lab(conf, started)


def print_lab(conf: Path, lab: Lab) -> None:
    """Print the brokers that run, their endpoints, and the next commands."""
    up = set(lab.up)
    n_open = sum(u in up and v in up for u, v in lab.plan.links)
    facts = {
        "brokers up": f"{len(up):,} of {len(lab.plan.brokers):,}",
        "links open": f"{n_open:,} of {len(lab.plan.links):,}",
    }
    show.print_facts(f"lab {lab.place}", facts)
    print("\nendpoints")
    listed = [(node, f"127.0.0.1:{port}") for node, port in lab.access.ports.items() if node in up]
    show.print_table(("broker", "endpoint"), listed[:MOST_ROWS])
    if len(listed) > MOST_ROWS:
        print(f"... and {len(listed) - MOST_ROWS} more; --json lists all")
    print(f"\nnext: {command_name()} lab verify {conf}\nstop: {command_name()} lab down {conf}")


@lab.command()
def verify(
    conf: Conf,
    lab: Place = None,
    messages: Messages = 3,
    publishers: int | None = Option(None, min=1, help="Publishers per topic. [default: all]"),
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Publish on every topic; exit 1 unless each message arrives once."""
    from meshwright.deploy.lab import running
    from meshwright.deploy.lab import verify as stage

    found = running.find_lab(conf, lab)
    progress = Progress(1)
    work = partial(stage.verify, found, on_progress=progress.update)
    with progress.step("publishing"):
        result = work(n_messages=messages, publishers=publishers, seed=seed)
    show.print_result(conf, result, print_verification, json=json)
    show.raise_findings(f"the lab of '{conf}' does not do what its plan says", result.findings)


def print_verification(conf: Path, found: Verification) -> None:
    """Print how many messages were published, delivered, missing and unwanted."""
    publishers = "every publisher"
    if found.n_publishers < found.n_possible:
        publishers = f"{found.n_publishers:,} of {found.n_possible:,} (topic, publisher) pairs"
    facts = {
        "brokers": f"{found.n_brokers:,}" + (f", {found.n_down} down" if found.n_down else ""),
        "topics": found.n_topics,
        "published": f"{found.n_messages:,} messages by {publishers}",
        "delivered": found.n_deliveries,
        "missing": found.n_missing,
        "duplicates": found.n_extra,
        "unwanted": found.n_unwanted,
        "relayed": found.n_relayed,
        "out of order": found.n_out_of_order,
        "over links": f"{found.n_crossings:,} on {found.n_links:,} links",
        "seconds": f"{found.seconds:.1f}",
    }
    show.print_facts(f"lab of {conf}", facts)
    if found.crossings:
        print("\nbusiest directions of links")
        show.print_table(("from", "to", "messages"), found.crossings[:5])
    if found.unpublished:
        some = ", ".join(found.unpublished[:5]) + (", ..." if len(found.unpublished) > 5 else "")
        print(f"\nnot tried, as no broker of the plan publishes there: {some}")
    if not found.findings:
        others = "and relays of the plan" if found.n_relayed else "and no other"
        print(f"\nevery message reached each broker that wants it once, in order, {others}")


@lab.command()
def compare(
    conf: Conf,
    messages: Messages = 1,
    publishers: int = Option(1, min=1, help="Publishers drawn for each topic."),
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Measure a plan beside a full mesh and a hub."""
    from meshwright.deploy.lab import compare as stage

    progress = Progress(stage.N_STEPS)
    with stopping_brokers(), interrupts.let_in():
        found = stage.compare(
            conf, n_messages=messages, publishers=publishers, seed=seed, step=progress.step
        )
    if json:
        show.print_json([measured.as_dict() for measured in found])
    else:
        print_comparison(conf, found, publishers)


def print_comparison(conf: Path, found: Sequence[Measured], publishers: int) -> None:
    """Print the layouts side by side."""
    from meshwright.deploy.lab.compare import verdicts

    drawn = f"{publishers} publisher{'' if publishers == 1 else 's'} drawn for each topic"
    print(f"{conf}: {found[-1].n_messages:,} publications, {drawn}")
    show.print_table(tuple(LAYOUT_COLUMNS), map(attrgetter(*LAYOUT_COLUMNS.values()), found))
    print("most: links of one broker; per delivery: messages over links; unwanted: messages")
    print("to brokers that do not want the topic; ms: from publishing to arrival elsewhere")
    for measured in found:
        missing, extra = measured.n_missing, measured.n_extra
        if missing or extra:
            print(f"{measured.name}: {missing:,} deliveries missing, {extra:,} duplicates")
    for sentence in verdicts(found):
        show.print_sentence(sentence)


@lab.command()
def down(
    conf: Conf,
    lab: Place = None,
    keep: bool = Option(False, "--keep", help="Keep the brokers' logs and files."),
    json: Json = False,
) -> None:
    """Stop the brokers that `lab up` started, and no others."""
    from meshwright.deploy.lab import running

    n_stopped, n_gone = running.down(conf, place=lab, keep=keep)
    if json:
        show.print_json({"stopped": n_stopped, "ended_before": n_gone})
        return
    gone = f"; {n_gone:,} had ended before" if n_gone else ""
    print(f"stopped {n_stopped:,} brokers{gone}")
    if keep:
        print(f"their files are in {running.lab_place(conf, lab)}")


@lab.command()
def demo(out: DemoOut = Path("demo")) -> None:
    """Run the bundled example on real brokers; start here."""
    from meshwright.cli.demo import find_example
    from meshwright.deploy.lab.configurations import DEMO_METHOD, write_demo
    from meshwright.deploy.lab.processes import find_mosquitto
    from meshwright.storage.files import make_directory

    find_mosquitto()
    make_directory(out)
    conf, inventory = out / "conf", out / "brokers.csv"
    print("A company runs 60 MQTT brokers. Here they run on this machine, linked as")
    print("planned.")
    write_demo(find_example(), inventory, conf)
    print(f"\nbrokers of {DEMO_METHOD}'s plan: {inventory}\ntheir configuration: {conf}")
    with stopping_brokers():
        run_verb("lab", "up", conf)
        try:
            with interrupts.let_in():
                run_verb("lab", "verify", conf)
        finally:
            run_verb("lab", "down", conf)
    run_verb("lab", "compare", conf)
