"""Which engine a design runs on, and what is refused before anything is allocated."""

from __future__ import annotations

import numpy as np
import pytest

from meshwright.errors import InfeasibleError, InputError
from meshwright.overlay.forecast import (
    choose_engine,
    refuse_what_cannot_fit_on_spark,
    workload_forecast,
)
from meshwright.overlay.levels.run import Standing
from meshwright.spark.parts import cut
from meshwright.values import Instance
from meshwright.workload.forecast import Forecast
from tests.datasets import write_instance

GB = 10**9
SMALL = Forecast(incidences=1000, memory_bytes=GB, seconds=1.0)
LARGE = Forecast(incidences=1000, memory_bytes=9 * GB, seconds=1.0)
SLOW = Forecast(incidences=1000, memory_bytes=GB, seconds=4000.0)


@pytest.mark.parametrize(
    ("engine", "method", "expected", "chosen"),
    [
        ("auto", "gm", SMALL, "driver"),
        ("auto", "gm", LARGE, "spark"),
        ("auto", "gpm", SLOW, "spark"),
        ("auto", "cd", LARGE, "driver"),  # which says that it does not fit
        ("driver", "gm", SLOW, "driver"),
        ("spark", "minmax", SMALL, "spark"),
    ],
)
def test_spark_is_taken_when_this_machine_is_not_enough(engine, method, expected, chosen):
    assert choose_engine(engine, method, expected, 10 * GB, 3600.0) == chosen


def test_engines_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="low does not run on Spark; gm, minmax, gpa, gpm do"):
        choose_engine("spark", "low", SMALL, GB, 3600.0)
    with pytest.raises(InputError, match="unknown engine 'sparc'; did you mean 'spark'"):
        choose_engine("sparc", "gm", SMALL, GB, 3600.0)


def test_a_driver_that_is_too_small_is_refused_with_the_numbers():
    workload = {"n_nodes": 10**6, "n_subscriptions": 10**8}
    refuse_what_cannot_fit_on_spark(workload, 10 * GB)
    with pytest.raises(InfeasibleError, match=r"needs about 6\.3 GB and this machine has 4\.0 GB"):
        refuse_what_cannot_fit_on_spark(workload, 4 * GB)


def test_the_forecast_of_a_workload_counts_the_pairs_of_each_topic(tmp_path):
    pairs = [(node, "all") for node in "abcd"] + [("a", "x"), ("b", "x"), ("c", "alone")]
    place = write_instance(Instance.from_pairs(pairs), tmp_path / "w")
    assert workload_forecast(place).incidences == 6 + 1


def test_parts_are_cut_by_cost():
    costs = np.array([5, 1, 1, 1, 9, 2, 2], dtype=np.int64)
    cuts = cut(costs, 6)
    assert cuts.tolist() == [0, 2, 5, 6, 7]  # of 6, 11, 2 and 2
    assert cut(costs[:0], 6).tolist() == [0]


def test_progress_says_level_rows_and_topics():
    assert str(Standing(0.5, 3, 1200, 45)) == "gain 3, 1,200 rows to scan, 45 topics open"
    assert str(Standing(0.5, 2**31 - 1, 1200, 45)) == "1,200 rows to scan, 45 topics open"
