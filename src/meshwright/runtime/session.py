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
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import InputError, SparkError, first_line
from meshwright.runtime.jvm import own_jvm
from meshwright.runtime.machine import cpu_count, has_ended, machine_memory, process_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE = Path(__file__).parents[1]  # meshwright
LEAST_JAVA = 17  # Spark 4 needs it
MEMORY_VARIABLE = "MESHWRIGHT_MEMORY"
PARTITIONS = "spark.sql.shuffle.partitions"
GATHERING = 1.0  # seconds to wait for further executors after the first
SCRATCH_PREFIX = "meshwright-spark-"
NO_JAVA = (
    "Spark needs Java 17 or later and none was found. Install one (Debian, Ubuntu: "
    "apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME."
)


def spark_session(
    master: str | None = None, *, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return the active session, or start one; raise SparkError if Spark does not start.

    Without a master URL, ``SPARK_MASTER`` or all cores of this machine. `settings` override ours.
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
    require_java()
    _sweep_dead_scratch()
    scratch = _new_scratch()
    log = scratch / "spark.log"
    builder = SparkSession.builder.master(master).appName("meshwright")
    builder = builder.config(map={**_settings(scratch, local=local), **(settings or {})})
    own_jvm(log)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        kept = _keep(log)
        shutil.rmtree(scratch, ignore_errors=True)
        raise SparkError(
            f"Spark did not start on master {master!r}: {first_line(error)}. Its log: {kept}",
            log=str(kept),
        ) from error
    ship_package(session, PACKAGE)
    if not _imports_from_here(session):
        _follow_executors(session)
    return session


def ship_package(session: SparkSession, package: Path) -> None:
    """Send a package to the executors, which then need only the third-party wheels."""
    if _imports_from_here(session):
        return
    # Spark serves the archive from its path for as long as the session lives.
    session.addArtifacts(str(_package_archive(_new_scratch(), package)), pyfile=True)


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


def require_java() -> None:
    """Raise SparkError unless a Java that Spark can run on is installed."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise SparkError(NO_JAVA)
    command = [java, "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        raise SparkError(f"JAVA_HOME is {home!r}, but {java} cannot be run. {NO_JAVA}") from error
    found = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    if found is None or int(found.group(1)) < LEAST_JAVA:
        version = found.group(1) if found else "unknown"
        raise SparkError(f"{java} is Java {version}. {NO_JAVA}")


def _settings(scratch: Path, *, local: bool) -> dict[str, str]:
    """Return our settings; a few more for one machine than for a cluster."""
    quiet = Path(__file__).with_name("log4j2.properties").as_uri()
    settings = {
        "spark.driver.memory": driver_memory(),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet}",
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
            PARTITIONS: str(2 * cpu_count()),
            "spark.shuffle.compress": "false",  # nothing crosses a network
        }
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
        own_jvm(_new_scratch() / "spark.log")
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


def _new_scratch() -> Path:
    """Make a directory that is removed when this process ends."""
    scratch = Path(tempfile.mkdtemp(prefix=f"{SCRATCH_PREFIX}{process_name()}-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return scratch


def _sweep_dead_scratch() -> None:
    """Remove the scratch directories of processes that were killed."""
    for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}*-*-*-*"):
        if has_ended(left.name.removeprefix(SCRATCH_PREFIX).rpartition("-")[0]):
            shutil.rmtree(left, ignore_errors=True)


def _keep(log: Path) -> Path:
    kept = Path(tempfile.gettempdir()) / f"meshwright-{os.getpid()}.log"
    if log.is_file():
        shutil.copyfile(log, kept)
    return kept
