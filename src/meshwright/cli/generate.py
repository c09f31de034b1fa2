"""``meshwright generate``: synthetic workloads."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from meshwright.cli import content
from meshwright.cli.ingest import print_workload
from meshwright.cli.options import Force, Json, Master, Out, Seed, start
from meshwright.cli.show import print_json
from meshwright.errors import InputError

FAMILIES = {
    "zipf": "Popularity rank^-alpha: a few topics that nearly everyone wants.",
    "unif": "Every topic equally popular.",
    "expo": "Popularity exp(-rate * rank / topics).",
    "social": "Friends or followers in communities; users are nodes and topics.",
}


def register(app: typer.Typer) -> None:
    """Add the verb and its families."""
    family = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(
        family, name="generate", help="Make a synthetic workload, or a problem to assign."
    )
    for name, text in FAMILIES.items():
        family.command(name, help=text)(globals()[name])
    family.command("content", help=content.GENERATE_HELP)(content.generate)


Nodes = Annotated[int, typer.Option("--nodes", help="How many nodes.")]
Topics = Annotated[int, typer.Option("--topics", help="How many topics.")]
Subscriptions = Annotated[
    str,
    typer.Option("--subscriptions", metavar="A[-B]", help="Topics per node, e.g. 10 or 20-600."),
]
Draw = Annotated[
    str,
    typer.Option(
        "--draw",
        help="successive (without replacement) or conditional (paper 2: given the size).",
    ),
]


def zipf(
    out: Out,
    nodes: Nodes,
    topics: Topics,
    subscriptions: Subscriptions,
    alpha: Annotated[float, typer.Option("--alpha", help="The papers use 0.5 and 2.0.")],
    draw: Draw = "successive",
    seed: Seed = 1,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Popularity rank^-alpha."""
    common = (out, nodes, topics, subscriptions, draw, seed, master, force, json)
    _generate("zipf", *common, alpha=alpha)


def unif(
    out: Out,
    nodes: Nodes,
    topics: Topics,
    subscriptions: Subscriptions,
    draw: Draw = "successive",
    seed: Seed = 1,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Every topic equally popular."""
    _generate("unif", out, nodes, topics, subscriptions, draw, seed, master, force, json)


def expo(
    out: Out,
    nodes: Nodes,
    topics: Topics,
    subscriptions: Subscriptions,
    rate: Annotated[float, typer.Option("--rate", help="How fast popularity falls.")] = 10.0,
    draw: Draw = "successive",
    seed: Seed = 1,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Popularity exp(-rate * rank / topics)."""
    common = (out, nodes, topics, subscriptions, draw, seed, master, force, json)
    _generate("expo", *common, rate=rate)


def social(
    out: Out,
    nodes: Annotated[int, typer.Option("--nodes", help="How many users.")],
    mean_degree: Annotated[
        float,
        typer.Option("--mean-degree", help="Friends, or followees, that a user has on average."),
    ],
    communities: Annotated[
        int | None,
        typer.Option("--communities", help="About how many. [default: as their sizes make]"),
    ] = None,
    density: Annotated[
        float,
        typer.Option(
            "--density",
            help="Share of related pairs in the largest communities; small ones are denser.",
        ),
    ] = 0.6,
    largest_community: Annotated[
        int | None,
        typer.Option(
            "--largest-community", help="Users in the largest. [default: 5 times the mean degree]"
        ),
    ] = None,
    mixing: Annotated[
        float, typer.Option("--mixing", help="Share of relations outside communities.")
    ] = 0.3,
    exponent: Annotated[
        float, typer.Option("--exponent", help="Of the power law that large degrees follow.")
    ] = 3.0,
    max_degree: Annotated[
        int | None,
        typer.Option(
            "--max-degree", help="The largest expected degree. [default: 5000, Facebook's limit]"
        ),
    ] = None,
    directed: Annotated[
        bool, typer.Option("--directed/--undirected", help="Followers / friends.")
    ] = False,
    reciprocity: Annotated[
        float | None,
        typer.Option(
            "--reciprocity", help="Directed: share of subscriptions returned. [default: 0.5]"
        ),
    ] = None,
    seed: Seed = 1,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Friends or followers: power-law degrees, in communities."""
    from meshwright.datasets import refuse_overwrite
    from meshwright.workload import social as stage
    from meshwright.workload.social_law import law_of
    from meshwright.workload.social_model import SocialModel

    model = SocialModel(
        nodes=nodes,
        mean_degree=mean_degree,
        exponent=exponent,
        max_degree=max_degree,
        mixing=mixing,
        communities=communities,
        density=density,
        largest_community=largest_community,
        directed=directed,
        reciprocity=reciprocity,
        seed=seed,
    )
    refuse_overwrite(out.absolute(), force=force)
    law_of(model)  # complain before Spark starts
    spark, progress = start(master, stage.N_STEPS)
    manifest = stage.generate_social(spark, out, model, force=force, progress=progress)
    if json:
        print_json(manifest.as_dict())
    else:
        print_workload(out, manifest)


def _generate(
    family: str,
    out: Out,
    nodes: int,
    topics: int,
    subscriptions: str,
    draw: str,
    seed: int,
    master: str | None,
    force: bool,
    json: bool,
    *,
    alpha: float | None = None,
    rate: float | None = None,
) -> None:
    from meshwright.datasets import refuse_overwrite
    from meshwright.workload import generate as stage

    sizes = parse_range(subscriptions)
    refuse_overwrite(out.absolute(), force=force)
    stage.check_arguments(family, nodes, topics, sizes, alpha, rate, draw, seed)
    spark, progress = start(master, stage.N_STEPS)
    manifest = stage.generate(
        spark,
        family,
        out,
        nodes=nodes,
        topics=topics,
        subscriptions=sizes,
        alpha=alpha,
        rate=rate,
        draw=draw,
        seed=seed,
        force=force,
        progress=progress,
    )
    if json:
        print_json(manifest.as_dict())
    else:
        print_workload(out, manifest)


def parse_range(text: str) -> tuple[int, int]:
    """Return the ends of ``A`` or ``A-B``."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None:
        raise InputError(f"--subscriptions is {text!r}; write a number or a range like 20-600.")
    low = int(match.group(1))
    return low, int(match.group(2)) if match.group(2) else low
