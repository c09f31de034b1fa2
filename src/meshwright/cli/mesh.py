"""``meshwright mesh``: agents beside brokers and a planner, which follow what clients want."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from meshwright.cli import add_group, command_name, show
from meshwright.cli.lab import lab, stopping_brokers
from meshwright.cli.options import Json, Seed
from meshwright.errors import CheckError, DeployError
from meshwright.runtime import interrupts

if TYPE_CHECKING:
    from meshwright.mesh.demo import DemoResult
    from meshwright.mesh.status import MeshStatus

MOST_ROWS = 20

Mesh = Annotated[Path, Argument(metavar="MESH", help="The directory that `mesh init` wrote.")]
LogJson = Annotated[bool, Option("--log-json", help="Write log lines as JSON.")]

mesh = add_group("mesh", "Run the living mesh: it follows what clients want.")


@mesh.command()
def init(
    inventory: Path = Option(help="The brokers: a CSV file with node, host and port."),
    out: Path = Option(..., "--out", "-o", metavar="MESH", help="The directory to write."),
    method: str = Option("gm", help="How to choose links: gm, minmax, refined, or sl."),
    routing: str | None = Option(
        None, help="How messages travel: tree; for sl po, pal or pie. [default: by method]"
    ),
    survive: int = Option(0, min=0, help="Brokers whose loss may cut nobody off."),
    name: str | None = Option(None, help="The mesh's name. [default: that of the directory]"),
    planner: str | None = Option(
        None, metavar="HOST:PORT", help="Where the planner runs. [default: first broker's host]"
    ),
    json: Json = False,
) -> None:
    """Write a directory for each broker, from an inventory."""
    from meshwright.mesh.init import InitRequest
    from meshwright.mesh.init import init as stage

    request = InitRequest(inventory, out, method, routing, survive, name, planner)
    config = stage(request)
    if json:
        show.print_json({"mesh": config.mesh, "brokers": len(config.brokers)})
        return
    facts = {
        "brokers": len(config.brokers),
        "planner": config.planner,
        "links by": f"{config.method}, messages by {config.routing}",
    }
    show.print_facts(f"mesh {out}", facts)
    first = config.brokers[0].directory
    print("\nnext, on the host of each broker:")
    print(f"  1. add the lines of {out}/{first}/mosquitto.conf")
    print("     to its configuration, and send the broker SIGHUP; it needs no restart")
    print(f"  2. copy {out}/{first} there and run: {command_name()} mesh agent {first}")
    print(f"and on the planner's host: {command_name()} mesh planner {out}")
    print(f"then see: {command_name()} mesh status {out}")


@mesh.command()
def planner(mesh: Mesh, log_json: LogJson = False) -> None:
    """Run the planner of a mesh in the foreground."""
    from meshwright.mesh.shell.process import run_planner

    start_logging(as_json=log_json)
    run_planner(mesh)


@mesh.command()
def agent(
    places: list[Path] = Argument(
        metavar="PLACE...", help="Directories of brokers, such as MESH/edge-1."
    ),
    log_json: LogJson = False,
) -> None:
    """Run the agent of a broker, or of several, in the foreground."""
    from meshwright.mesh.shell.process import run_agents

    start_logging(as_json=log_json)
    run_agents(places)


@mesh.command()
def status(
    mesh: Mesh,
    watch: bool = Option(False, "--watch", help="Show it again every two seconds."),
    json: Json = False,
) -> None:
    """Show brokers, links and what waits; exit 1 if anything is wrong."""
    from meshwright.mesh.status import mesh_status

    while True:
        found = mesh_status(mesh)
        if json:
            show.print_json(found.as_dict())
        else:
            print_status(mesh, found)
        if not watch:
            break
        time.sleep(2)
    show.raise_findings(f"the mesh '{mesh}' is not well", found.findings)


def print_status(mesh: Path, found: MeshStatus) -> None:
    """Print the state of a mesh."""
    facts = {
        "planner": "up" if found.planner_up else "out of reach",
        "agents": f"{found.n_agents_up:,} of {found.n_brokers:,} up",
        "brokers": f"{found.n_brokers_up:,} of {found.n_brokers:,} connected",
        "links": f"{found.n_links_up:,} up",
        "version": f"{found.version}" + ("" if found.is_level else ", not everywhere yet"),
        "filters wanted": found.n_wanted,
        "messages taken": found.n_taken,
        "messages delivered": found.n_delivered,
        "waiting on disk": found.n_waiting,
    }
    show.print_facts(f"mesh {mesh}", facts)
    if found.rows:
        print()
        columns = ("broker", "links", "wants", "taken", "delivered", "journal", "mailbox")
        show.print_table(columns, found.rows[:MOST_ROWS])
        if len(found.rows) > MOST_ROWS:
            print(f"... and {len(found.rows) - MOST_ROWS} more; --json lists all")
    if found.counters:
        print("\ncounted since the processes started")
        show.print_facts(None, found.counters)


@mesh.command()
def verify(
    mesh: Mesh,
    messages: int = Option(3, min=1, help="Messages of each publisher on each topic."),
    json: Json = False,
) -> None:
    """Send numbered messages; exit 1 unless all arrive as wanted."""
    from meshwright.mesh.verify import verify as stage

    result = stage(mesh, n_messages=messages)
    if json:
        show.print_json(result.as_dict())
    else:
        facts: dict[str, Any] = {
            "brokers": result.n_brokers,
            "published": result.n_published,
            "delivered": result.n_delivered,
            "missing": result.n_missing,
            "duplicates": result.n_doubled,
            "unwanted": result.n_unwanted,
            "out of order": result.n_out_of_order,
            "seconds": f"{result.seconds:.1f}",
        }
        show.print_facts(f"mesh {mesh}", facts)
        if not result.findings:
            print("\nevery message reached each broker that wants it once, in order")
    show.raise_findings(f"the mesh '{mesh}' does not do what clients want", result.findings)


@mesh.command()
def replan(
    mesh: Mesh,
    dry_run: bool = Option(False, "--dry-run", help="Only say what the mesh looks like now."),
    json: Json = False,
) -> None:
    """Ask the planner for a new design now."""
    from meshwright.mesh.status import ask_replan, mesh_status

    before = mesh_status(mesh)
    if not before.planner_up:
        raise DeployError(
            f"the planner of '{mesh}' is out of reach. Start it: `meshwright mesh planner {mesh}`"
        )
    if not dry_run:
        ask_replan(mesh)
    found = before if dry_run else mesh_status(mesh)
    if json:
        show.print_json({"links": found.n_links_up, "version": found.version})
    else:
        show.print_facts(
            f"mesh {mesh}", {"links": f"{found.n_links_up:,} up", "version": found.version}
        )
        if not dry_run:
            print("\nthe planner designs again; see the links: mesh status")


@lab.command(name="mesh")
def lab_mesh(
    demo: bool = Option(False, "--demo", help="All 60 brokers of the example, instead of 6."),
    seconds: float = Option(15.0, min=1, help="How long messages flow."),
    rate: float = Option(100.0, min=1, help="Messages a second, in all."),
    method: str = Option("gm", help="How to choose links: gm, minmax, refined, or sl."),
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run the living mesh here, with clients that come and go."""
    import csv
    import tempfile

    from meshwright.cli.demo import find_example
    from meshwright.deploy.lab.processes import find_mosquitto
    from meshwright.mesh.demo import run_demo
    from meshwright.mesh.lab import LocalMesh

    find_mosquitto()
    interests: dict[str, list[str]] = {}
    with find_example().open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            interests.setdefault(row["broker"], []).append(row["topic"])
    nodes = sorted(interests)[:: 1 if demo else 10]
    per_process = max(1, len(nodes) // 4)
    if not json:
        print(f"{len(nodes)} MQTT brokers of a company, an agent beside each, and a planner, on")
        print("this machine. Nobody tells the mesh who wants what: it follows the clients.\n")

    def step(words: str) -> None:
        print(f"  {words} ...", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="meshwright-lab-") as scratch, stopping_brokers():
        local = LocalMesh(Path(scratch) / "lab", nodes, per_process=per_process, method=method)
        with interrupts.let_in():
            found = run_demo(
                local,
                {node: interests[node] for node in nodes},
                step,
                seconds=seconds,
                rate=rate,
                seed=seed,
            )
    if json:
        show.print_json(found.as_dict())
    else:
        print_demo(found)
    if not found.is_well:
        raise CheckError("the mesh did not keep its promises; the table says which.")


def print_demo(found: DemoResult) -> None:
    """Print what clients saw."""
    n_new = found.n_subscriptions
    slowest = max(found.first_ms, default=None)
    copies = found.copies_per_delivery
    facts = {
        "brokers": f"{found.n_brokers}; agents and planner in {found.n_processes} processes",
        "links between agents": found.n_links,
        "messages published": found.n_published,
        "deliveries due": found.n_expected,
        "delivered": found.n_delivered,
        "lost": found.n_lost,
        "doubled": found.n_doubled,
        "out of order": found.n_out_of_order,
        "new subscriptions": f"{n_new} while messages flowed, no restart",
        "until the first message": f"{_ms(found.median())} median, {_ms(slowest)} slowest",
        "copies per delivery": "-" if copies is None else f"{copies:.2f} over links",
    }
    print()
    show.print_facts("what the clients saw", facts)
    if found.is_well:
        print("\nevery client got each message it wants once, in order")


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"


def start_logging(*, as_json: bool) -> None:
    """Write what goes wrong to stderr, a line each."""
    handler = logging.StreamHandler(sys.stderr)
    if as_json:
        handler.setFormatter(_JsonLines())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.getLogger("meshwright").addHandler(handler)
    logging.getLogger("meshwright").setLevel(logging.INFO)


class _JsonLines(logging.Formatter):
    """One JSON object for each record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        import json

        fields = {"time": record.created, "level": record.levelname.lower()}
        return json.dumps({**fields, "message": record.getMessage()}, ensure_ascii=False)
