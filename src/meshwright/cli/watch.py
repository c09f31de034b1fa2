"""``meshwright watch``: a deployment compared with what clients want now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from meshwright.cli import app, command_name, show
from meshwright.cli.options import Json
from meshwright.errors import CheckError

if TYPE_CHECKING:
    from meshwright.deploy.watch import Watched

MOST_ROWS = 40  # --json lists all
MOST_NAMED = 5


@app.command()
def watch(
    conf: Path = Argument(metavar="CONF", help="A directory that `deploy mosquitto` wrote."),
    logs: list[str] = Option(
        metavar="FILES", help="Mosquitto logs, named like their brokers; a glob, or repeated."
    ),
    json: Json = False,
) -> None:
    """Compare bridges with what clients want now."""
    from meshwright.deploy.watch import ENDED, UNKNOWN, WANTED
    from meshwright.deploy.watch import watch as stage
    from meshwright.runtime.progress import Progress

    found = stage(conf, logs, progress=Progress(2))
    if json:
        show.print_json({"conf": str(conf), **found.as_dict()})
    else:
        print_watched(conf, found)
    if found.differences:
        counts = {
            "wanted and not brought": len(found.of(WANTED)),
            "no longer wanted": len(found.of(ENDED)),
            "unknown brokers": len(found.of(UNKNOWN)),
        }
        said = ", ".join(f"{n:,} {words}" for words, n in counts.items() if n)
        files = " ".join(f"'{pattern}'" for pattern in logs)
        raise CheckError(
            f"clients want other things than '{conf}' was planned for: {said}.\n"
            f"To plan again from these logs:\n"
            f"  {command_name()} ingest {files} --format mosquitto-log -o WORKLOAD\n"
            f"  {command_name()} design WORKLOAD -o OVERLAY\n"
            f"  {command_name()} deploy mosquitto OVERLAY --inventory CSV -o CONF2\n"
            f"  {command_name()} deploy diff {conf} CONF2"
        )


def print_watched(conf: Path, found: Watched) -> None:
    """Print the differences, and what limits the comparison."""
    from meshwright.deploy.watch import ENDED, UNKNOWN, WANTED

    words = {
        WANTED: "wants, not brought",
        ENDED: "no longer wants",
        UNKNOWN: "is not in the plan",
    }
    facts = {"brokers compared": found.n_brokers, "interests brought": found.n_interests}
    show.print_facts(f"configuration {conf}", facts)
    if found.differences:
        print()
        rows = [
            (show.printable(one.broker), words[one.kind], show.printable(one.topic) or "-")
            for one in found.differences[:MOST_ROWS]
        ]
        show.print_table(("broker", "now", "topic"), rows)
        if len(found.differences) > MOST_ROWS:
            print(f"... and {len(found.differences) - MOST_ROWS:,} more; --json lists all")
    else:
        print("\nthe plan brings what clients want, and nothing else")
    if found.without_log:
        _note(f"no log is from {_some(found.without_log)}, so they were not compared")
    if found.begins_late and found.of(ENDED):
        _note(
            f"the logs of {_some(found.begins_late)} do not go back to the broker's start: what "
            "is no longer wanted may be older than the log. Name rotated parts too ('*.log*')"
        )
    for reason, n in found.in_doubt.items():
        _note(f"{n:,} interests are kept in doubt, of {reason}")
    if found.n_unreadable:
        _note(f"{found.n_unreadable:,} lines are not valid UTF-8 and were left out")


def _note(text: str) -> None:
    show.print_sentence(f"note: {text}")


def _some(names: tuple[str, ...]) -> str:
    listed = ", ".join(map(show.printable, names[:MOST_NAMED]))
    more = len(names) - MOST_NAMED
    return f"{listed} and {more:,} more" if more > 0 else listed
