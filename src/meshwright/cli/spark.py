"""``meshwright spark``: what makes the start of Spark short, and what of it is kept."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import run
from typing import Any

from typer import Option

from meshwright.cli import add_group, app, show
from meshwright.cli.options import Json

LOWEST_PRIORITY = 19
CONNECT_SETTINGS = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
}
spark = add_group("spark", "Show and manage what makes Spark start quickly.")


@spark.command()
def prepare(
    quiet: bool = Option(False, "--quiet", help="In the background: print nothing, take turns."),
    json: Json = False,
) -> None:
    """Make the archive of Spark's classes.

    The first command that uses Spark does this by itself, in the background, when it has ended.
    """
    from meshwright.runtime import class_archive
    from meshwright.runtime.jvm import end_jvm
    from meshwright.runtime.progress import Progress

    if quiet:
        os.nice(LOWEST_PRIORITY)
    progress = Progress(2, quiet_seconds=0.0 if not quiet else 7 * 86_400)
    with class_archive.recording() as record:
        with progress.step("running small jobs"):
            run_small_jobs()
        with progress.step("writing the archive"):
            record.class_path = end_jvm()
    if not quiet:
        print_archive(class_archive.describe(), json=json)


@spark.command()
def status(json: Json = False) -> None:
    """Show what is kept, where, its size, and the servers that run."""
    from meshwright.runtime import class_archive, server_place, warm

    archive, servers = class_archive.describe(), warm.describe()
    why_not = server_place.why_off() or server_place.why_failed(server_place.server_directory())
    if json:
        show.print_json({"archive": archive, "servers": servers, "no_server": why_not})
        return
    print_archive(archive, json=False)
    for server in servers:
        left = server.get("ends_after_seconds", 0) - server.get("idle_seconds", 0)
        facts = {
            "process": f"{server['pid']}, {server['state']}",
            "fits": "this user, version and environment" if server["fits"] else "others than these",
            "used by": server["commands"],
            "ends": f"in {show.duration(left)}"
            if not server["commands"]
            else "when nobody uses it",
        }
        show.print_facts("warm server", facts)
    if not any(server["fits"] for server in servers):
        reason = why_not or "none runs; the next small job on Spark starts one"
        show.print_facts("warm server", {"state": reason})


@spark.command()
def stop() -> None:
    """Stop the warm servers of this user."""
    from meshwright.runtime import warm

    n_stopped = warm.stop_all()
    print(f"stopped {n_stopped} server{'' if n_stopped == 1 else 's'}" if n_stopped else "none ran")


def print_archive(archive: dict[str, Any], *, json: bool) -> None:
    """Print where the archive is and its size, or why there is none."""
    if json:
        show.print_json({"archive": archive})
        return
    size = show.size(archive["bytes"]) if archive["bytes"] else archive["why_not"]
    show.print_facts("archive of Spark's classes", {"path": archive["path"], "size": size})


def run_small_jobs() -> None:
    """Run verbs on the bundled example, so that the JVM loads the classes that verbs use.

    First in this process, then in others over Spark Connect, as the verbs on the warm server do.
    """
    from meshwright.cli.demo import find_example
    from meshwright.runtime.jvm import connect_port
    from meshwright.runtime.server_place import server_environment
    from meshwright.runtime.session import spark_session

    token = os.environ["SPARK_CONNECT_AUTHENTICATE_TOKEN"] = secrets.token_hex(32)
    spark_session(n_rows=1, settings=CONNECT_SETTINGS)
    remote = {"SPARK_REMOTE": f"sc://localhost:{connect_port()}/;token={token}"}
    with (
        tempfile.TemporaryDirectory(prefix="meshwright-prepare-") as scratch,
        Path(os.devnull).open("w") as nothing,
        redirect_stdout(nothing),
        redirect_stderr(nothing),
    ):
        workload = str(Path(scratch) / "workload")
        verbs = ["ingest", str(find_example()), "-o", workload, "--force"], ["stats", workload]
        for words in verbs:
            app(words, standalone_mode=False)
        for words in verbs:
            command = [sys.executable, "-P", "-m", "meshwright", *words]
            environment = {**server_environment(), **remote}
            run(command, stdout=nothing, stderr=nothing, env=environment, check=True)
