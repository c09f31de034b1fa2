"""Everything Meshwright raises on purpose.

::

    MeshwrightError
      InputError (ValueError)   a file, schema or argument is wrong
      InfeasibleError           no answer exists within the limits asked for
      CheckError                an answer fails its check (carries the findings)
      SolverError               the solver stopped without a usable answer (carries its status)
      SparkError                Spark failed or cannot start (carries the log's path)
      DeployError               a broker refused or is out of reach (carries the endpoint)

Each class knows the exit code the command line ends with.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar


class MeshwrightError(Exception):
    """Base of all errors raised on purpose: the message says what was wrong and what to do."""

    exit_code: ClassVar[int] = 3


class InputError(MeshwrightError, ValueError):
    """A file, schema or argument is wrong."""

    exit_code = 2


class InfeasibleError(MeshwrightError):
    """No answer exists within the limits asked for."""

    exit_code = 1


class CheckError(MeshwrightError):
    """An answer fails its check."""

    exit_code = 1

    def __init__(self, message: str, findings: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings


class SolverError(MeshwrightError):
    """The solver stopped without a usable answer."""

    def __init__(self, message: str, status: str = "") -> None:
        super().__init__(message)
        self.status = status


class SparkError(MeshwrightError):
    """Spark failed or cannot start."""

    def __init__(self, message: str, log: str | None = None) -> None:
        super().__init__(message)
        self.log = log


class DeployError(MeshwrightError):
    """A broker refused or is out of reach."""

    def __init__(self, message: str, endpoint: str = "") -> None:
        super().__init__(message)
        self.endpoint = endpoint


def unknown_choice(what: str, got: object, choices: Iterable[str]) -> InputError:
    """Return the error for a name that is not on the list; suggest a choice if it looks misspelt.

    Examples
    --------
    >>> str(unknown_choice("method", "minmix", ["gm", "minmax"]))
    "unknown method 'minmix'; did you mean 'minmax'? Choose from: gm, minmax"
    """
    names = list(choices)
    word = str(got).lower()
    near = min(names, key=lambda name: _n_edits(word, name), default="")
    # One wrong letter in a word of three, two in one of seven: 'cvs' is 'csv', 'svg' is not.
    is_close = _n_edits(word, near) <= (len(word) + 1) // 4
    hint = f"; did you mean {near!r}?" if is_close else "."
    return InputError(f"unknown {what} {got!r}{hint} Choose from: {', '.join(names)}")


def check_choice(what: str, got: object, choices: Iterable[object]) -> None:
    """Raise InputError unless a name is one of the choices; None, for not given, is accepted."""
    names = [str(choice) for choice in choices]
    if got is not None and str(got) not in names:
        raise unknown_choice(what, got, names)


def damaged(path: str | Path, why: str, remedy: str = "Make the dataset again") -> InputError:
    """Return the error for a file or dataset that is not as it was written."""
    return InputError(f"'{path}' is damaged: {why}. {remedy}.")


def first_line(error: BaseException) -> str:
    """Return the cause that an error of another library names, in a line."""
    lines = str(error).strip().splitlines()
    # Py4J puts the Java exception after a line of its own, which names no cause.
    causes = [line for line in lines if not line.startswith("An error occurred while calling")]
    return (causes or lines or [type(error).__name__])[0].removeprefix(": ")


def is_of_spark(error: BaseException) -> bool:
    """Return whether an error comes from Spark: as PySpark's own, or as a bare Java exception."""
    return type(error).__module__.startswith(("pyspark", "py4j"))


def refuse_other_encoding(word: str | Path) -> None:
    """Raise InputError if an argument or a path is not UTF-8: Spark and manifests hold text."""
    raw = os.fsencode(word)
    if (shown := raw.decode(errors="backslashreplace")) != raw.decode(errors="ignore"):
        raise InputError(f"'{shown}' is not valid UTF-8. Rename what it names.")


def _n_edits(a: str, b: str) -> int:
    """Return how many letters to insert, delete, replace or swap with the next turn a into b."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            fewest = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                fewest = min(fewest, rows[-2][j - 2] + 1)
            row.append(fewest)
        rows.append(row)
    return rows[-1][-1]
