"""Options that several verbs share, and the start of Spark."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Argument, Option

from meshwright.cli.show import print_result
from meshwright.runtime import interrupts
from meshwright.runtime.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from meshwright.storage import Manifest

WorkloadPath = Annotated[Path, Argument(help="A workload dataset.")]
OverlayPath = Annotated[Path, Argument(help="An overlay dataset.")]
Out = Annotated[Path, Option("--out", "-o", metavar="DIR", help="The dataset to write.")]
DemoOut = Annotated[Path, Option("--out", "-o", metavar="DIR", help="Where to put its files.")]
Force = Annotated[bool, Option("--force", help="Replace the output if it exists.")]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Seed = Annotated[int, Option(help="The seed; equal seeds give equal results.")]
MaxLine = Annotated[
    int, Option(min=2**10, max=2**30, metavar="BYTES", help="The longest line of text to read.")
]

Workload = Annotated[
    Path | None, Option(metavar="DIR", help="Where the workload is, if it was moved.")
]
Problem = Annotated[
    Path | None, Option(metavar="DIR", help="Where the problem is, if it was moved.")
]
MASTER_HELP = "Spark master, or sc://host for Spark Connect. [default: this machine]"
Master = Annotated[str | None, Option(envvar="SPARK_MASTER", metavar="URL", help=MASTER_HELP)]

T = TypeVar("T")
STARTING_QUIET = 0.5  # seconds before a command says that Spark starts


@dataclass(frozen=True)
class Job:
    """A dataset to make. All fields but `own` are options of every verb that makes one."""

    own: dict[str, Any]  # the verb's further arguments and options
    out: Out
    master: Master = None
    force: Force = False
    json: Json = False

    def options(self, *without: str) -> dict[str, Any]:
        """Return the verb's own options that are set, for the library function of these names."""
        found = self.own.items()
        return {name: value for name, value in found if value is not None and name not in without}

    def on_spark(
        self, stage: Callable[..., Any], n_steps: int, *, n_rows: int | None = None, **options: Any
    ) -> Any:
        """Start Spark, and return the result of a library function that writes the dataset.

        `n_rows` is about how many rows Spark will read, if that is known.
        """
        work = partial(stage, out=self.out, **options, force=self.force)
        return run_on_spark(work, self.master, n_steps, n_rows)

    def print(self, manifest: Manifest, show: Callable[[Path, Any], None]) -> None:
        """Print the manifest of the dataset as JSON or with `show`."""
        print_result(self.out, manifest, show, json=self.json)


def makes_dataset(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options of a `Job`, which it takes first; an existing dataset is refused."""

    @wraps(verb)
    def command(out: Path, master: str | None, force: bool, json: bool, **own: Any) -> None:
        from meshwright.storage import refuse_overwrite

        if not own.get("follow"):  # which goes on with its own output
            refuse_overwrite(out.absolute(), force=force)
        verb(Job(own, out, master, force, json), **own)

    _, out, *others = signature(Job, eval_str=True).parameters.values()
    _, *own = signature(verb, eval_str=True).parameters.values()
    listed = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in (out, *own, *others)]
    command.__signature__ = Signature(listed)  # type: ignore[attr-defined]
    return command


def run_on_spark(
    work: Callable[..., T], master: str | None, n_steps: int, n_rows: int | None = None
) -> T:
    """Start Spark and return ``work(spark, progress=...)``; `n_rows` as in `Job.on_spark`.

    Few rows go to the warm server. If that fails, the work is done again without it: until it is
    complete nothing of it can be seen.
    """
    from meshwright.runtime import warm

    if warm.fits(master, n_rows):
        try:
            with _starting():
                spark = warm.warm_session()
            if spark is not None:
                return work(spark, progress=Progress(n_steps))
        except warm.UnusableError as error:
            _say_unusable(str(error))
        except Exception as error:
            reason = warm.leave_after(error)
            if reason is None:
                raise
            _say_unusable(reason)
        finally:
            _prepare_at_exit()
    spark, progress = start(master, n_steps, n_rows)
    return work(spark, progress=progress)


def start(
    master: str | None, n_steps: int, n_rows: int | None = None
) -> tuple[SparkSession, Progress]:
    """Start Spark; return its session and the progress of a command of `n_steps` steps."""
    with _starting():
        from meshwright.runtime.session import share_of_tasks, spark_session

        spark = spark_session(master, n_rows=n_rows)
    _prepare_at_exit()
    return spark, Progress(n_steps, lambda: share_of_tasks(spark))


def _starting() -> AbstractContextManager[None]:
    return Progress(1, quiet_seconds=STARTING_QUIET).step("starting Spark")


def _say_unusable(reason: str) -> None:
    print(
        f"note: the warm Spark server cannot be used ({reason}); this command starts Spark itself",
        file=sys.stderr,
    )


def _prepare_at_exit() -> None:
    atexit.unregister(prepare_in_background)  # once, however many verbs this process runs
    atexit.register(prepare_in_background)


def prepare_in_background() -> None:
    """Make the archive of Spark's classes for the next commands, unless it is there or not wanted.

    The process outlives this one, at the lowest priority; `spark prepare` says what it does.
    """
    from meshwright.runtime import class_archive

    if "CI" in os.environ or interrupts.came() or not class_archive.is_missing():
        return
    with suppress(OSError):  # this command does not need it
        Popen(
            [sys.executable, "-m", "meshwright", "spark", "prepare", "--quiet"],
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,
            cwd=Path.home(),
        )
