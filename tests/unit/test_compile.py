"""What compiling takes is no part of what a computation takes, and progress says so."""

import io
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest
from numba import njit

from meshwright.runtime import compile as compilation
from meshwright.runtime.compile import Stopwatch
from meshwright.runtime.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def test_a_stopwatch_leaves_out_compiling_and_counts_the_rest(clock):
    watch = Stopwatch()
    clock[0] = 2.0
    compilation.watch.begin()
    clock[0] = 10.0
    compilation.watch.begin()  # a kernel called by the first
    clock[0] = 15.0
    compilation.watch.end()
    clock[0] = 20.0
    compilation.watch.end()
    clock[0] = 23.0
    assert watch.seconds == 5.0
    assert Stopwatch().seconds == 0.0


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled with the compiler off")
def test_numba_tells_when_it_compiles():
    seen = []

    @numba.extending.overload(len_of_nothing)
    def typed():
        seen.append(bool(compilation.compiling()))
        return lambda: 7

    @njit
    def first():
        return len_of_nothing()

    before = compilation.watch.seconds
    watch = Stopwatch()
    assert first() == 7
    assert seen
    assert all(seen)
    assert not compilation.compiling()
    assert compilation.watch.seconds > before
    assert watch.seconds >= 0.0


def len_of_nothing() -> int:
    """Stand for a function that is compiled in its own way."""
    raise AssertionError("only compiled code calls it")


def test_progress_says_that_one_waits_for_the_compiler():
    progress = Progress(1, stream=io.StringIO())
    progress.update(0.5, "somewhere")
    assert progress._line("designing gm", 3.0).endswith(": somewhere")
    compilation.watch.begin()
    try:
        assert progress._line("designing gm", 3.0).endswith(": compiling, kept for later runs")
    finally:
        compilation.watch.end()


CALL = """
import sys
from numba.core.event import Listener, register

compiled = []

class Seen(Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("pack"):
            compiled.append(function.__name__)

    def on_end(self, event):
        pass

register("numba:compile", Seen())
sys.path.insert(0, sys.argv[1])
from pack.kernels.outer import outer
before = sorted(map(str, __import__("pathlib").Path(sys.argv[1]).rglob("*.nbc")))
print(before == sorted(sys.argv[2:]), outer(3), sorted(compiled))
"""


@pytest.fixture
def pack(tmp_path):
    """A package of two kernels, one of which calls the other through a third module's constant."""
    kernels = tmp_path / "pack" / "kernels"
    kernels.mkdir(parents=True)
    for directory in (kernels.parent, kernels):
        (directory / "__init__.py").write_text("")
    (kernels.parent / "constants.py").write_text("STEP = 1\n")
    (kernels / "inner.py").write_text(
        "from meshwright.runtime.compile import kernel\n"
        "from pack.constants import STEP\n\n"
        "@kernel\ndef inner(x):\n    return x + STEP\n"
    )
    (kernels / "outer.py").write_text(
        "from meshwright.runtime.compile import kernel\n"
        "from pack.kernels import (\n    inner as deep,\n)\n"
        "add = deep.inner\n\n"
        "@kernel\ndef outer(x):\n    return 10 * add(x)\n"
    )
    for source in (tmp_path / "pack").rglob("*.py"):
        os.utime(source, (1, 1))
    return tmp_path


def start(pack: Path) -> subprocess.Popen[str]:
    kept = sorted(map(str, pack.rglob("*.nbc")))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}
    return subprocess.Popen(
        [sys.executable, "-c", CALL, str(pack), *kept],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def called(process: subprocess.Popen[str]) -> str:
    return process.communicate()[0].strip()


def test_a_second_process_compiles_nothing_and_importing_writes_nothing(pack):
    assert called(start(pack)) == "True 40 ['inner', 'outer']"
    assert called(start(pack)) == "True 40 []"


@pytest.mark.parametrize("deep", ["constants.py", "kernels/inner.py"])
def test_a_change_far_below_a_kernel_compiles_it_again(pack, deep):
    assert called(start(pack)) == "True 40 ['inner', 'outer']"
    source = pack / "pack" / deep
    before = source.read_text()
    source.write_text(before.replace("STEP = 1", "STEP = 2").replace("x + STEP", "x + 2 * STEP"))
    os.utime(source, (2, 2))
    assert called(start(pack)) == "True 50 ['inner', 'outer']"
    assert len(list(pack.rglob("*.nbc"))) == 2  # the stale ones are gone


def test_a_new_time_of_a_source_alone_compiles_nothing(pack):
    called(start(pack))
    for source in pack.rglob("*.py"):
        os.utime(source, (3, 3))
    assert called(start(pack)) == "True 40 []"


def test_processes_that_compile_at_once_all_get_the_right_code(pack):
    processes = [start(pack) for _ in range(3)]
    assert {called(process).split()[1] for process in processes} == {"40"}
    assert called(start(pack)) == "True 40 []"
    assert len(list(pack.rglob("*nbc*"))) == 2  # no draft is left


def test_code_that_cannot_be_kept_is_said_so(monkeypatch):
    monkeypatch.setattr(compilation.watch, "depth", 1)
    assert compilation.compiling() == "compiling, kept for later runs"
    monkeypatch.setattr(compilation.watch, "is_kept", False)
    assert compilation.compiling() == "compiling, not kept: no cache directory can be written"


DESIGN = """
import sys
import numpy as np
from numba.core.event import Listener, register
import meshwright as mw

compiled = []

class Seen(Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass

register("numba:compile", Seen())
n_nodes, n_topics, n_wanted = map(int, sys.argv[1:])
random = np.random.default_rng(1)
topics = [np.sort(random.choice(n_topics, n_wanted, replace=False)) for _ in range(n_nodes)]
indptr = n_wanted * np.arange(n_nodes + 1)
instance = mw.Instance.from_arrays(indptr, np.concatenate(topics), n_topics)
for method in ("gm", "cd", "sl"):
    overlay = mw.design(instance, method=method)
    mw.disconnected_topics(overlay), overlay.bounds
print(compiled)
"""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled with the compiler off")
def test_a_design_of_other_data_compiles_nothing_more():
    def compiled(*sizes: int) -> str:
        words = [sys.executable, "-c", DESIGN, *map(str, sizes)]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    compiled(12, 8, 2)
    assert compiled(1_500, 2_000, 5) == "[]\n"  # sparse: rows in batches, and a last level
    assert compiled(60, 20, 10) == "[]\n"  # dense: a table of all pairs


IMPORT_ALL = """
import importlib, sys

for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def test_importing_every_kernel_changes_no_file(tmp_path):
    # A copy, since other tests may be compiling at the same time.
    package = tmp_path / "meshwright"
    shutil.copytree(
        Path(compilation.__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__")
    )
    sources = sorted(package.rglob("kernels/*.py"))
    names = [".".join(source.relative_to(tmp_path).with_suffix("").parts) for source in sources]
    for source, name in zip(sources, names, strict=True):
        cache = source.parent / "__pycache__"
        cache.mkdir(exist_ok=True)
        for function in re.findall(r"^def (\w+)", source.read_text(encoding="utf-8"), re.MULTILINE):
            (cache / f"{name}.{function}-0-0.nbc").write_bytes(b"of an older version of the file")

    def kept() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in package.rglob("*.nb[ci]")}

    before = kept()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", IMPORT_ALL, *names], check=True, env=environment)
    assert kept() == before
    assert before


def test_one_decorator_compiles_all_kernels():
    package = Path(compilation.__file__).parents[1]
    by_themselves = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"\b(njit|jit|guvectorize|vectorize)\(|import.*\bnjit\b", path.read_text())
    ]
    assert by_themselves == ["runtime/compile.py"]
