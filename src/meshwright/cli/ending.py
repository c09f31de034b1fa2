"""How a command ends when it fails: one message on stderr, and an exit code.

====  ==========================================================
   0  done
   1  the answer fails its check, or there is none
   2  bad input
   3  Spark, a solver, a broker or Meshwright itself failed
 130  interrupted
====  ==========================================================
"""

import errno
import os
import sys
import tempfile
import traceback
from typing import NoReturn

from meshwright.cli import StoppedError, command_name
from meshwright.errors import InputError, MeshwrightError, SparkError, first_line, is_of_spark
from meshwright.runtime import interrupts
from meshwright.runtime.provenance import command_line, versions, without_secrets

UNEXPECTED = 3
MOST_SHOWN = 60  # characters of a name that is too long
REPORT = "Please report it, with that file, where you got Meshwright"


def end(error: BaseException) -> NoReturn:
    """End the command because of an error that got out of a verb."""
    if isinstance(error, StoppedError) and error.__cause__ is not None:
        error = error.__cause__
    # Libraries may turn an interrupt into another error, such as that of a half-imported module.
    if _interrupted(error) or interrupts.came():
        fail(interrupts.MESSAGE, interrupts.EXIT_CODE)
    if isinstance(error, MeshwrightError):
        fail(str(error), error.exit_code)
    if isinstance(error, BrokenPipeError):
        # The reader of our output has gone (`| head`): nobody reads a message.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        long = f"{str(error.filename)[:MOST_SHOWN]}..."
        fail(f"the name '{long}' is longer than names of files can be.", InputError.exit_code)
    if is_of_spark(error):
        from meshwright.runtime.session import spark_log

        fail(f"Spark failed: {first_line(error)}\nIts log: {spark_log()}", SparkError.exit_code)
    name = type(error).__name__
    cause = name if first_line(error) == name else f"{name}: {first_line(error)}"
    fail(f"Meshwright failed unexpectedly ({cause}). {_details(error)}", UNEXPECTED)


def fail(message: str, code: int) -> NoReturn:
    """Print an error on stderr and end; commands in it are shown as this one was started."""
    message = without_secrets(message).replace("`meshwright ", f"`{command_name()} ")
    # What a file holds must not reach the terminal as a control sequence.
    message = "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in message)
    print(f"error: {message}", file=sys.stderr)
    sys.exit(code)


def _details(error: BaseException) -> str:
    """Write the details of an error to a file, and return a sentence that says where they are."""
    facts = [command_line(), sys.platform, *(f"{name} {n}" for name, n in versions().items()), ""]
    text = "\n".join([*facts, *traceback.format_exception(error)])
    try:
        handle, path = tempfile.mkstemp(prefix="meshwright-error-", suffix=".txt", text=True)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(without_secrets(text))
    except OSError as reason:  # the disk is full, or we may not write there
        return f"The details cannot be written to a file: {reason}."
    return f"The details are in {path}. {REPORT}."


def _interrupted(error: BaseException | None) -> bool:
    """Return whether an error is an interrupt, or came while the command ended because of one."""
    return isinstance(error, KeyboardInterrupt) or (
        error is not None and _interrupted(error.__context__)
    )
