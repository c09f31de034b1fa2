"""How results look on a terminal of 80 columns."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

from meshwright.errors import CheckError

MOST_TOPICS = 10
MOST_FINDINGS = 20  # printed; --json lists all


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def print_result(path: Path, result: Any, show: Callable[[Path, Any], None], *, json: bool) -> None:
    """Print the result that is at `path`, or is about it, as JSON or with `show`."""
    if json:
        print_json(result.as_dict() if hasattr(result, "as_dict") else asdict(result))
    else:
        show(path, result)


def raise_findings(claim: str, findings: Sequence[str]) -> None:
    """Raise CheckError if a check found anything wrong."""
    if not findings:
        return
    n_more = len(findings) - MOST_FINDINGS
    listed = [*findings[:MOST_FINDINGS], *([f"and {n_more:,} more"] if n_more > 0 else [])]
    raise CheckError(f"{claim}:\n  " + "\n  ".join(listed), tuple(findings))


def warn_of_topics(workload: Path) -> None:
    """Print a warning, one line, if a workload has topics that a bridge cannot hold as they are."""
    from meshwright.patterns.bridgeable import hard_topics

    found = hard_topics(workload)
    if found:
        count = "a topic" if len(found) == 1 else f"{len(found):,} topics"
        listed = ", ".join(map(repr, found[:MOST_TOPICS])) + (", ..." * (len(found) > MOST_TOPICS))
        print(
            f"warning: Mosquitto's bridges cannot hold {count} as written, and `deploy` "
            f"writes + for a space or refuses: {listed}",
            file=sys.stderr,
        )


def print_sentence(text: str) -> None:
    """Print a sentence, over several lines if it is long; names stay whole."""
    print(fill(text, 80, break_long_words=False, break_on_hyphens=False))


def print_facts(title: str | None, facts: Mapping[str, object]) -> None:
    """Print named facts below a title, if there is one; one per line, aligned."""
    if title is not None:
        print(title)
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"  {name:<{width}}  {number(value)}")


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, first_whole: bool = False
) -> None:
    """Print rows under their columns: text to the left, numbers to the right.

    Text that is too long continues on the next line, but not that of the first column with
    `first_whole`: names to copy.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    listed = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
    for i, column in enumerate(columns):
        numeric = all(isinstance(row[i], int | float) or row[i] is None for row in listed)
        whole = first_whole and i == 0
        justify: Literal["left", "right"] = "right" if numeric else "left"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=whole)
    for row in listed:
        # Text, not markup: names are the user's.
        table.add_row(*[Text(number(cell) if cell is not None else "-") for cell in row])
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=max(80, console.width))
    console.print(table)


def printable(text: str) -> str:
    """Return text without control sequences, which a terminal would obey."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def number(value: object) -> str:
    """Return a number as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def size(n_bytes: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} TB"


def duration(seconds: float) -> str:
    """Return a time span as people read it."""
    if seconds < 1:
        return "under a second"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:,.0f} hours"


def bar(share: float, width: int = 24) -> str:
    """Return a bar of a share of 1."""
    eighths = round(share * width * 8)
    full, part = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[part] if part else "")


def span(low: float, high: float) -> str:
    """Return a range, or a single number if its ends are equal."""
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def with_parameters(method: str, parameters: Mapping[str, object]) -> str:
    """Return a method with the parameters it was given, in words."""
    shown = {name: value for name, value in parameters.items() if not name.endswith("_without")}
    given = [f"{name} {value}" for name, value in shown.items() if value is not None]
    return f"{method} ({', '.join(given)})" if given else method
