"""The command line: each verb's file parses, calls one library function and prints.

Nothing heavy is imported here: ``--help`` starts no JVM and compiles nothing.
"""

from __future__ import annotations

import os
import sys

import typer

from meshwright.errors import MeshwrightError, SparkError

app = typer.Typer(
    name="meshwright",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def version(show: bool) -> None:
    """Print the version and stop."""
    if show:
        from meshwright import __version__

        typer.echo(f"meshwright {__version__}")
        raise typer.Exit


@app.callback(help="Plan the network of a publish/subscribe system: link, route, attach, deploy.")
def root(
    _version: bool = typer.Option(
        False, "--version", callback=version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    """Take the options that stand before a verb."""


def load_verbs() -> None:
    """Register every verb, in the order of the data flow."""
    from meshwright.cli import (
        assign,
        check,
        demo,
        deploy,
        design,
        export,
        generate,
        ingest,
        lab,
        report,
        reproduce,
        sample,
        simulate,
        stats,
    )

    for module in (
        demo,
        ingest,
        generate,
        sample,
        stats,
        design,
        check,
        export,
        simulate,
        assign,
        report,
        deploy,
        lab,
        reproduce,
    ):
        module.register(app)


def main() -> None:
    """Run the command line and end with the exit code of the outcome."""
    load_verbs()
    try:
        app(prog_name="meshwright")
    except MeshwrightError as error:
        fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        fail("interrupted; nothing half-written was left behind.", 130)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): nothing more to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        from meshwright.spark.session import spark_log

        text = str(error).strip().splitlines()
        wrapped = SparkError(text[0] if text else type(error).__name__, log=str(spark_log()))
        fail(f"Spark failed: {wrapped}\nIts log: {wrapped.log}", wrapped.exit_code)


def fail(message: str, code: int) -> None:
    """Print an error on stderr and end."""
    print(f"error: {message}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
