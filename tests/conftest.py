"""Fixtures of all tests: one small Spark session, and the rule that CI skips nothing."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MESHWRIGHT_MEMORY", "1g")
os.environ.setdefault("MESHWRIGHT_CLASS_ARCHIVE", "off")  # scripts/test makes one and uses it
os.environ["MESHWRIGHT_SERVER"] = "off"  # so do those of the warm server

# Without the compiler the kernels are slow, and the draws are the first of the run with it.
N_DRAWS = 10 if os.environ.get("NUMBA_DISABLE_JIT") else 100
SHARED = settings(deadline=None, max_examples=N_DRAWS, suppress_health_check=list(HealthCheck))
settings.register_profile("meshwright", SHARED, derandomize=True)
# Fresh draws, by a seed of the command line: scripts/test --random, scripts/bench properties.
settings.register_profile("random", SHARED, derandomize=False, database=None, print_blob=True)
settings.load_profile("meshwright")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def spark():
    from meshwright.runtime.session import spark_session

    # local[2] and two partitions: the tests check results, not the machine. Compiling a small query
    # takes longer than running it; the tests of the cluster compile.
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    return spark_session("local[2]", settings=settings)


@pytest.fixture(autouse=True)
def _reset_spark_state(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "spark" in request.fixturenames:
        request.getfixturevalue("spark").catalog.clearCache()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Turn skips into failures if MESHWRIGHT_NO_SKIP is set, as CI does."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("MESHWRIGHT_NO_SKIP"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which MESHWRIGHT_NO_SKIP forbids: {report.longrepr}"
