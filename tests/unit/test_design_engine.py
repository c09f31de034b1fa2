"""Which engine a design runs on, and what is refused before anything is allocated."""

import numpy as np
import pytest

from meshwright.errors import InfeasibleError, InputError
from meshwright.model.instance import Instance
from meshwright.overlay.forecast import check_fits_on_spark, choose_engine, workload_forecast
from meshwright.overlay.greedy.level_order import describe
from meshwright.runtime import engines
from meshwright.runtime.engines import DRIVER_LIMIT
from meshwright.runtime.threads import cut
from meshwright.workload.forecast import Forecast
from tests.datasets import write_instance

GB = 10**9
SMALL = Forecast(incidences=1000, memory_bytes=GB, seconds=1.0)
LARGE = Forecast(incidences=1000, memory_bytes=9 * GB, seconds=1.0)
SLOW = Forecast(incidences=1000, memory_bytes=GB, seconds=4000.0)


@pytest.fixture
def memory(monkeypatch):
    """Set the memory of this machine."""

    def set_memory(n_bytes):
        monkeypatch.setattr(engines, "machine_memory", lambda: n_bytes)

    set_memory(100 * GB)
    return set_memory


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    ("engine", "method", "expected", "chosen"),
    [
        ("auto", "gm", SMALL, "driver"),
        ("auto", "gm", LARGE, "spark"),
        ("auto", "gpm", SLOW, "spark"),
        ("auto", "cd", LARGE, "driver"),  # it has no other engine
        ("driver", "gm", SLOW, "driver"),
        ("spark", "minmax", SMALL, "spark"),
    ],
)
def test_spark_is_chosen_for_large_and_slow_designs(engine, method, expected, chosen):
    assert choose_engine(engine, method, expected, 3600.0) == chosen


@pytest.mark.parametrize("n_bytes", [2 * GB, 8 * GB, 24 * GB, 4000 * GB])
def test_the_choice_does_not_depend_on_this_machine(memory, n_bytes):
    memory(n_bytes)
    assert choose_engine("auto", "gm", SMALL, 3600.0) == "driver"
    assert choose_engine("auto", "gm", LARGE, 3600.0) == "spark"
    for needed in (0, DRIVER_LIMIT, DRIVER_LIMIT + 1):
        chosen = engines.choose_engine("auto", "slp", ["slp"], memory=needed)
        assert chosen == ("spark" if needed > DRIVER_LIMIT else "driver")


def test_a_machine_too_small_for_the_driver_is_refused_and_the_choice_named(memory):
    memory(GB)
    numbers = r"needs about 1\.0 GB and this machine has 1\.0 GB\. "
    with pytest.raises(InfeasibleError, match=numbers + "Choose --engine spark, use a larger"):
        choose_engine("auto", "gm", SMALL, 3600.0)
    with pytest.raises(InfeasibleError, match=numbers + "Use a larger machine, or .* sample"):
        choose_engine("driver", "cd", SMALL, 3600.0)
    assert choose_engine("spark", "gm", SMALL, 3600.0) == "spark"


def test_engines_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="low does not run on Spark; gm, minmax, gpa, gpm do"):
        choose_engine("spark", "low", SMALL, 3600.0)
    with pytest.raises(InputError, match="unknown engine 'sparc'; did you mean 'spark'"):
        choose_engine("sparc", "gm", SMALL, 3600.0)


def test_a_driver_too_small_for_a_design_on_spark_is_refused(memory):
    workload = {"n_nodes": 10**6, "n_subscriptions": 10**8}
    memory(10 * GB)
    check_fits_on_spark(workload)
    memory(4 * GB)
    with pytest.raises(InfeasibleError, match=r"needs about 6\.3 GB and this machine has 4\.0 GB"):
        check_fits_on_spark(workload)


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
    assert describe(3, 1200, 45) == "gain 3, 1,200 rows to scan, 45 topics open"
    assert describe(2**31 - 1, 1200, 45) == "1,200 rows to scan, 45 topics open"
