"""``meshwright ingest``, ``generate``, ``sample`` and ``stats``: workloads and their statistics."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from meshwright.cli import add_group, app, show
from meshwright.cli.content import WithContent, generate_content
from meshwright.cli.follow import follow_logs
from meshwright.cli.options import (
    Job,
    Json,
    Master,
    MaxLine,
    Seed,
    WorkloadPath,
    makes_dataset,
    run_on_spark,
)
from meshwright.errors import InputError

if TYPE_CHECKING:
    from meshwright.storage import Manifest
    from meshwright.workload.statistics import Statistics

MOST_NAMES = 10  # of brokers that want nothing
DIRECTED_HELP = "Edges: in `a b`, a subscribes to b / both subscribe to each other."
Nodes = Annotated[int, Option(help="How many nodes.")]
Topics = Annotated[int, Option(help="How many topics.")]
Subscriptions = Annotated[
    str, Option(metavar="A[-B]", help="Topics per node, for example 10 or 20-600.")
]
Draw = Annotated[
    str, Option(help="successive: without replacement; conditional: given the size, as in paper 2.")
]
SizeLaw = Annotated[
    str, Option(help="How sizes between A and B are spread: uniform, or steep, as 1 / size^2.")
]

Publishers = Annotated[
    int, Option(help="Nodes drawn to publish each topic; 0 makes no list of publishers.")
]

generate = add_group("generate", "Make a synthetic workload, or a problem to assign.")


@app.command(
    cls=WithContent,
    epilog="For content-based subscribers and brokers, see `ingest content --help`.",
)
@makes_dataset
def ingest(
    job: Job,
    sources: list[str] | None = Argument(
        None, help="Files, globs, or a directory of Parquet parts."
    ),
    format: str | None = Option(
        None,
        help="csv, tsv, jsonl, parquet, edges, mosquitto-log or mesh-log. [default: by file name]",
    ),
    node: str | None = Option(None, help="Column of the node; in a Mosquitto log, the broker."),
    topic: str | None = Option(None, help="Column of the topic."),
    header: bool = Option(True, help="CSV, TSV: the first line names the columns."),
    directed: bool | None = Option(None, "--directed/--undirected", help=DIRECTED_HELP),
    role: str | None = Option(None, help="Column with sub or pub: what a row does."),
    publications: list[str] | None = Option(
        None, metavar="FILE", help="A file of who publishes what; may be repeated, or be a glob."
    ),
    rate: str | None = Option(None, help="Publications: column of messages per second."),
    bytes: str | None = Option(None, help="Publications: column of the mean message size."),
    since: str | None = Option(
        None, metavar="TIME", help="Logs: all that was wanted at some time after this."
    ),
    until: str | None = Option(None, metavar="TIME", help="Logs: ignore what happened after this."),
    at: str | None = Option(
        None, metavar="TIME", help="Logs: what was wanted at this time. [default: its end]"
    ),
    max_rejected: float = Option(
        0.01, min=0, max=1, help="The largest share of invalid rows to skip."
    ),
    max_line: MaxLine = 2**20,
    follow: bool = Option(
        False, "--follow", help="Keep the workload current while logs arrive in a directory."
    ),
    interval: float | None = Option(
        None, help="With --follow: seconds between two versions. [default: 60]"
    ),
    once: bool = Option(False, "--once", help="With --follow: read what is there, and end."),
) -> None:
    """Read who wants and who publishes what, as a workload."""
    from meshwright.workload import ingest as stage
    from meshwright.workload.files import expected_rows
    from meshwright.workload.request import Request

    if follow:
        follow_logs(job)
        return
    if once or interval is not None:
        raise InputError("--interval and --once belong to --follow; leave them out.")
    options = job.options("follow", "interval", "once")
    parts = Request(**options).parts()  # complain before Spark starts
    n_rows = sum(expected_rows(part.files) for part in parts)
    manifest = job.on_spark(stage.ingest, stage.N_STEPS, n_rows=n_rows, **options)
    job.print(manifest, print_workload)
    show.warn_of_topics(job.out)


@generate.command()
@makes_dataset
def zipf(
    job: Job,
    nodes: Nodes,
    topics: Topics,
    subscriptions: Subscriptions,
    alpha: float = Option(help="How fast popularity falls; the papers use 0.5 and 2.0."),
    draw: Draw = "successive",
    size_law: SizeLaw = "uniform",
    publishers: Publishers = 0,
    seed: Seed = 1,
) -> None:
    """Popularity rank^-alpha: nearly every node wants a few topics."""
    _generate("zipf", job, subscriptions)


@generate.command()
@makes_dataset
def unif(
    job: Job,
    nodes: Nodes,
    topics: Topics,
    subscriptions: Subscriptions,
    draw: Draw = "successive",
    size_law: SizeLaw = "uniform",
    publishers: Publishers = 0,
    seed: Seed = 1,
) -> None:
    """Every topic equally popular."""
    _generate("unif", job, subscriptions)


@generate.command()
@makes_dataset
def expo(
    job: Job,
    nodes: Nodes,
    topics: Topics,
    subscriptions: Subscriptions,
    rate: float = Option(10.0, help="How fast popularity falls."),
    draw: Draw = "successive",
    size_law: SizeLaw = "uniform",
    publishers: Publishers = 0,
    seed: Seed = 1,
) -> None:
    """Popularity exp(-rate * rank / topics)."""
    _generate("expo", job, subscriptions)


def _generate(family: str, job: Job, subscriptions: str) -> None:
    from meshwright.workload import generate as stage

    match = re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", subscriptions)
    if match is None:
        raise InputError(
            f"--subscriptions is {subscriptions[:40]!r}; write a number or a range like 20-600."
        )
    low, high = match.groups()
    span = int(low), int(high or low)
    model = stage.TopicModel(family=family, subscriptions=span, **job.options("subscriptions"))
    n_rows = model.nodes * span[1]
    manifest = job.on_spark(stage.generate, stage.N_STEPS, n_rows=n_rows, model=model)
    job.print(manifest, print_workload)


@generate.command()
@makes_dataset
def social(
    job: Job,
    nodes: int = Option(help="How many users."),
    mean_degree: float = Option(help="Friends, or followees, that a user has on average."),
    communities: int | None = Option(None, help="About how many. [default: from their sizes]"),
    density: float = Option(0.6, help="Share of linked pairs in the largest communities."),
    largest_community: int | None = Option(
        None, help="Users in the largest community. [default: 5 times the mean degree]"
    ),
    mixing: float = Option(0.3, help="Share of links that leave communities."),
    exponent: float = Option(3.0, help="Exponent of the power law that large degrees follow."),
    max_degree: int | None = Option(None, help="The largest expected degree. [default: 5000]"),
    directed: bool = Option(False, "--directed/--undirected", help="Followers / friends."),
    reciprocity: float | None = Option(None, help="Directed: share returned. [default: 0.5]"),
    publish: bool = Option(False, "--publish", help="Users publish their own topics."),
    seed: Seed = 1,
) -> None:
    """Friends or followers in communities; users are nodes and topics."""
    from meshwright.workload import generate as stage
    from meshwright.workload.social_law import SocialModel, law_of

    model = SocialModel(**job.options())
    law_of(model)  # complain before Spark starts
    n_rows = round(nodes * mean_degree)
    manifest = job.on_spark(stage.generate_social, stage.N_STEPS, n_rows=n_rows, model=model)
    job.print(manifest, print_workload)


generate.command("content")(generate_content)


@app.command()
@makes_dataset
def sample(
    job: Job,
    workload: Path = Argument(help="A workload of users (an edge list)."),
    nodes: int = Option(help="Exactly how many users to keep."),
    seeds: int = Option(1, help="How many users to start from."),
    seed: Seed = 1,
) -> None:
    """Take a breadth-first sample of a social workload."""
    from meshwright.storage import read_manifest
    from meshwright.workload import sample as stage

    source = read_manifest(workload, "workload")
    stage.check_request(source, workload.absolute(), nodes, seeds, seed)  # before Spark starts
    n_rows = source.rows.get("subscriptions")
    manifest = job.on_spark(stage.sample, stage.N_STEPS, n_rows=n_rows, **job.options())
    job.print(manifest, print_workload)


@app.command()
def stats(workload: WorkloadPath, master: Master = None, json: Json = False) -> None:
    """Show counts, distributions and the cost to expect."""
    from meshwright.storage import read_manifest
    from meshwright.workload import statistics as stage

    n_rows = read_manifest(workload, "workload").rows.get("subscriptions")
    work = partial(stage.statistics, workload=workload)
    found = run_on_spark(work, master, stage.N_STEPS, n_rows)
    show.print_result(workload, found, print_statistics, json=json)


def print_workload(out: Path, manifest: Manifest) -> None:
    """Print the size of a workload, and how many rows of its sources were left out."""
    n_published = manifest.get("n_publications", 0)
    left_out = {
        "duplicates": (manifest["n_duplicates"], "kept once"),
        "self-loops": (manifest["n_self_loops"], "dropped"),
        "rejected": (manifest["n_rejected"], f"listed in {out}/rejected.parquet"),
    }
    facts = {
        "nodes": manifest["n_nodes"],
        "topics": manifest["n_topics"],
        "subscriptions": manifest["n_subscriptions"],
        **({"publications": n_published} if n_published else {}),
        **{name: f"{n:,} ({reason})" for name, (n, reason) in left_out.items() if n},
        "digest": manifest["digest"][:16],
    }
    without = manifest.get("sources_without_records", [])
    log = manifest.get("log")
    if log:
        facts |= facts_of_log(log, manifest["nodes_without_subscriptions"])
    elif without:
        facts["no record in"] = ", ".join(map(repr, without))
    show.print_facts(f"workload {out}", facts)
    if log and not n_published:
        is_mesh = manifest["parameters"]["format"] == "mesh-log"
        advice = "" if is_mesh else "Set `log_type debug` in mosquitto.conf, or give "
        print(
            "publishers are unknown: the logs hold no "
            + ("counts of messages. Give " if is_mesh else "publish line. " + advice)
            + "them with --publications FILE"
        )


def facts_of_log(log: dict[str, Any], without_subscriptions: list[str]) -> dict[str, str]:
    """Return the facts to print about logs."""
    from meshwright.workload.mosquitto_log import in_words

    facts = {}
    if log["n_messages"]:
        facts["messages"] = f"{log['n_messages']:,} of own clients"
    if log["n_relayed"]:
        facts["relayed"] = f"{log['n_relayed']:,} messages that bridges or agents brought, left out"
    if log["n_unnamed"]:
        facts["not named"] = f"{log['n_unnamed']:,} messages whose topics the log does not name"
    if log["skipped"]:
        facts["left out"] = f"subscriptions: {in_words(log['skipped'])}"
    if log["in_doubt"]:
        facts["in doubt"] = f"subscriptions, kept: {in_words(log['in_doubt'])}"
    if without_subscriptions:
        listed = ", ".join(map(repr, without_subscriptions[:MOST_NAMES]))
        n_more = len(without_subscriptions) - MOST_NAMES
        facts["want nothing"] = listed + (f" and {n_more:,} more" if n_more > 0 else "")
    return facts


def publishing_facts(found: Statistics) -> dict[str, str]:
    """Return what is known about publishers."""
    if found.publishing is None:
        return {"publications": "unknown: give them to ingest (--role, --publications)"}
    known = found.publishing
    unknown = f", {known.n_without_rate:,} of unknown rate" if known.n_without_rate else ""
    return {
        "publications": f"{known.n_publications:,}",
        "messages": f"{known.rate:,.6g} per second in all{unknown}",
        "unpublished": f"{known.n_unpublished:,} topics that somebody wants and nobody publishes",
        "unwanted": f"{known.n_unwanted:,} topics that somebody publishes and nobody wants",
    }


def print_statistics(workload: Path, found: Statistics) -> None:
    """Print the statistics of a workload."""
    from meshwright.workload.statistics import ccdf, quantile

    expected = found.forecast
    cost = f"{show.size(expected.memory_bytes)} and {show.duration(expected.seconds)} expected"
    facts = {
        "nodes": found.n_nodes,
        "topics": found.n_topics,
        "subscriptions": found.n_subscriptions,
        **publishing_facts(found),
        "design": f"{expected.incidences:,} incidences, about {cost}",
    }
    show.print_facts(f"workload {workload}", facts)
    histograms = {
        "subscriptions per node": found.subscriptions_per_node,
        "subscribers per topic": found.subscribers_per_topic,
    }
    if found.publishing:
        histograms["publishers per topic"] = found.publishing.publishers_per_topic
    for title, histogram in histograms.items():
        total = sum(n for _, n in histogram)
        mean = sum(value * n for value, n in histogram) / max(total, 1)
        middle, top = quantile(histogram, 0.5), histogram[-1][0] if histogram else 0
        print(f"\n{title}: mean {mean:,.1f}, median {middle:,}, most {top:,}")
        points, rows = ccdf(histogram), []
        for power in (2**i for i in range(top.bit_length())):
            share = next(y for x, y in points if x >= power)
            rows.append((f"{power:,} or more", f"{share:.1%}", show.bar(share)))
        show.print_table(("", "share", ""), rows)
    print("\nmost popular topics")
    show.print_table(("topic", "subscribers"), found.popular_topics)
