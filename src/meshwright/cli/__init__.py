"""The command line: each verb's file parses, calls one library function and prints.

Nothing heavy is imported here: ``--help`` starts no JVM and compiles nothing.
"""

import importlib
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

DATA_FLOW = (
    *("demo", "ingest", "generate", "sample", "stats", "design", "frontier", "check", "export"),
    *("simulate", "assign", "report", "deploy", "watch", "lab", "mesh", "reproduce", "spark"),
)
FILES = (
    *("check", "content", "demo", "deploy", "design", "frontier", "lab", "mesh"),
    *("mesh_members", "reproduce", "simulate", "spark", "watch", "workload"),
)


class StoppedError(Exception):
    """Wraps the error that stopped a verb, its cause, so that Typer does not handle it."""


@contextmanager
def past_typer() -> Iterator[None]:
    """Hide errors from Typer, which would exit with 1 or 130 and without our message."""
    try:
        yield
    except (OSError, EOFError, KeyboardInterrupt) as error:
        raise StoppedError from error


class Verbs(TyperGroup):
    """All verbs; help lists them in the order of the data flow."""

    def list_commands(self, _context: object) -> list[str]:
        """Return the names of the verbs."""
        return sorted(self.commands, key=DATA_FLOW.index)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the command line."""
        with past_typer():
            return super().make_context(*arguments, **options)

    def invoke(self, context: Any) -> None:
        """Run a verb."""
        with past_typer():
            super().invoke(context)
            sys.stdout.flush()  # here a reader that has gone can still be noticed


app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def add_group(name: str, summary: str) -> typer.Typer:
    """Add a verb that has verbs of its own, and return it."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(group, name=name, help=summary)
    return group


def command_name() -> str:
    """Return the words that start this program: the launcher of a clone sets how it was called."""
    return os.environ.get("MESHWRIGHT_COMMAND", "meshwright")


def version(asked: bool) -> None:
    """Print the version and stop, if it is asked for."""
    if asked:
        from meshwright import __version__

        typer.echo(f"meshwright {__version__}")
        raise typer.Exit


@app.callback()
def root(
    _version: bool = typer.Option(
        False, "--version", callback=version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    """Plan the network of a publish/subscribe system: link, route, attach, deploy."""


def load_verbs() -> None:
    """Import the files of all verbs; each adds its verbs to `app`."""
    for name in FILES:
        importlib.import_module(f"meshwright.cli.{name}")


def main() -> None:
    """Run the command line and end with the exit code of the outcome."""
    try:
        from meshwright.errors import refuse_other_encoding

        for word in sys.argv[1:]:
            refuse_other_encoding(word)
        load_verbs()
        app(prog_name=command_name())
    except Exception as error:
        from meshwright.cli.ending import end

        end(error)


def run_verb(*words: object, silent: tuple[str, ...] = ()) -> None:
    """Print a command and run it; `silent` words are passed to it and not printed."""
    shown = [str(word) for word in words]
    print(f"\n$ {command_name()} {shlex.join(shown)}")
    app([*shown, *silent], prog_name=command_name(), standalone_mode=False)
