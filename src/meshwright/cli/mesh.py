"""``meshwright mesh``: agents beside brokers and a planner, which follow what clients want."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from meshwright.cli import add_group, command_name, show
from meshwright.cli.lab import lab, stopping_brokers
from meshwright.cli.options import Json, Seed
from meshwright.errors import CheckError
from meshwright.runtime import interrupts
from meshwright.runtime.progress import Progress

if TYPE_CHECKING:
    from meshwright.mesh.config import Member
    from meshwright.mesh.lab.load import LoadResult
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
    metrics_host: str = Option(
        "127.0.0.1", help="Where metrics are served; 0.0.0.0 for a Prometheus elsewhere."
    ),
    json: Json = False,
) -> None:
    """Write a directory for each broker, from an inventory."""
    from meshwright.mesh.init import InitRequest
    from meshwright.mesh.init import init as stage

    request = InitRequest(
        inventory, out, method, routing, survive, name, planner, metrics_host=metrics_host
    )
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
    print_next_steps(out, config.brokers)
    print(f"and on the planner's host: {command_name()} mesh planner {out}")
    print(f"then see, there: {command_name()} mesh status {out}")
    print(f"for Prometheus and Grafana: {out}/monitoring")


def print_next_steps(place: Path, members: Sequence[Member]) -> None:
    """Print what is to be done at brokers whose directories were written."""
    from meshwright.mesh.init import next_steps

    print("\nnext, on the host of each broker:")
    for i, (directory, lines) in enumerate(next_steps(members)):
        print(f"  {'1.' if i == 0 else 'or'} {place}/{directory}:")
        print("".join(f"     {line}\n" for line in lines), end="")
    first = members[0].directory
    print(f"  2. copy {place}/{first} there and run: {command_name()} mesh agent {first}")


@mesh.command()
def planner(
    mesh: Mesh,
    restore: bool = Option(
        False, "--restore", help="Its files were lost: collect the log from the agents first."
    ),
    log_json: LogJson = False,
) -> None:
    """Run the planner of a mesh in the foreground."""
    from meshwright.mesh.shell.process import run_planner
    from meshwright.report.live import LiveSite

    start_logging(as_json=log_json)
    run_planner(mesh, LiveSite, restores=restore)


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
    watch: bool = Option(
        False, "--watch", help="Keep showing it, with rates; q or Ctrl-C ends it with exit 0."
    ),
    json: Json = False,
) -> None:
    """Show what is up and what waits; exit 1 if anything is wrong."""
    from meshwright.mesh.status import mesh_status

    if watch:
        from meshwright.cli.mesh_watch import watch_json, watch_status

        (watch_json if json else watch_status)(mesh)
        return
    found = mesh_status(mesh)
    if json:
        show.print_json(found.as_dict())
    else:
        print_status(mesh, found)
    show.raise_findings(f"the mesh '{mesh}' is not well", found.findings)


def print_status(mesh: Path, found: MeshStatus) -> None:
    """Print the state of a mesh."""
    from meshwright.mesh.status import COLUMNS

    facts = {
        "planner": "up" if found.planner_up else "out of reach",
        "agents": f"{found.n_agents_up:,} of {found.n_brokers:,} up"
        + (f", {found.n_told:,} as they told the planner" if found.n_told else "")
        + (f", {found.n_unknown:,} not known here" if found.n_unknown else ""),
        "brokers": f"{found.n_brokers_up:,} of {found.n_brokers:,} connected",
        "links": f"{found.n_links_up:,} up, {found.n_links_planned:,} planned",
        "version": f"{found.version}" + ("" if found.is_level else ", not everywhere yet"),
        "filters wanted": found.n_wanted,
        "messages taken": found.n_taken,
        "messages delivered": found.n_delivered,
        "waiting on disk": found.n_waiting,
    }
    if found.leaving:
        facts["leaving"] = f"{', '.join(found.leaving)}; wait for it with mesh remove"
    show.print_facts(f"mesh {mesh}", facts)
    if found.rows:
        print()
        show.print_table(COLUMNS, found.rows[:MOST_ROWS])
        if len(found.rows) > MOST_ROWS:
            print(f"... and {len(found.rows) - MOST_ROWS} more; --json lists all")
    if found.in_doubt:
        print("\nkept in doubt, as the brokers' logs do not say that they ended")
        show.print_facts(None, found.in_doubt)
    if found.unknown:
        print("\nsubscriptions that brokers have and agents do not know: let these clients connect")
        print("again, or set log_file in agent.toml (runbook: MeshSubscriptionsUnknown)")
        show.print_facts(None, found.unknown)
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

    progress = Progress(1)
    with progress.step("publishing and waiting for what arrives"):
        result = stage(mesh, n_messages=messages)
    if json:
        show.print_json(result.as_dict())
    else:
        facts: dict[str, Any] = {
            "brokers": result.n_brokers,
            "published": result.n_published,
            "due at other brokers": result.n_expected,
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
    dry_run: bool = Option(False, "--dry-run", help="Only say what would change."),
    json: Json = False,
) -> None:
    """Design the links from scratch."""
    from meshwright.mesh.status import ask_replan

    progress = Progress(1)
    with progress.step("designing" if dry_run else "asking the planner"):
        found = ask_replan(mesh, dry_run=dry_run)
    if json:
        show.print_json(found)
    elif dry_run:
        show.print_facts(f"mesh {mesh}, if it were designed now", found)
        print(f"\nto do so: {command_name()} mesh replan {mesh}")
    else:
        print("the planner designs the links from scratch")
        print(f"see them: {command_name()} mesh status {mesh}")


@mesh.command()
def monitoring(mesh: Mesh, json: Json = False) -> None:
    """Write the files for Prometheus and Grafana again."""
    from meshwright.mesh.config import read_mesh
    from meshwright.mesh.monitoring import write_monitoring

    place = write_monitoring(read_mesh(mesh))
    if json:
        show.print_json({"monitoring": str(place)})
        return
    print(f"{place} has a configuration and alerts for Prometheus, and a")
    print(f"dashboard for Grafana. To try it: prometheus --config.file={place}/prometheus.yml")


@lab.command(name="mesh")
def lab_mesh(
    demo: bool = Option(False, "--demo", help="All 60 brokers of the example, instead of 6."),
    brokers: int = Option(6, min=3, max=60, help="How many brokers of the example."),
    seconds: float = Option(15.0, min=1, help="How long messages flow."),
    rate: float = Option(100.0, min=1, help="Messages a second, in all."),
    fault: list[str] | None = Option(
        None, help="agent, broker, planner, link, ... or all; repeatable."
    ),
    method: str = Option("gm", help="How to choose links: gm, minmax, refined, or sl."),
    survive: int = Option(0, min=0, help="Brokers whose loss may cut nobody off."),
    exactly_once: bool = Option(False, "--exactly-once", help="QoS 2 to each broker."),
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run the living mesh here, with load and faults."""
    import tempfile

    from meshwright.cli.demo import example_interests
    from meshwright.deploy.lab.processes import find_mosquitto
    from meshwright.mesh.lab.faults import choose
    from meshwright.mesh.lab.load import LoadRequest, run_load
    from meshwright.mesh.lab.running import LocalMesh

    find_mosquitto()
    request = LoadRequest(seconds, rate, choose(fault or ()), seed)
    interests = example_interests(60 if demo else brokers)
    # A fault ends one agent at a time, so each has a process of its own.
    per_process = 1 if request.faults else max(1, len(interests) // 4)
    if not json:
        n = len(interests)
        print(f"{n} MQTT brokers of a company, an agent beside each, and a planner, on")
        print("this machine. Nobody tells the mesh who wants what: it follows the clients.\n")

    step = Steps()
    with tempfile.TemporaryDirectory(prefix="meshwright-lab-") as scratch, stopping_brokers():
        local = LocalMesh(
            Path(scratch) / "lab",
            list(interests),
            per_process=per_process,
            method=method,
            survive=survive,
            options={"delivery": "exactly-once"} if exactly_once else {},
            proxied=bool(request.faults),
        )
        if not json:
            print(f"While it runs, its page is at http://{local.config.metrics}/\n")
        with interrupts.let_in(), step:
            found = run_load(local, interests, step, request)
    if json:
        show.print_json(found.as_dict())
    else:
        print_load(found)
    if not found.is_well:
        raise CheckError("the mesh did not keep its promises; the table says which.")


class Steps:
    """Says on stderr what the lab does, and how long it has been doing so."""

    def __init__(self) -> None:
        self._running = ExitStack()

    def __call__(self, words: str) -> None:
        """Begin a step; it ends with the next one."""
        self._running.close()
        print(f"  {words} ...", file=sys.stderr, flush=True)
        self._running.enter_context(Progress(1).step(words))

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()


def print_load(found: LoadResult) -> None:
    """Print what clients saw."""
    seen = found.verdict
    slowest = max(found.first_ms, default=None)
    copies = found.copies_per_delivery
    facts = {
        "brokers": f"{found.n_brokers}; agents and planner in {found.n_processes} processes",
        "links between agents": found.n_links,
        "messages published": seen.n_published,
        "deliveries due": seen.n_expected,
        "delivered": seen.n_delivered,
        "lost": seen.n_lost,
        "doubled": seen.n_doubled,
        "out of order": seen.n_out_of_order,
        "not wanted": seen.n_unwanted,
        "new subscriptions": f"{found.n_subscriptions} while messages flowed, no restart",
        "until the first message": f"{_ms(found.median())} median, {_ms(slowest)} slowest",
    }
    if copies is not None:
        facts["copies per delivery"] = f"{copies:.2f} over links"
        relays = found.relays_per_delivery or 0
        facts["relays per delivery"] = f"{relays:.2f}, until new subscriptions are planned for"
    if seen.waits:
        facts["repeated at failed brokers"] = seen.n_possibly_doubled
    print()
    show.print_facts("what the clients saw", facts)
    if seen.waits:
        print("\nlongest waits: of messages between other brokers, and of those that were held")
        rows = [(wait.what, _seconds(wait.others), _seconds(wait.held)) for wait in seen.waits]
        show.print_table(("fault", "others", "after healing"), rows)
    if found.is_well:
        print("\nevery client got each message it wants once, in order")


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} s"


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
