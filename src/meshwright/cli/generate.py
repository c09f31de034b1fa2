"""``meshwright generate``: synthetic workloads."""

from __future__ import annotations

import re
from typing import Annotated

from typer import Context, Option

from meshwright.cli import add_group
from meshwright.cli.content import generate_content
from meshwright.cli.options import Force, Json, Master, Out, Seed, given, start
from meshwright.cli.show import print_result
from meshwright.cli.workload import print_workload
from meshwright.errors import InputError

Nodes = Annotated[int, Option(help="How many nodes.")]
Topics = Annotated[int, Option(help="How many topics.")]
Subscriptions = Annotated[
    str, Option(metavar="A[-B]", help="Topics per node, for example 10 or 20-600.")
]
Draw = Annotated[
    str, Option(help="successive: without replacement; conditional: given the size, as in paper 2.")
]

generate = add_group("generate", "Make a synthetic workload, or a problem to assign.")


@generate.command()
def zipf(
    context: Context,
    out: Out,
    nodes: Nodes,
    topics: Topics,
    subscriptions: Subscriptions,
    alpha: float = Option(help="The papers use 0.5 and 2.0."),
    draw: Draw = "successive",
    seed: Seed = 1,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Popularity rank^-alpha: nearly every node wants a few topics."""
    _generate("zipf", context)


@generate.command()
def unif(
    context: Context,
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
    _generate("unif", context)


@generate.command()
def expo(
    context: Context,
    out: Out,
    nodes: Nodes,
    topics: Topics,
    subscriptions: Subscriptions,
    rate: float = Option(10.0, help="How fast popularity falls."),
    draw: Draw = "successive",
    seed: Seed = 1,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Popularity exp(-rate * rank / topics)."""
    _generate("expo", context)


def _generate(family: str, context: Context) -> None:
    from meshwright.storage import refuse_overwrite
    from meshwright.workload import generate as stage

    out, force = context.params["out"], context.params["force"]
    options = {"alpha": None, "rate": None, **given(context)}
    options["subscriptions"] = parse_range(context.params["subscriptions"])
    refuse_overwrite(out.absolute(), force=force)
    stage.check_arguments(family, **options)
    spark, progress = start(context.params["master"], stage.N_STEPS)
    manifest = stage.generate(spark, family, out, **options, force=force, progress=progress)
    print_result(out, manifest, print_workload, json=context.params["json"])


def parse_range(text: str) -> tuple[int, int]:
    """Return the ends of ``A`` or ``A-B``."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None:
        raise InputError(f"--subscriptions is {text!r}; write a number or a range like 20-600.")
    low, high = match.groups()
    return int(low), int(high or low)


@generate.command()
def social(
    context: Context,
    out: Out,
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
    seed: Seed = 1,
    master: Master = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Friends or followers in communities; users are nodes and topics."""
    from meshwright.storage import refuse_overwrite
    from meshwright.workload import generate as stage
    from meshwright.workload.social_law import SocialModel, law_of

    model = SocialModel(**given(context))
    refuse_overwrite(out.absolute(), force=force)
    law_of(model)  # complain before Spark starts
    spark, progress = start(master, stage.N_STEPS)
    manifest = stage.generate_social(spark, out, model, force=force, progress=progress)
    print_result(out, manifest, print_workload, json=json)


generate.command("content")(generate_content)
