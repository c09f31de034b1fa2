"""What holds for the package as a whole: who may import whom, what is public, what is heavy."""

import ast
import importlib
import importlib.util
import inspect
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import meshwright

PACKAGE = Path(meshwright.__file__).parent
# Below the stages: they may import each other in this order, and no stage at all.
GROUND = ("errors", "runtime", "storage", "model", "patterns")
STAGES = (
    "workload",
    "overlay",
    "smallworld",
    "content",
    "deploy",
    "mesh",
    "report",
    "verbs",
    "cli",
)
ENTRY = ("__init__", "__main__")  # the doors of the package: they lead everywhere
# What kernels import besides kernels: a change to any of it makes every machine compile them again.
SHARED_BY_KERNELS = {
    *("meshwright.errors", "meshwright.model.density", "meshwright.runtime.arrays"),
    *("meshwright.runtime.compile", "meshwright.runtime.threads"),
}
HEAVY = ("pyspark", "numba", "pandas", "scipy", "py4j", "highspy")


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(module: str) -> str:
    """Return the first name below the package: `meshwright.workload.tables` is `workload`."""
    return (module.split(".") + ["__init__"])[1]


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(text: str, module: str, *, is_package: bool) -> set[str]:
    """Return the modules of ours that a file imports anywhere, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                keep = len(parents) - node.level + is_package
                base = ".".join([*parents[:keep], *([node.module] if node.module else [])])
            found.add(base)
            if base == "meshwright":
                found |= {f"meshwright.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "meshwright"}


def refusal(importer: str, imported: str) -> str | None:
    """Return why one part may not import another, or None."""
    if imported == importer or importer in ENTRY or imported == "__init__":
        return None
    known = (*GROUND, *STAGES, *ENTRY)
    for part in (importer, imported):
        if part not in known:
            return f"{part} is no part of the layout; add it to STAGES or GROUND in its place"
    if imported in ENTRY:
        return f"{importer} must not import {imported}"
    order = (*GROUND, *STAGES)
    if order.index(imported) > order.index(importer):
        return f"{importer} comes before {imported} and must not import it"
    return None


def public_name(name: str) -> str:
    """Return the module behind `from meshwright import NAME`: a part, or a lazily loaded name."""
    return meshwright._HOME.get(name.removeprefix("meshwright."), name)


def test_no_stage_imports_a_later_one():
    wrong = []
    for path in sources():
        module = module_name(path)
        found = imports(path.read_text(), module, is_package=path.name == "__init__.py")
        for imported in sorted(found):
            target = public_name(imported)
            if target.endswith("__version__"):
                continue
            reason = refusal(part_of(module), part_of(target))
            if reason:
                wrong.append(f"{path.relative_to(PACKAGE)}: {reason}")
    assert wrong == []


def test_kernels_import_kernels_and_little_else():
    for path in sources():
        if path.parent.name == "kernels" and path.name != "__init__.py":
            found = imports(path.read_text(), module_name(path), is_package=False)
            others = {name for name in found if ".kernels" not in name}
            assert others <= SHARED_BY_KERNELS, path


def kernels_in_closures(text: str, names: dict[str, object]) -> set[str]:
    """Return the kernels among a file's global names that its functions inside functions use."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    inner = {f for outer in functions for f in ast.walk(outer) if f is not outer}
    used = {
        name.id
        for function in inner.intersection(functions)
        for name in ast.walk(function)
        if isinstance(name, ast.Name)
    }
    return {name for name in used if hasattr(names.get(name), "py_func")}


def test_functions_for_spark_tasks_reach_kernels_through_their_module():
    # A function inside a function is pickled with the globals that it names. A kernel among them
    # would be compiled again in the processes of the tasks, by every command.
    shipping = [path for path in sources() if "InArrow" in path.read_text()]
    assert len(shipping) > 10
    for path in shipping:
        names = vars(importlib.import_module(module_name(path)))
        assert kernels_in_closures(path.read_text(), names) == set(), path


def test_a_kernel_in_a_function_for_tasks_is_noticed():
    from meshwright.overlay.kernels.dependence import count_lost

    text = "def check():\n    def task(batches):\n        yield count_lost(batches)\n"
    assert kernels_in_closures(text, {"count_lost": count_lost}) == {"count_lost"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import meshwright.cli.show", {"meshwright.cli.show"}),
        ("from meshwright import cli", {"meshwright", "meshwright.cli"}),
        ("def f():\n    from meshwright.overlay import gm", {"meshwright.overlay"}),
        ("from ..overlay import gm", {"meshwright.overlay"}),
        ("from . import pairs", {"meshwright.workload"}),
        ("import numpy", set()),
    ],
)
def test_the_walk_sees_every_way_to_import(text, found):
    assert imports(text, "meshwright.workload.files", is_package=False) == found


def test_the_walk_refuses_what_it_should():
    assert refusal("workload", "overlay") == "workload comes before overlay and must not import it"
    assert refusal("model", "workload")
    assert refusal("overlay", "novelty")
    assert refusal("overlay", "__main__")
    assert refusal("cli", "workload") is None
    assert refusal("overlay", "storage") is None


def packages() -> list[str]:
    found = ["meshwright"]
    for module in pkgutil.walk_packages([str(PACKAGE)], "meshwright."):
        if module.ispkg:
            found.append(module.name)
    return found


@pytest.mark.parametrize("name", packages())
def test_all_lists_every_public_name_and_each_is_there(name):
    package = importlib.import_module(name)
    listed = getattr(package, "__all__", None)
    body = ast.parse(Path(inspect.getfile(package)).read_text()).body
    defined = [n.name for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    public = {entry for entry in defined if not entry.startswith("_")}
    if not defined:  # a door and nothing else: whatever it imports is for the public
        public = {
            alias.asname or alias.name
            for node in body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("meshwright")
            for alias in node.names
        }
    if listed is None:
        return  # a package without `__all__` re-exports nothing; its modules are the interface
    assert len(set(listed)) == len(listed)
    for entry in listed:
        assert getattr(package, entry) is not None
    assert public <= set(listed)


def test_the_package_lists_what_it_loads_lazily_and_nothing_else():
    assert sorted([*meshwright._HOME, "__version__"]) == sorted(meshwright.__all__)
    assert dir(meshwright) == sorted(meshwright.__all__)
    for name, home in meshwright._HOME.items():
        assert getattr(importlib.import_module(home), name) is getattr(meshwright, name)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'meshwright' has no attribute 'overlayy'"):
        meshwright.overlayy  # noqa: B018


def test_the_version_is_that_of_the_project():
    import tomllib

    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())["project"]
    assert project["version"] == meshwright.__version__


def command_lines() -> list[list[str]]:
    """Return the words of every command, groups included, as the parser knows them."""
    from meshwright import cli

    cli.load_verbs()
    found: list[list[str]] = []

    def walk(command, words: list[str]) -> None:
        found.append(words)
        for name, below in getattr(command, "commands", {}).items():
            walk(below, [*words, name])

    walk(typer.main.get_command(cli.app), [])
    return found


# Reads command lines as JSON and prints a report on the help of each. A fork for each command saves
# starting an interpreter; only the command line of the child imports ours.
HELP = """
import io, json, os, subprocess, sys
import typer

def report(words):
    sys.argv = ["meshwright", *words, "--help"]
    sys.stdout = text = io.StringIO()
    started, code = [], 0
    subprocess.Popen.__init__ = lambda self, *a, **k: started.append(a)
    from meshwright.cli import main
    try:
        main()
    except SystemExit as end:
        code = end.code
    loaded = sorted({name.split(".")[0] for name in sys.modules})
    return {"code": code, "text": text.getvalue(), "loaded": loaded, "started": len(started)}

for words in json.load(sys.stdin):
    reader, writer = os.pipe()
    if os.fork() == 0:
        with os.fdopen(writer, "w") as pipe:
            json.dump(report(words), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        print(pipe.read(), flush=True)
    os.wait()
"""


@pytest.fixture(scope="module")
def helps():
    """Return the report on the help of each command."""
    lines = command_lines()
    done = subprocess.run(
        [sys.executable, "-c", HELP],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    reports = map(json.loads, done.stdout.splitlines())
    return {tuple(words): report for words, report in zip(lines, reports, strict=True)}


@pytest.mark.parametrize("words", command_lines(), ids=lambda words: " ".join(words) or "(none)")
def test_help_loads_nothing_heavy_and_starts_no_process(helps, words):
    report = helps[tuple(words)]
    assert "Usage: meshwright" in report["text"]
    assert report["code"] in (0, None)
    assert [name for name in HEAVY if name in report["loaded"]] == []
    assert report["started"] == 0


def test_the_verbs_of_the_data_pipeline_are_there():
    verbs = {" ".join(words) for words in command_lines()}
    assert {"demo", "ingest", "generate zipf", "generate unif", "generate expo"} <= verbs
    assert {"sample", "stats"} <= verbs


@pytest.mark.parametrize("words", command_lines(), ids=lambda words: " ".join(words) or "(none)")
def test_every_option_and_argument_has_help(words):
    from meshwright import cli

    command = typer.main.get_command(cli.app)
    for word in words:
        command = command.commands[word]
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{' '.join(words)}: {parameter.name}"


def test_no_summary_is_cut_in_a_list_of_commands(monkeypatch, capsys):
    from meshwright import cli

    monkeypatch.setenv("COLUMNS", "80")
    command = typer.main.get_command(cli.app)
    groups = [words for words in command_lines() if words != ["ingest"]]
    for words in groups:
        with pytest.raises(SystemExit):
            command([*words, "--help"], prog_name="meshwright")
        _, found, listed = capsys.readouterr().out.partition("Commands:")
        assert bool(found) == (
            words in ([], ["generate"], ["deploy"], ["lab"], ["mesh"], ["spark"])
        )
        assert [line for line in listed.splitlines() if line.endswith("...")] == []


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, meshwright; print([m for m in sys.modules if m.split('.')[0] in sys.argv])"
    done = subprocess.run(
        [sys.executable, "-c", code, *HEAVY, "numpy", "pyarrow"],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert done.stdout.strip() == "[]"


def test_instances_from_pairs_and_arrays_and_datasets_need_no_spark():
    code = (
        "import sys, meshwright as mw\n"
        "mw.Instance.from_pairs([('a', 'x')]).digest\n"
        "mw.Instance.from_arrays([0, 1], [0]).digest\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('pyspark', 'py4j')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_readme_names_every_way_to_start():
    text = (PACKAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    for words in ("./meshwright demo", "./meshwright lab demo", "`pip install .`"):
        assert words in text


def test_no_source_file_reaches_400_lines():
    long = [
        f"{path.relative_to(PACKAGE)} ({len(path.read_text().splitlines())} lines)"
        for path in sources()
        if len(path.read_text().splitlines()) >= 400
    ]
    assert long == []
