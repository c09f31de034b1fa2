"""``meshwright deploy``: an overlay to configurations of real brokers."""

from __future__ import annotations

import re
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from meshwright.cli import add_group, command_name, show
from meshwright.cli.options import Force, Json, Out, OverlayPath, Workload

if TYPE_CHECKING:
    from meshwright.deploy import Change, Merged, Plan
    from meshwright.deploy.merge import FileChange
    from meshwright.storage import Manifest

ACTIONS = {"reload": "send SIGHUP: users and rights"}  # the other actions are called as they are
MOST_EXAMPLES = 5
MOST_SKIPPED = 10
SECRET = re.compile(r"^(remote_password |[^#:\n]+:(?=\$)).*$", re.MULTILINE)
UNRESTRICTED = "its user may use any topic (--lock-down forbids those not planned)"
LOCKED_DOWN = """only the topics that the plan has for it.
  A message on any other topic is acknowledged and delivered to nobody; a
  subscription to one gets nothing."""

deploy = add_group("deploy", "Write and compare configurations of brokers.")


@deploy.command()
def mosquitto(
    overlay: OverlayPath,
    inventory: Path = Option(metavar="CSV", help="Hosts and ports of the brokers."),
    out: Path = Option(..., "--out", "-o", metavar="CONF", help="The directory to write."),
    publishers: Path | None = Option(None, metavar="CSV", help="node,topic: publishers to add."),
    tree: str = Option("shallow", help="shallow: lowest depth; balanced: even load of links."),
    qos: int = Option(1, help="The quality of service of bridges."),
    complete: str | None = Option(None, help="relay: reach disconnected subscribers via relays."),
    skip_unsupported: bool = Option(
        False, "--skip-unsupported", help="Leave out topics that bridges cannot carry."
    ),
    layout: str = Option("include", help="include: beside your own files; whole: instead of them."),
    lock_down: bool = Option(
        False, "--lock-down", help="Own clients may use only the topics of the plan."
    ),
    log: str | None = Option(
        None,
        help="What brokers log: none, subscriptions, or publications too, a line for each message. "
        "[default: publications if the workload has some]",
    ),
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
        made = plan(
            loaded,
            brokers,
            publishers=listed,
            tree=tree,
            qos=qos,
            complete=complete,
            skip_unsupported=skip_unsupported,
        )
    with progress.step("writing and checking"):
        # The next plan is made from these logs, so they need what this one was made from.
        default = "publications" if loaded.instance.n_publications else "subscriptions"
        facts = write_conf(
            made, out, layout=layout, lock_down=lock_down, log=log or default, force=force
        )
    summary = {**made.summary(), "lock_down": lock_down}
    if json:
        show.print_json({"conf": str(out), **summary, "created": facts["created"]})
    else:
        print_plan(out, made, summary)


@deploy.command()
def check(
    conf: Path = Argument(help="A directory that `deploy mosquitto` wrote."),
    installed: list[str] | None = Option(
        None, metavar="NODE=FILE", help="The mosquitto.conf that a broker runs; repeatable."
    ),
    json: Json = False,
) -> None:
    """Prove from the files that no message can loop, or exit 1."""
    from meshwright.deploy import check_conf, read_conf

    words = (word.rpartition("=") for word in installed or ())
    read = read_conf(conf)
    found = check_conf(read, {node: Path(file) for node, _, file in words})
    if json:
        facts = {"conf": str(conf), "findings": found.errors}
        show.print_json({**facts, "warnings": found.warnings} if installed else facts)
    show.raise_findings(f"'{conf}' must not be used", found.errors)
    if not json:
        print(f"configuration {conf}")
        others = (
            "relays" if any(route.reaches_relays for route in read.plan.routes) else "no others"
        )
        print(f"every topic travels over a tree that reaches its subscribers and {others}")
        for warning in found.warnings:
            print(f"warning: {warning}")


@deploy.command()
def merge(
    piece: Path = Argument(metavar="CONF/NODE", help="A broker's directory of a configuration."),
    into: Path = Option(metavar="FILE", help="The mosquitto.conf that the broker runs."),
    root: Path = Option(Path("/"), metavar="DIR", help="A copy of the host's files to work on."),
    start: str | None = Option(
        None, metavar="DIR", help="Where Mosquitto is started. [default: where FILE is]"
    ),
    users_only: bool = Option(False, "--users-only", help="Users and rights, no bridges."),
    remove: bool = Option(False, "--remove", help="Take away what a merge wrote."),
    dry_run: bool = Option(False, "--dry-run", help="Show what would change."),
    json: Json = False,
) -> None:
    """Put a broker's bridges and users beside its operator's own."""
    from meshwright.deploy import merge as stage

    made = stage(
        piece, into, root=root, start=start, users_only=users_only, remove=remove, dry_run=dry_run
    )
    if json:
        files = [str(change.path) for change in made.changes]
        facts = {"node": made.node, "changed": files, "warnings": made.warnings}
        show.print_json({**facts, "restart": made.restart, "dry_run": dry_run})
    else:
        print_merged(made, dry_run=dry_run)


def print_merged(made: Merged, *, dry_run: bool) -> None:
    """Print the files that a merge changes, line by line before it does, and what to do next."""
    for change in made.changes:
        if dry_run:
            print(difference(change))
        else:
            print(f"{'removed' if change.after is None else 'written'} {change.path}")
    for warning in made.warnings:
        print(f"warning: {warning}")
    if not made.changes:
        print(f"broker {made.node}: nothing changes")
    elif dry_run:
        print(f"broker {made.node}: nothing was written; leave out --dry-run to do it")
    else:
        print(f"next: {'restart the broker' if made.restart else 'send the broker SIGHUP'}")


def difference(change: FileChange) -> str:
    """Return the lines of a file that change, without passwords and their hashes."""
    before, after = (
        SECRET.sub(r"\1...", (content or b"").decode(errors="replace")).splitlines()
        for content in (change.before, change.after)
    )
    name = str(change.path)
    return "\n".join(unified_diff(before, after, name, name, n=1, lineterm=""))


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
    if plan.brokers[0].username:
        print("clients of a broker:", LOCKED_DOWN if summary["lock_down"] else UNRESTRICTED)
    if plan.n_unused:
        print(f"links of the overlay that carry nothing, left out: {plan.n_unused:,}")
    if plan.added:
        print(f"links added for publishers without one to a subscriber: {len(plan.added):,}")
    if summary["relayed_topics"]:
        print(
            f"topics relayed by brokers that do not want them: {summary['relayed_topics']:,}\n"
            f"  unwanted receptions: {summary['unwanted']:,.4g}, {summary['unwanted_share']:.1%} "
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
    if plan.skipped:
        print(f"topics left out, since bridges cannot carry them: {len(plan.skipped):,}")
        for name in plan.skipped[:MOST_SKIPPED]:
            print(f"  {name!r}")
        if len(plan.skipped) > MOST_SKIPPED:
            print("  ... (--json lists all)")
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
    print("Follow this order. Put a broker's new files in place at its step (deploy merge); for")
    print("SIGHUP only users and rights (--users-only): it may restart before its turn.")
    rows = [
        (i, ACTIONS.get(step.action, step.action), step.node)
        for i, step in enumerate(change.steps, 1)
    ]
    show.print_table(("step", "do", "broker"), rows)
    print("no topic has a loop at any step")
