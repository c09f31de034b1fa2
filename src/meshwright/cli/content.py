"""``meshwright generate content`` and ``ingest content``: problems of content-based assignment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from meshwright.cli.options import Force, Json, Master, Out, Seed, start
from meshwright.cli.show import print_facts, print_json

if TYPE_CHECKING:
    from meshwright.datasets import Manifest

INGEST_HELP = "Read your own subscribers and brokers, and write them as a problem to assign."
GENERATE_HELP = "Subscribers with boxes and a tree of brokers: a problem to assign."

MaxDelay = Annotated[
    float | None,
    typer.Option(
        "--max-delay",
        help="How much longer than the least a latency may be, relative. [default: the paper's]",
    ),
]
Alpha = Annotated[int, typer.Option("--alpha", help="Boxes per filter, at most.")]
Beta = Annotated[
    float | None,
    typer.Option("--beta", help="The desired load balance factor. [default: the paper's]"),
]
BetaMax = Annotated[
    float | None,
    typer.Option("--beta-max", help="The largest load balance factor. [default: the paper's]"),
]
LastHop = Annotated[
    bool, typer.Option("--last-hop", help="Bound the hop to the subscriber, not the whole path.")
]


def generate(
    out: Out,
    set: Annotated[
        int,
        typer.Option("--set", help="1 like Google Groups, 2 like news feeds, 3 hot spots."),
    ] = 1,
    subscribers: Annotated[
        int, typer.Option("--subscribers", help="How many subscribers.")
    ] = 100_000,
    brokers: Annotated[
        int | None,
        typer.Option(
            "--brokers",
            help="How many brokers, inner ones included, the publisher not. "
            "[default: 100, or 200 in several levels]",
        ),
    ] = None,
    skew: Annotated[
        str | None,
        typer.Option("--skew", help="Set 1: low or high skew of interests. [default: high]"),
    ] = None,
    broad: Annotated[
        str | None,
        typer.Option("--broad", help="Set 1: low or high share of wide boxes. [default: low]"),
    ] = None,
    levels: Annotated[
        str, typer.Option("--levels", help="one: all brokers are leaves; many: a tree of them.")
    ] = "one",
    max_out_degree: Annotated[
        int | None,
        typer.Option("--max-out-degree", help="Several levels: most children. [default: 15]"),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(
            "--latency", help="Several levels: the paper's tight or loose limits. [default: loose]"
        ),
    ] = None,
    max_delay: MaxDelay = None,
    alpha: Alpha = 3,
    beta: Beta = None,
    beta_max: BetaMax = None,
    last_hop: LastHop = False,
    seed: Seed = 1,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Make a problem of content-based assignment."""
    from meshwright.datasets import refuse_overwrite
    from meshwright.problem.arguments import content_arguments

    refuse_overwrite(out.absolute(), force=force)
    arguments = content_arguments(
        set=set,
        subscribers=subscribers,
        brokers=brokers,
        skew=skew,
        broad=broad,
        levels=levels,
        max_out_degree=max_out_degree,
        latency=latency,
        max_delay=max_delay,
        alpha=alpha,
        beta=beta,
        beta_max=beta_max,
        last_hop=last_hop,
        seed=seed,
    )
    from meshwright.problem import generate as stage

    spark, progress = start(master, stage.N_STEPS)
    manifest = stage.generate(spark, out, arguments, force=force, progress=progress)
    _print(out, manifest, json=json)


def ingest(
    out: Out,
    subscribers: Annotated[
        str,
        typer.Option(
            "--subscribers",
            metavar="FILE",
            help="CSV, TSV or Parquet: name, location_0.., low_0.., high_0.., and, if you like, "
            "max_delay or max_latency.",
        ),
    ],
    brokers: Annotated[
        str,
        typer.Option(
            "--brokers",
            metavar="FILE",
            help="CSV, TSV or Parquet: name, parent (none: the publisher), location_0.., and, "
            "if you like, capacity.",
        ),
    ],
    max_delay: Annotated[
        float,
        typer.Option(
            "--max-delay",
            help="How much longer than the least a latency may be, relative, for subscribers "
            "that do not say.",
        ),
    ] = 0.3,
    alpha: Alpha = 3,
    beta: Annotated[float, typer.Option("--beta", help="The desired load balance factor.")] = 1.5,
    beta_max: Annotated[
        float, typer.Option("--beta-max", help="The largest load balance factor.")
    ] = 1.8,
    last_hop: LastHop = False,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Read subscribers and brokers, and write them as a problem to assign."""
    import sys

    from meshwright.datasets import refuse_overwrite
    from meshwright.problem.arguments import check_limits

    refuse_overwrite(out.absolute(), force=force)
    check_limits(max_delay, alpha, beta, beta_max)
    from meshwright.problem import ingest as stage
    from meshwright.problem.read import find_tables

    find_tables(subscribers, "--subscribers")  # complain before Spark starts
    find_tables(brokers, "--brokers")
    spark, progress = start(master, stage.N_STEPS)
    manifest = stage.ingest(
        spark,
        subscribers,
        brokers,
        out,
        max_delay=max_delay,
        limits={"alpha": alpha, "beta": beta, "beta_max": beta_max, "last_hop": last_hop},
        force=force,
        progress=progress,
    )
    for warning in manifest["parameters"]["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    _print(out, manifest, json=json)


def _print(out: Path, manifest: Manifest, *, json: bool) -> None:
    if json:
        print_json(manifest.as_dict())
    else:
        print_problem(out, manifest)


def print_problem(out: Path, manifest: Manifest) -> None:
    """Print what a problem holds, its limits, and what to do next."""
    leaves, inner = manifest["n_leaves"], manifest["n_brokers"] - manifest["n_leaves"]
    levels = manifest["n_levels"]
    tree = f"{manifest['n_brokers']:,}, all leaves, one level"
    if levels > 1:
        tree = f"{manifest['n_brokers']:,}: {leaves:,} leaves and {inner:,} inner, {levels} levels"
    in_time = manifest["in_time"]
    bounded = "the last hop" if manifest["last_hop"] else "the path"
    print(f"problem {out}")
    print_facts(
        {
            "subscribers": f"{manifest['n_subscribers']:,}",
            "brokers": tree,
            "event space": f"{manifest['n_dimensions']} dimensions",
            "leaves in time": f"{in_time['least']:,} at least, {in_time['median']:,} in the median "
            f"(latency of {bounded})",
            "limits": f"alpha {manifest['alpha']}, beta {manifest['beta']:g} to "
            f"{manifest['beta_max']:g}, max delay {_delay(manifest)}",
            "digest": manifest["digest"][:16],
        }
    )
    print(f"\nnext: meshwright assign {out} -o A --method gr-star")


def _delay(manifest: Manifest) -> str:
    low, high = manifest["max_delay"]
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


class WithContent(TyperCommand):
    """The verb ``ingest``, which takes files, and ``ingest content`` besides."""

    @property
    def commands(self) -> dict[str, Any]:
        """The verb below this one, as a group would list it."""
        below = typer.Typer(add_completion=False, rich_markup_mode=None)
        below.command("content", help=INGEST_HELP)(ingest)
        return {"content": typer.main.get_command(below)}

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Return the context of what is asked for; a file named so can be given as ./content."""
        if args[:1] == ["content"]:
            command = self.commands["content"]
            return command.make_context(f"{info_name} content", args[1:], *more, **extra)
        return super().make_context(info_name, args, *more, **extra)
