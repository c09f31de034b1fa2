"""Small CSV files that people write: read whole, with all problems said at once."""

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from meshwright.errors import InputError


def raise_problems(what: str, wrong: Sequence[str], most: int | None = None) -> None:
    """Raise InputError with all problems, if there are any; `most`: list so many, count all."""
    if wrong:
        count = "a problem" if len(wrong) == 1 else f"{len(wrong):,} problems"
        shown = list(wrong[:most])
        if len(shown) < len(wrong):
            shown.append(f"and {len(wrong) - len(shown):,} more")
        raise InputError(f"{what}: {count}; nothing was written.\n  " + "\n  ".join(shown))


def read_rows(
    source: Path, required: Sequence[str], optional: Sequence[str]
) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a CSV file with their lines; columns not listed are an error."""
    try:
        with source.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey="", strict=True)
            columns = list(reader.fieldnames or [])
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"'{source}' cannot be read as CSV: {error}. Check the path.") from error
    names = (*required, *optional)
    if set(required) - set(columns) or set(columns) - set(names) or repeated(columns):
        raise InputError(
            f"'{source}' has the columns {', '.join(columns) or '(none)'}; needed are "
            f"{', '.join(required)}, each once"
            + (f", allowed {', '.join(optional)}." if optional else ".")
        )
    wide = [f"line {line} has more cells than the header" for line, row in rows if "" in row]
    raise_problems(f"'{source}' cannot be used", wide)
    return [(line, {name: row.get(name) or "" for name in names}) for line, row in rows]


def repeated(values: Iterable[str]) -> list[tuple[str, int]]:
    """Return the values that occur more than once, each with how often."""
    return [(value, n) for value, n in Counter(values).items() if n > 1]
