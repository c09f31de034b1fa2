"""``meshwright deploy``: an overlay to configurations of real brokers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from meshwright.cli import add_group, command_name, show
from meshwright.cli.options import Force, Json, Out, OverlayPath, Workload

if TYPE_CHECKING:
    from meshwright.deploy import Change, Plan
    from meshwright.storage import Manifest

ACTIONS = {"reload": "send SIGHUP: users and rights"}  # the other actions are called as they are
MOST_EXAMPLES = 5

deploy = add_group("deploy", "Write and compare configurations of brokers.")


@deploy.command()
def mosquitto(
    overlay: OverlayPath,
    inventory: Path = Option(metavar="CSV", help="Hosts and ports of the brokers."),
    out: Path = Option(..., "--out", "-o", metavar="CONF", help="The directory to write."),
    publishers: Path | None = Option(None, metavar="CSV", help="node,topic: further publishers."),
    tree: str = Option("shallow", help="shallow: lowest depth; balanced: even load of links."),
    qos: int = Option(1, help="The quality of service of bridges."),
    complete: str | None = Option(None, help="relay: reach disconnected subscribers via relays."),
    workload: Workload = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write Mosquitto bridges: each topic on a tree, without loops."""
    from meshwright.deploy import plan, read_inventory, read_publishers, write_conf
    from meshwright.deploy.mosquitto import refuse_replacing
    from meshwright.overlay.dataset import load_overlay
    from meshwright.runtime.progress import Progress

    refuse_replacing(out.absolute(), force=force)
    progress = Progress(2)
    with progress.step("planning"):
        loaded = load_overlay(overlay, workload)
        nodes = list(loaded.instance.node_names)
        brokers = read_inventory(inventory, nodes)
        listed = read_publishers(publishers, nodes) if publishers is not None else []
        made = plan(loaded, brokers, publishers=listed, tree=tree, qos=qos, complete=complete)
    with progress.step("writing and checking"):
        facts = write_conf(made, out, force=force)
    summary = made.summary()
    if json:
        show.print_json({"conf": str(out), **summary, "created": facts["created"]})
    else:
        print_plan(out, made, summary)


@deploy.command()
def check(
    conf: Path = Argument(help="A directory that `deploy mosquitto` wrote."), json: Json = False
) -> None:
    """Prove from the files that no message can loop, or exit 1."""
    from meshwright.deploy import read_conf, validate

    read = read_conf(conf)
    findings = validate(read)
    if json:
        show.print_json({"conf": str(conf), "findings": findings})
    show.raise_findings(f"'{conf}' must not be used", findings)
    if not json:
        print(f"configuration {conf}")
        others = "relays" if any(route.relays for route in read.plan.routes) else "no others"
        print(f"every topic travels over a tree that reaches its subscribers and {others}")


@deploy.command()
def diff(
    before: Path = Argument(help="The configuration that runs now."),
    after: Path = Argument(help="The configuration that shall run."),
    json: Json = False,
) -> None:
    """Show which brokers change, and a safe order of restarts."""
    from meshwright.deploy import compare_confs

    show.print_result(after, compare_confs(before, after), print_change, json=json)


@deploy.command()
def expand(
    out: Out,
    workload: Path = Argument(help="A workload with MQTT filters (+, #)."),
    force: Force = False,
    json: Json = False,
) -> None:
    """Subscribe nodes to the topics that their filters match."""
    from meshwright.workload.write import expand_workload

    show.print_result(out, expand_workload(workload, out, force=force), print_expanded, json=json)


def print_expanded(out: Path, manifest: Manifest) -> None:
    """Print the size of a workload after its filters were expanded, and the next command."""
    before = manifest["parameters"]["n_subscriptions_before"]
    subscriptions = f"{manifest['n_subscriptions']:,} (before: {before:,})"
    facts = {"topics": manifest["n_topics"], "subscriptions": subscriptions}
    show.print_facts(f"workload {out}", facts)
    print(f"next: {command_name()} design {out} -o OVERLAY")


def print_plan(out: Path, plan: Plan, summary: dict[str, Any]) -> None:
    """Print the size of a plan, its notable links and topics, and the next command."""
    link, broker, deepest = (
        summary[name] for name in ("busiest_link", "busiest_broker", "deepest")
    )
    busiest = f"{link['topics']:,} topics, {link['from']} to {link['to']}" if link else "none"
    depth = "none"
    if deepest:
        plural = "" if deepest["depth"] == 1 else "s"
        depth = f"{deepest['depth']} hop{plural} from its middle, {deepest['topic']}"
    facts = {
        "brokers": summary["brokers"],
        "links": summary["links"],
        "topics": f"{summary['topics']:,} on {plan.tree} trees, qos {plan.qos}",
        "busiest link": busiest,
        "busiest broker": f"{broker['topics']:,} topics over links, {broker['node']}",
        "deepest tree": depth,
        "security": summary["security"],
    }
    show.print_facts(f"configuration {out}", facts)
    if plan.n_unused:
        print(f"links of the overlay that carry nothing, left out: {plan.n_unused:,}")
    if plan.added:
        print(f"links added for publishers without one to a subscriber: {len(plan.added):,}")
    if summary["relayed_topics"]:
        print(
            f"topics relayed by brokers that do not want them: {summary['relayed_topics']:,}\n"
            f"  unwanted receptions: {summary['unwanted']:,}, {summary['unwanted_share']:.1%} "
            "of all, if each topic is published equally"
        )
    for names in plan.shared[:MOST_EXAMPLES]:
        print(f"these filters overlap and share a tree: {', '.join(names)}")
    widened = [(r.name, r.pattern) for r in plan.routes if r.pattern != r.name]
    if widened:
        others = "access lists stop other" if plan.brokers[0].username else "so do other"
        print(f"topics with a space cross links by a +; {others} names that match")
        for name, pattern in widened[:MOST_EXAMPLES]:
            print(f"  {name!r} as {pattern!r}")
    for node, topic in plan.unheard[:MOST_EXAMPLES]:
        print(f"no broker subscribes to {topic!r} of {node!r}")
    if len(plan.unheard) > MOST_EXAMPLES:
        print(f"and to {len(plan.unheard) - MOST_EXAMPLES:,} more")
    print("checked from the files: no message can loop, every subscriber is reached")
    print(f"next: {command_name()} lab up {out}")


def print_change(_after: Path, change: Change) -> None:
    """Print how two configurations differ, and the order of restarts."""
    if not change.steps:
        print("nothing changes")
        return
    facts = {
        "new brokers": len(change.added),
        "removed brokers": len(change.removed),
        "restarted": len(change.restarted),
        "reloaded": len(change.reloaded),
    }
    show.print_facts(None, facts)
    print("Follow this order. Put a broker's new files in place at its step; for SIGHUP only")
    print("acl and passwd, as the broker may restart before its turn.")
    rows = [
        (i, ACTIONS.get(step.action, step.action), step.node)
        for i, step in enumerate(change.steps, 1)
    ]
    show.print_table(("step", "do", "broker"), rows)
    print("no topic has a loop at any step")
