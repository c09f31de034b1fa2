"""What all tests share: one Spark session, small and quiet, and the rule that CI skips nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MESHWRIGHT_MEMORY", "1g")

settings.register_profile(
    "meshwright", deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile("meshwright")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def spark():
    from meshwright.spark.session import spark_session

    # local[2] and two partitions: what is tested is the answer, not the machine. Compiling each
    # small query takes longer than running it; the cluster's and the command line's tests do.
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
    """Turn skips into failures where MESHWRIGHT_NO_SKIP is set, as CI does."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("MESHWRIGHT_NO_SKIP"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {report.longrepr}"
