"""``meshwright generate content``: problems of content-based assignment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.options import Force, Json, Master, Out, Seed, start
from meshwright.cli.show import print_facts, print_json

if TYPE_CHECKING:
    from meshwright.datasets import Manifest

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
