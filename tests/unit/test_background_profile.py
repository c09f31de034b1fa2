"""The profile that is counted in the background of a design: summed up, awaited, stopped."""

import time
from threading import Event

import numpy as np

from meshwright.overlay.bounds.counting import Profile
from meshwright.overlay.greedy.spark_scans import BackgroundProfile

LONGEST = 30.0  # seconds
ONE = Profile(np.array([0, 1]), 1, 1, 1)


def test_the_parts_are_summed_up_and_know_when_the_sum_is_awaited():
    begun, heard = Event(), []

    def parts(awaited):
        heard.append(awaited())
        begun.set()
        yield ONE
        deadline = time.monotonic() + LONGEST
        while not awaited() and time.monotonic() < deadline:  # until `result` is called
            time.sleep(0.001)
        heard.append(awaited())
        yield ONE

    background = BackgroundProfile(parts)
    assert begun.wait(LONGEST)
    found = background.result()
    assert heard == [False, True]
    assert (found.histogram.tolist(), found.best_sum, found.needed_max) == ([0, 2], 2, 1)


def test_no_part_starts_after_a_stop():
    begun, go_on, counted = Event(), Event(), []

    def parts(awaited):
        del awaited
        for number in range(3):
            counted.append(number)
            begun.set()
            go_on.wait(LONGEST)
            yield ONE

    background = BackgroundProfile(parts)
    assert begun.wait(LONGEST)
    background.stop()
    go_on.set()
    background.result()
    assert counted == [0]
