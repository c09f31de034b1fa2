"""What compiling takes is no part of what a computation takes, and progress says so."""

from __future__ import annotations

import io
import time

import numba
import pytest
from numba import njit

from meshwright.kernels import compiling
from meshwright.kernels.compiling import Stopwatch
from meshwright.spark.progress import COMPILING, Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def test_a_stopwatch_leaves_out_compiling_and_counts_the_rest(clock):
    watch = Stopwatch()
    clock[0] = 2.0
    compiling._watch.begin()
    clock[0] = 10.0
    compiling._watch.begin()  # a kernel called by the first
    clock[0] = 15.0
    compiling._watch.end()
    clock[0] = 20.0
    compiling._watch.end()
    clock[0] = 23.0
    assert watch.seconds == 5.0
    assert Stopwatch().seconds == 0.0


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled with the compiler off")
def test_numba_tells_when_it_compiles():
    seen = []

    @numba.extending.overload(len_of_nothing)
    def typed():
        seen.append(compiling.compiling())
        return lambda: 7

    @njit
    def first():
        return len_of_nothing()

    before = compiling._watch.seconds
    watch = Stopwatch()
    assert first() == 7
    assert seen
    assert all(seen)
    assert not compiling.compiling()
    assert compiling._watch.seconds > before
    assert watch.seconds >= 0.0


def len_of_nothing() -> int:
    """Stand for a function that is compiled in its own way."""
    raise AssertionError("only compiled code calls it")


def test_progress_says_that_one_waits_for_the_compiler():
    progress = Progress(1, stream=io.StringIO())
    progress.tell(0.5, "somewhere")
    assert progress._line("designing gm", 3.0).endswith(": somewhere")
    compiling._watch.begin()
    try:
        assert progress._line("designing gm", 3.0).endswith(f": {COMPILING}")
    finally:
        compiling._watch.end()
