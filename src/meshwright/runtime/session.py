"""The one place where a Spark session is made.

Local by default; ``--master`` or ``SPARK_MASTER`` for a cluster, ``SPARK_REMOTE`` (or an ``sc://``
master) for Spark Connect. The errors of Spark's JVM go to a log in the scratch directory instead
of the terminal; the log is kept if something fails. The JVM ends with this process (`jvm.py`).
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import InputError, SparkError, first_line
from meshwright.runtime import class_archive
from meshwright.runtime.java import require_java
from meshwright.runtime.jvm import own_jvm
from meshwright.runtime.machine import cpu_count, has_ended, machine_memory, process_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE = Path(__file__).parents[1]  # meshwright
MEMORY_VARIABLE = "MESHWRIGHT_MEMORY"
PARTITIONS = "spark.sql.shuffle.partitions"
JVM_OPTIONS = "spark.driver.extraJavaOptions"
GATHERING = 1.0  # seconds to wait for further executors after the first
SCRATCH_PREFIX = "meshwright-spark-"
SMALL_ROWS = 100_000  # up to that many rows, compiling a query takes longer than running it
QUICK_COMPILER = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
ONE_COLLECTOR = "-XX:+UseSerialGC"
JVM_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
SMALL_SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.files.minPartitionNum": "1",  # a task costs more than it reads
}


def spark_session(
    master: str | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    n_rows: int | None = None,
) -> SparkSession:
    """Return the active session, or start one; raise SparkError if Spark does not start.

    Without a master URL, ``SPARK_MASTER`` or all cores of this machine. `settings` override ours.
    `n_rows` is about how many rows will be read; on this machine a session for few of them starts
    sooner, and one for many, or for an unknown number, runs faster.
    """
    from pyspark.sql import SparkSession

    remote = master if master and master.startswith("sc://") else os.environ.get("SPARK_REMOTE")
    if remote and (master is None or master == remote):
        return _connect(remote)
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    master = master or os.environ.get("SPARK_MASTER") or "local[*]"
    local = master.startswith("local")
    if local:
        # Executors on this machine must run the interpreter that has our dependencies.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # The small JVM that puts Spark's command line together.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", f"{QUICK_COMPILER[0]} {ONE_COLLECTOR}")
    java = require_java()
    sweep_dead_scratch()
    scratch = new_scratch()
    small = local and n_rows is not None and n_rows <= SMALL_ROWS
    chosen = {**session_settings(scratch, local=local, small=small), **(settings or {})}
    archive = class_archive.jvm_options(java)
    own_jvm(scratch / "spark.log")
    try:
        session = _start(master, chosen, jvm_options(archive, small=small))
    except Exception as error:
        if not archive:
            raise _not_started(master, scratch, error) from error
        class_archive.discard(java)
        try:
            session = _start(master, chosen, jvm_options([], small=small))
        except Exception as again:
            raise _not_started(master, scratch, again) from again
    ship_package(session, PACKAGE)
    if not _imports_from_here(session):
        _follow_executors(session)
    return session


def ship_package(session: SparkSession, package: Path) -> None:
    """Send a package to the executors, which then need only the third-party wheels."""
    if _imports_from_here(session):
        return
    # Spark serves the archive from its path for as long as the session lives.
    session.addArtifacts(str(_package_archive(new_scratch(), package)), pyfile=True)


def spark_log() -> Path | None:
    """Return a copy of this process's Spark log that outlives it, or None if there is none."""
    for scratch in Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}{process_name()}-*"):
        return _keep(scratch / "spark.log")
    return None


def parallelism(spark: SparkSession) -> int:
    """Return a good number of partitions for the session: twice its cores."""
    return max(2, int(spark.conf.get(PARTITIONS) or "2"))


def share_of_tasks(spark: SparkSession) -> float:
    """Return the share of the tasks of the running stages that is done, 0 when unknown."""
    if "connect" in type(spark).__module__:  # it has no status tracker
        return 0.0
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(i) for i in tracker.getActiveStageIds()]
    total = sum(stage.numTasks for stage in stages if stage)
    return sum(stage.numCompletedTasks for stage in stages if stage) / total if total else 0.0


def driver_memory() -> str:
    """Return the memory for Spark's JVM: ``MESHWRIGHT_MEMORY``, or a quarter of the machine."""
    asked = os.environ.get(MEMORY_VARIABLE)
    if asked:
        if not re.fullmatch(r"[1-9]\d*[mg]", asked):
            raise InputError(f"{MEMORY_VARIABLE} is {asked!r}; write it like 2g or 1500m.")
        return asked
    mebibytes = machine_memory() // 4 // 2**20
    return f"{max(1024, min(mebibytes, 16 * 1024))}m"  # the kernels' arrays need the rest


def _start(master: str, settings: Mapping[str, str], options: str) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("meshwright")
    return builder.config(map={JVM_OPTIONS: options, **settings}).getOrCreate()


def _not_started(master: str, scratch: Path, error: Exception) -> SparkError:
    kept = _keep(scratch / "spark.log")
    shutil.rmtree(scratch, ignore_errors=True)
    return SparkError(
        f"Spark did not start on master {master!r}: {first_line(error)}. Its log: {kept}",
        log=str(kept),
    )


def jvm_options(archive: Sequence[str], *, small: bool) -> str:
    """Return the options of Spark's JVM: a log without noise, and a quick start for few rows."""
    quiet = Path(__file__).with_name("log4j2.properties").as_uri()
    # A JVM writes warnings to stdout, where our results are.
    options = [f"-Dlog4j2.configurationFile={quiet}", "-Xlog:disable", "-Xlog:all=warning:stderr"]
    if small:
        options += QUICK_COMPILER
        if not any("GC" in os.environ.get(name, "") for name in JVM_VARIABLES):
            options.append(ONE_COLLECTOR)  # a JVM does not start with two collectors
    return " ".join([*options, *archive])


def session_settings(scratch: Path, *, local: bool, small: bool = False) -> dict[str, str]:
    """Return our settings; a few more for one machine than for a cluster."""
    settings = {
        "spark.driver.memory": driver_memory(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # it logs to the terminal
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "131072",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(64 * 2**20),  # of lines that are long
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
    }
    if local:
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(scratch),
            PARTITIONS: "1" if small else str(2 * cpu_count()),
            "spark.shuffle.compress": "false",  # nothing crosses a network
        }
        if sys.platform == "linux":  # elsewhere a fork may not survive what was imported
            settings["spark.python.daemon.module"] = "meshwright.runtime.worker_daemon"
    if small:
        settings |= SMALL_SETTINGS
    return settings


def _follow_executors(session: SparkSession) -> None:
    """Set twice as many shuffle partitions as the executors have cores, unless a number is set."""
    context = session.sparkContext
    if context.getConf().contains(PARTITIONS):
        return
    session.range(1).count()  # returns once an executor runs
    time.sleep(GATHERING)
    session.conf.set(PARTITIONS, str(2 * context.defaultParallelism))


def _connect(remote: str) -> SparkSession:
    from pyspark.sql import SparkSession

    if remote.startswith("local"):  # PySpark starts the server here, with workers of its own
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        require_java()
        own_jvm(new_scratch() / "spark.log")
    try:
        session = SparkSession.builder.remote(remote).getOrCreate()
        ship_package(session, PACKAGE)
    except Exception as error:
        raise SparkError(
            f"cannot reach Spark Connect at {remote!r}: {first_line(error)}. "
            "Check SPARK_REMOTE or --master."
        ) from error
    return session


def _imports_from_here(session: SparkSession) -> bool:
    """Return whether the workers of a session import from the directories of this process."""
    from pyspark.sql.utils import is_remote

    return not is_remote() and (session.sparkContext.master or "").startswith("local[")


def _package_archive(scratch: Path, package: Path) -> Path:
    """Return the sources of a package as a zip."""
    archive = scratch / f"{package.name}-package.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in sorted(package.rglob("*.py")):
            bundle.write(path, path.relative_to(package.parent))
    return archive


def new_scratch() -> Path:
    """Make a directory that is removed when this process ends."""
    scratch = Path(tempfile.mkdtemp(prefix=f"{SCRATCH_PREFIX}{process_name()}-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return scratch


def sweep_dead_scratch() -> None:
    """Remove the scratch directories of processes that were killed."""
    for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}*-*-*-*"):
        if has_ended(left.name.removeprefix(SCRATCH_PREFIX).rpartition("-")[0]):
            shutil.rmtree(left, ignore_errors=True)


def _keep(log: Path) -> Path:
    kept = Path(tempfile.gettempdir()) / f"meshwright-{os.getpid()}.log"
    if log.is_file():
        shutil.copyfile(log, kept)
    return kept
