"""One registry of benchmarks: ``scripts/bench`` lists them, ``scripts/bench NAME`` runs one.

A benchmark is a module of this package with a docstring, whose first line is its description, and
``run(arguments: list[str]) -> None``. Dropping a file here adds it to the list.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from pathlib import Path

HERE = Path(__file__).parent


def names() -> list[str]:
    """Return the names of all benchmarks."""
    found = (module.name for module in pkgutil.iter_modules([str(HERE)]))
    return sorted(name for name in found if not name.startswith("_"))


def description(name: str) -> str:
    """Return the first line of a benchmark's docstring, without importing it."""
    text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8")))
    return (text or "").partition("\n")[0]


def main(arguments: list[str]) -> int:
    """List the benchmarks, or run the one that is named."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: scripts/bench NAME [options]\n")
        width = max(map(len, names()), default=0)
        for name in names():
            print(f"  {name:<{width}}  {description(name)}")
        return 0
    name, *rest = arguments
    if name not in names():
        print(f"error: no benchmark {name!r}; choose from: {', '.join(names())}", file=sys.stderr)
        return 2
    importlib.import_module(f"benchmarks.{name}").run(rest)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
