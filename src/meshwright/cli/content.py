"""``meshwright generate content`` and ``ingest content``: problems of content-based assignment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand

from meshwright.cli.options import Job, Seed, makes_dataset
from meshwright.cli.show import command_name, print_facts, span

if TYPE_CHECKING:
    from meshwright.storage import Manifest

Alpha = Annotated[int, Option(help="Boxes per filter, at most.")]
LastHop = Annotated[
    bool, Option("--last-hop", help="Limit the latency of the last hop, not of the whole path.")
]


def generate_content(
    job: Job,
    set: int = Option(1, help="1 like Google Groups, 2 like news feeds, 3 hot spots."),
    subscribers: int = Option(100_000, help="How many subscribers."),
    brokers: int | None = Option(
        None,
        help="How many brokers, inner ones included, without the publisher. "
        "[default: 100, or 200 in several levels]",
    ),
    skew: str | None = Option(None, help="Set 1: low or high skew of interests. [default: high]"),
    broad: str | None = Option(None, help="Set 1: low or high share of wide boxes. [default: low]"),
    levels: str = Option("one", help="one: all brokers are leaves; many: a tree of brokers."),
    max_out_degree: int | None = Option(None, help="Children of a broker. [default: 15]"),
    latency: str | None = Option(None, help="Several levels: tight or loose. [default: loose]"),
    max_delay: float | None = Option(None, help="Extra latency, a share. [default: the paper's]"),
    alpha: Alpha = 3,
    beta: float | None = Option(None, help="Desired load balance factor. [default: the paper's]"),
    beta_max: float | None = Option(None, help="The largest allowed. [default: the paper's]"),
    last_hop: LastHop = False,
    seed: Seed = 1,
) -> None:
    """Subscribers with boxes, and a tree of brokers to assign them to."""
    from meshwright.content.problem.synthetic import content_arguments

    arguments = content_arguments(**job.options())
    from meshwright.content.problem import generate as stage

    manifest = job.on_spark(stage.generate, stage.N_STEPS, arguments=arguments)
    job.print(manifest, print_problem)


def ingest_content(
    job: Job,
    subscribers: str = Option(
        metavar="FILE",
        help="CSV, TSV or Parquet: name, location_0.., low_0.., high_0..; optional: max_delay or "
        "max_latency.",
    ),
    brokers: str = Option(
        metavar="FILE",
        help="CSV, TSV or Parquet: name, parent (empty: the publisher), location_0..; optional: "
        "capacity.",
    ),
    max_delay: float = Option(
        0.3,
        help="Latency allowed above the least possible, as a share, for subscribers without a "
        "limit of their own.",
    ),
    alpha: Alpha = 3,
    beta: float = Option(1.5, help="The desired load balance factor."),
    beta_max: float = Option(1.8, help="The largest load balance factor."),
    last_hop: LastHop = False,
) -> None:
    """Read your own subscribers and brokers, and write them as a problem to assign."""
    from meshwright.content.problem.synthetic import check_limits

    check_limits(max_delay, alpha, beta, beta_max)
    from meshwright.content.problem import ingest as stage
    from meshwright.content.problem.user_tables import find_tables

    find_tables(subscribers, "--subscribers")  # complain before Spark starts
    find_tables(brokers, "--brokers")
    limits = {"alpha": alpha, "beta": beta, "beta_max": beta_max, "last_hop": last_hop}
    others = job.options(*limits)
    manifest = job.on_spark(stage.ingest, stage.N_STEPS, limits=limits, **others)
    for warning in manifest["parameters"]["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    job.print(manifest, print_problem)


def print_problem(out: Path, manifest: Manifest) -> None:
    """Print the size of a problem, its limits, and the next command."""
    n_brokers, leaves, levels = (manifest[f"n_{name}"] for name in ("brokers", "leaves", "levels"))
    tree = f"{n_brokers:,}, all leaves, one level"
    if levels > 1:
        tree = f"{n_brokers:,}: {leaves:,} leaves and {n_brokers - leaves:,} inner, {levels} levels"
    in_time = manifest["in_time"]
    limited = "the last hop" if manifest["last_hop"] else "the path"
    facts = {
        "subscribers": manifest["n_subscribers"],
        "brokers": tree,
        "event space": f"{manifest['n_dimensions']} dimensions",
        "leaves in time": f"{in_time['least']:,} at least, {in_time['median']:,} in the median "
        f"(latency of {limited})",
        "limits": f"alpha {manifest['alpha']}, beta {manifest['beta']:g} to "
        f"{manifest['beta_max']:g}, max delay {span(*manifest['max_delay'])}",
        "digest": manifest["digest"][:16],
    }
    print_facts(f"problem {out}", facts)
    print(f"\nnext: {command_name()} assign {out} -o A --method gr-star")


class WithContent(TyperCommand):
    """The verb ``ingest``, which takes files, with the verb ``ingest content`` below it."""

    @property
    def commands(self) -> dict[str, Any]:
        """The verb below this one, as a group would list it."""
        below = typer.Typer(add_completion=False, rich_markup_mode=None)
        below.command("content")(makes_dataset(ingest_content))
        return {"content": typer.main.get_command(below)}

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Return the context of the verb; a file called content can be given as ./content."""
        if args[:1] == ["content"]:
            command = self.commands["content"]
            return command.make_context(f"{info_name} content", args[1:], *more, **extra)
        return super().make_context(info_name, args, *more, **extra)
