"""How kernels are compiled, how compiled code is kept on disk, and how long compiling takes.

Numba counts references to each array that a function takes out of a tuple, with atomic operations
that cost as much as the work of a short function: a third of the time of `gm` on 1,000 nodes. A
`kernel` is compiled without that. It works on the arrays it is given: it makes no arrays, copies no
slice to another, and returns numbers. A function that makes arrays is compiled as `maker`.

Compiled code is kept in one file for each function and signature, in `__pycache__` next to the
source or in the user's cache directory. Its name holds a hash of the source and of every module of
ours that the source imports, so code compiled from other sources is never loaded: Numba's own cache
watches one file, and its index loses entries when two processes write it. Importing a kernel reads
and writes no file. Numba is imported when the first kernel is.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import re
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

_IMPORT = re.compile(
    r"^\s*(?:from|import)\s+([\w.]+)(?:\s+import\s+(\([^)]*\)|[^\n]*))?", re.MULTILINE
)
_STARTED = time.time()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that makes no arrays, without reference counting."""
    return _compiled(function, makes_arrays=False)


def maker(function: Callable[..., Any]) -> Any:
    """Compile a function that may make arrays."""
    return _compiled(function, makes_arrays=True)


def compile_for(dispatcher: Any, *arguments: Any) -> None:
    """Compile a kernel for arguments like these without calling it, or load its code.

    For kernels that only some data need: compiled with the others, they never are a surprise later.
    """
    if hasattr(dispatcher, "compile"):  # not under NUMBA_DISABLE_JIT
        dispatcher.compile(tuple(map(import_module("numba").typeof, arguments)))


def _compiled(function: Callable[..., Any], *, makes_arrays: bool) -> Any:
    # `_nrt` is stated in both cases: a function would inherit it from its first caller.
    options = {"nogil": True, "_nrt": makes_arrays}
    dispatcher = import_module("numba").njit(**options)(function)
    if dispatcher is not function:  # NUMBA_DISABLE_JIT leaves the function as it is
        dispatcher._cache = _KernelCache(function, options)
    return dispatcher


class _KernelCache:
    """The compiled code of one function on disk, as Numba's dispatcher asks for it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, bool]) -> None:
        self._function = function
        self._options = options
        self._name = f"{function.__module__}.{function.__qualname__}"

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code compiled for a signature before, or None."""
        rebuild = import_module("numba.core.compiler").CompileResult._rebuild
        context.refresh()
        for directory in self._directories():
            with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
                content = (directory / self._file(signature, context.codegen())).read_bytes()
                return rebuild(context, *pickle.loads(content))
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep code that was just compiled, and remove what older sources left in the tree."""
        directories = self._directories()
        if not directories or result.library.has_dynamic_globals:
            return
        name = self._file(signature, result.codegen)
        content = import_module("numba.core.serialize").dumps(result._reduce())
        for directory in directories:
            with contextlib.suppress(OSError):
                directory.mkdir(parents=True, exist_ok=True)
                draft = directory / f".{name}.{os.getpid()}"
                draft.write_bytes(content)
                draft.replace(directory / name)
                if directory.name == "__pycache__":
                    self._remove_stale(directory)
                return
        watch.is_kept = False

    def _directories(self) -> list[Path]:
        """Return where the code may be kept, best first; none when it cannot be kept."""
        if self._function.__closure__ or _stamp(self._function.__module__) is None:
            return []
        return _directories(self._function.__code__.co_filename)

    def _file(self, signature: Any, codegen: Any) -> str:
        code, version = self._function.__code__.co_code, import_module("numba").__version__
        facts = (signature, codegen.magic_tuple(), code, self._options, version, sys.version)
        key = hashlib.sha256(repr(facts).encode()).hexdigest()
        return f"{self._name}-{_stamp(self._function.__module__)}-{key[:16]}.nbc"

    def _remove_stale(self, directory: Path) -> None:
        """Remove code of other sources; a process that wanted it compiles instead."""
        current = f"{self._name}-{_stamp(self._function.__module__)}-"
        for path in directory.glob(f"{self._name}-*.nbc"):
            if not path.name.startswith(current):
                path.unlink(missing_ok=True)


@functools.cache
def _directories(source: str) -> list[Path]:
    chosen = import_module("numba.core.config").CACHE_DIR  # from NUMBA_CACHE_DIR
    if chosen:
        return [Path(chosen)]
    dirs = import_module("numba.misc.appdirs").AppDirs(appname="meshwright", appauthor=False)
    user = Path(dirs.user_cache_dir)
    return [Path(source).parent / "__pycache__", user] if Path(source).is_file() else [user]


@functools.cache
def _stamp(module: str) -> str | None:
    """Return a hash of the sources of a module and of all modules of ours that it imports.

    None if a source cannot be read, or was changed after it may have been imported.
    """
    names = {module}
    while more := {name for known in names for name in _imported(known)} - names:
        names |= more
    sources = [(name, _source(name)) for name in sorted(names)]
    if any(source is None for _, source in sources):
        return None
    return hashlib.sha256(repr(sources).encode()).hexdigest()[:16]


@functools.cache
def _source(module: str) -> str | None:
    loaded = sys.modules[module]
    loader: Any = getattr(loaded.__spec__, "loader", None)
    if not hasattr(loader, "get_source"):
        return None
    with contextlib.suppress(OSError):  # a file in an archive has no time of its own
        if Path(str(loaded.__file__)).stat().st_mtime > _STARTED:
            return None
    return loader.get_source(module)


@functools.cache
def _imported(module: str) -> set[str]:
    """Return the modules of our packages that a module imports directly."""
    ours = ("meshwright", module.partition(".")[0])
    found = set()
    for base, names in _IMPORT.findall(_source(module) or ""):
        if base.partition(".")[0] in ours:
            found |= {base, *(f"{base}.{name}" for name in re.findall(r"\w+", names))}
    return (found & sys.modules.keys()) - {__name__}  # its options are part of a file's name


class _Watch:
    """Record when Numba compiles. Its compiler holds one lock, so calls never overlap."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.depth = 0  # a kernel that calls others has them compiled within its own turn
        self.is_kept = True  # whether compiled code could be written to disk so far
        self._since = 0.0

    def begin(self) -> None:
        if self.depth == 0:
            self._since = time.perf_counter()
        self.depth += 1

    def end(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self._since


watch = _Watch()


@functools.cache
def _start_watch() -> None:
    from numba.core.event import Listener, register

    class Compiling(Listener):
        def on_start(self, event: object) -> None:  # noqa: ARG002
            watch.begin()

        def on_end(self, event: object) -> None:  # noqa: ARG002
            watch.end()

    register("numba:compile", Compiling())  # type: ignore[no-untyped-call]


def compiling() -> str:
    """Return what to say while a kernel is compiled, else ""; known once a `Stopwatch` was made."""
    kept = "kept for later runs" if watch.is_kept else "not kept: no cache directory can be written"
    return f"compiling, {kept}" if watch.depth else ""


class Stopwatch:
    """Seconds by the clock since it was made, without the compiling of kernels."""

    def __init__(self) -> None:
        _start_watch()
        self._compiled = watch.seconds
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return time.perf_counter() - self._started - (watch.seconds - self._compiled)
