"""``meshwright deploy``: an overlay to configurations of real brokers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.options import Json
from meshwright.cli.show import print_facts, print_json, print_table
from meshwright.errors import CheckError

if TYPE_CHECKING:
    from meshwright.deployment import Change, Plan

deploy = typer.Typer(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
ORDER = {
    "reload": "send SIGHUP: users and rights",
    "stop": "stop",
    "start": "start",
    "restart": "restart",
}
TOLD = 20  # findings that are printed in full

Conf = Annotated[Path, typer.Option("--out", "-o", help="The directory to write.", metavar="CONF")]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.add_typer(deploy, name="deploy", help="Write and compare configurations of brokers.")


@deploy.command("mosquitto")
def mosquitto(
    overlay: Annotated[Path, typer.Argument(help="An overlay dataset.")],
    inventory: Annotated[
        Path, typer.Option("--inventory", metavar="CSV", help="Where the brokers are.")
    ],
    out: Conf,
    publishers: Annotated[
        Path | None,
        typer.Option(
            "--publishers", metavar="CSV", help="node,topic: who publishes what it does not want."
        ),
    ] = None,
    tree: Annotated[
        str,
        typer.Option("--tree", help="shallow: lowest depth; balanced: even load of links."),
    ] = "shallow",
    qos: Annotated[int, typer.Option("--qos", help="The quality of service of bridges.")] = 1,
    complete: Annotated[
        str | None,
        typer.Option("--complete", help="relay: reach who is left apart through other brokers."),
    ] = None,
    workload: Annotated[
        Path | None, typer.Option("--workload", help="Where its workload is, if it was moved.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace CONF if it exists.")] = False,
    json: Json = False,
) -> None:
    """Write bridges for Mosquitto: each topic on a tree, nothing in circles."""
    from meshwright.deployment import plan, read_inventory, read_publishers, write_conf
    from meshwright.deployment.directory import refuse_replacing
    from meshwright.deployment.figures import figures
    from meshwright.smallworld.dataset import load_overlay
    from meshwright.spark.progress import Progress

    refuse_replacing(out.absolute(), force=force)
    progress = Progress(2)
    with progress.step("planning"):
        loaded = load_overlay(overlay, workload)
        nodes = list(loaded.instance.node_names)
        brokers = read_inventory(inventory, nodes)
        listed = read_publishers(publishers, nodes) if publishers is not None else []
        made = plan(loaded, brokers, publishers=listed, tree=tree, qos=qos, complete=complete)
    with progress.step("writing and proving"):
        facts = write_conf(made, out, force=force)
    summary = figures(made)
    if json:
        print_json({"conf": str(out), **summary, "created": facts["created"]})
    else:
        print_plan(out, made, summary)


@deploy.command("check")
def check(
    conf: Annotated[Path, typer.Argument(help="A directory that deploy has written.")],
    json: Json = False,
) -> None:
    """Prove from the files that nothing can go in circles; exit 1 if it can."""
    from meshwright.deployment import read_conf, validate

    found = read_conf(conf)
    wrong = validate(found)
    if json:
        print_json({"conf": str(conf), "findings": wrong})
    if wrong:
        raise check_error(conf, wrong)
    if not json:
        print(f"configuration {conf}")
        print("every topic travels over a tree that reaches all its subscribers, and no other")


@deploy.command("diff")
def diff(
    before: Annotated[Path, typer.Argument(help="What runs now.")],
    after: Annotated[Path, typer.Argument(help="What shall run.")],
    json: Json = False,
) -> None:
    """Tell which brokers change, and an order of restarts without a cycle on the way."""
    from meshwright.deployment import compare_confs

    change = compare_confs(before, after)
    if json:
        print_json(change.as_dict())
    else:
        print_change(change)


@deploy.command("expand")
def expand(
    workload: Annotated[Path, typer.Argument(help="A workload with MQTT filters (+, #).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The dataset to write.", metavar="DIR")],
    force: Annotated[bool, typer.Option("--force", help="Replace the dataset.")] = False,
    json: Json = False,
) -> None:
    """Make the nodes of filters subscribers of what they match, to design on."""
    from meshwright.deployment.expanded import expand_workload

    manifest = expand_workload(workload, out, force=force)
    if json:
        print_json(manifest.as_dict())
        return
    print(f"workload {out}")
    before = manifest["parameters"]["n_subscriptions_before"]
    print_facts(
        {
            "topics": f"{manifest['n_topics']:,}",
            "subscriptions": f"{manifest['n_subscriptions']:,} (before: {before:,})",
        }
    )
    print(f"next: meshwright design {out} -o OVERLAY")


def check_error(conf: Path, wrong: list[str]) -> CheckError:
    """Return the error for a configuration that is not proved."""
    told = [*wrong[:TOLD], *([f"and {len(wrong) - TOLD:,} more"] if len(wrong) > TOLD else [])]
    return CheckError(f"'{conf}' must not be used:\n  " + "\n  ".join(told), tuple(wrong))


def print_plan(out: Path, plan: Plan, summary: dict[str, Any]) -> None:
    """Print what was planned and written, and what to do next."""
    print(f"configuration {out}")
    busiest, deepest = summary["busiest_link"], summary["deepest"]
    facts = {
        "brokers": f"{summary['brokers']:,}",
        "links": f"{summary['links']:,}",
        "topics": f"{summary['topics']:,} on {plan.tree} trees, qos {plan.qos}",
        "busiest link": f"{busiest['topics']:,} topics, {busiest['from']} to {busiest['to']}"
        if busiest
        else "none",
        "busiest broker": f"{summary['busiest_broker']['topics']:,} topics over links, "
        f"{summary['busiest_broker']['node']}",
        "deepest tree": f"{hops(deepest['depth'])} from its middle, {deepest['topic']}"
        if deepest
        else "none",
        "security": summary["security"],
    }
    print_facts(facts)
    if plan.unused:
        print(f"links of the overlay that carry nothing, left out: {plan.unused:,}")
    if plan.added:
        print(f"links added for publishers without one to a subscriber: {len(plan.added):,}")
    if summary["relayed_topics"]:
        print(
            f"topics that pass brokers which do not want them: {summary['relayed_topics']:,}\n"
            f"  unwanted receptions: {plan.unwanted:,}, {summary['unwanted_share']:.1%} of all, if "
            "each topic is published equally"
        )
    for names in plan.shared[:5]:
        print(f"these filters overlap and share a tree: {', '.join(names)}")
    for node, topic in plan.unheard[:5]:
        print(f"nobody wants {topic!r} of {node!r}; it stays there")
    if len(plan.unheard) > 5:
        print(f"and {len(plan.unheard) - 5:,} more that nobody wants")
    print("checked on the files: no name can go in circles, every subscriber is reached")
    print(f"next: meshwright lab up {out}")


def hops(n: int) -> str:
    """Return a number of hops in words."""
    return "1 hop" if n == 1 else f"{n} hops"


def print_change(change: Change) -> None:
    """Print how two configurations differ."""
    if not change.steps:
        print("nothing changes")
        return
    print_facts(
        {
            "new brokers": f"{len(change.added):,}",
            "removed brokers": f"{len(change.removed):,}",
            "restarted": f"{len(change.bridges):,}",
            "reloaded": f"{len(change.access):,}",
        }
    )
    print("in this order; put a broker's new files in place at its step, and for SIGHUP")
    print("only acl and passwd: it may be started again before its turn")
    rows = [(i, ORDER[step.action], step.node) for i, step in enumerate(change.steps, 1)]
    print_table(("step", "do", "broker"), rows)
    print("no topic has a cycle at any step")
