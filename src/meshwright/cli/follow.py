"""``meshwright ingest --follow``: a workload that stays current while logs arrive."""

from __future__ import annotations

import json as json_lines
import signal
import sys
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any

from meshwright.cli.options import Job, start
from meshwright.errors import InputError
from meshwright.runtime import interrupts

if TYPE_CHECKING:
    from meshwright.storage import Manifest

OWN = ("sources", "format", "since", "max_rejected", "follow", "interval", "once")
DEFAULTS = {"header": True, "max_line": 2**20}  # of options that --follow does not have
MOST_NAMES = 3


def follow_logs(job: Job) -> None:
    """Keep the workload of a job current, until a signal comes or, with --once, at once."""
    from meshwright.runtime.progress import Progress
    from meshwright.workload import following as stage

    given = job.options()
    for name, value in given.items():
        if name not in OWN and value != DEFAULTS.get(name) and value != []:
            option = name.replace("_", "-")
            raise InputError(f"--{option} does not go with --follow; leave it out.")
    sources = given.get("sources", [])
    if len(sources) != 1:
        raise InputError(f"--follow reads one directory of logs; {len(sources)} sources are given.")
    interval = given.get("interval", stage.INTERVAL)
    settings = stage.check_request(sources[0], given.get("format"), given.get("since"), interval)
    stage.Follower(settings, job.out, force=job.force).close()  # complain before Spark starts
    say_passed_over(stage.passed_over(settings), stage.ADVICE[settings.format])
    interrupts.raise_on(signal.SIGTERM)
    spark, _ = start(job.master, stage.N_STEPS)
    until = "" if given["once"] else f" every {interval:g} s; Ctrl-C ends it"
    print(f"following '{sources[0]}'{until}", file=sys.stderr, flush=True)
    try:
        stage.follow(
            spark,
            settings,
            job.out,
            interval=interval,
            once=given["once"],
            force=job.force,
            max_rejected=given["max_rejected"],
            on_version=partial(print_version, json=job.json),
            on_nothing=lambda why: say(f"no new version: {why}"),
            new_progress=partial(Progress, stage.N_STEPS),
        )
    except (KeyboardInterrupt, SystemExit):
        print(f"stopped; '{job.out}' is complete. Run it again to go on.", file=sys.stderr)


def print_version(manifest: Manifest, *, json: bool) -> None:
    """Print one line about a version of the workload."""
    followed: dict[str, Any] = manifest["followed"]
    if json:
        print(json_lines.dumps(manifest.as_dict(), ensure_ascii=False), flush=True)
        return
    counts = {
        "file": followed["n_files"],
        "node": manifest["n_nodes"],
        "subscription": manifest["n_subscriptions"],
        "publication": manifest["n_publications"],
    }
    shown = ", ".join(f"{n:,} {name}{'s' * (n != 1)}" for name, n in counts.items() if n)
    print(f"version {followed['generation']}: {shown}", flush=True)


def say(text: str) -> None:
    """Print a sentence on stderr, over several lines if it is long."""
    print(fill(text, 80, break_on_hyphens=False), file=sys.stderr, flush=True)


def say_passed_over(names: list[str], advice: str) -> None:
    """Say which files in the directory are not read, and which would be."""
    if names:
        listed = ", ".join(map(repr, names[:MOST_NAMES]))
        more = f" and {len(names) - MOST_NAMES:,} more" if names[MOST_NAMES:] else ""
        say(f"note: not read: {listed}{more}. Read are {advice}")
