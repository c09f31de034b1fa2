"""What is counted beside a design: on all cores once it is waited for, and until stopped."""

from __future__ import annotations

from threading import Event

import numpy as np

from meshwright.overlay.bounds import Profile
from meshwright.overlay.levels.on_spark import Beside

ONE = Profile(np.array([0, 1]), 1, 1, 1)


def test_the_parts_are_summed_up_and_told_when_they_are_waited_for():
    begun, heard = Event(), []

    def parts(awaited):
        heard.append(awaited())
        begun.set()
        yield ONE
        while not awaited():  # ends only because `result` is called
            pass
        heard.append(awaited())
        yield ONE

    beside = Beside(parts)
    begun.wait()
    found = beside.result()
    assert heard == [False, True]
    assert (found.histogram.tolist(), found.best_sum, found.needed_max) == ([0, 2], 2, 1)


def test_no_part_is_begun_after_a_stop():
    begun, go_on, counted = Event(), Event(), []

    def parts(awaited):
        del awaited
        for number in range(3):
            counted.append(number)
            begun.set()
            go_on.wait()
            yield ONE

    beside = Beside(parts)
    begun.wait()
    beside.stop()
    go_on.set()
    beside.result()
    assert counted == [0]
