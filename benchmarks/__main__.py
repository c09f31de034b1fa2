"""One registry of benchmarks: ``scripts/bench`` lists them, ``scripts/bench NAME`` runs one.

A benchmark is a module of this package whose name has no leading underscore, with a docstring,
whose first line is its description, and two functions: ``run(arguments)``, and ``smoke()``, which
runs its smallest instance and needs no data from outside. ``--smoke`` runs that one, of all
benchmarks if none is named; its results go to a directory that is removed afterwards.
"""

import ast
import importlib
import os
import pkgutil
import sys
import tempfile
from pathlib import Path

from benchmarks._instances import RESULTS_VARIABLE

HERE = Path(__file__).parent
USAGE = """\
usage: scripts/bench NAME [options]   run one benchmark
       scripts/bench NAME --smoke     run its smallest instance, in seconds
       scripts/bench --smoke          run the smallest instance of every benchmark
"""


def names() -> list[str]:
    """Return the names of all benchmarks."""
    modules = (module.name for module in pkgutil.iter_modules([str(HERE)]) if not module.ispkg)
    return sorted(name for name in modules if not name.startswith("_"))


def description(name: str) -> str:
    """Return the first line of a benchmark's docstring, without importing it."""
    text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8")))
    return (text or "").partition("\n")[0]


def smoke(name: str) -> None:
    """Run the smallest instance of a benchmark; nothing of it is kept."""
    print(f"== {name}", flush=True)
    with tempfile.TemporaryDirectory(prefix="meshwright-bench-") as scratch:
        os.environ[RESULTS_VARIABLE] = f"{scratch}/results"  # as in a fresh clone, it is missing
        try:
            importlib.import_module(f"benchmarks.{name}").smoke()
        finally:
            del os.environ[RESULTS_VARIABLE]


def main(arguments: list[str]) -> int:
    """List the benchmarks, or run the one that is named."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        width = max(map(len, names()))
        for name in names():
            print(f"  {name:<{width}}  {description(name)}")
        return 0
    if arguments == ["--smoke"]:
        for name in names():
            smoke(name)
        return 0
    name, *rest = arguments
    name = name.replace("-", "_")
    if name not in names():
        print(
            f"error: unknown benchmark {name!r}; choose from: {', '.join(names())}", file=sys.stderr
        )
        return 2
    if rest == ["--smoke"]:
        smoke(name)
    else:
        importlib.import_module(f"benchmarks.{name}").run(rest)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
