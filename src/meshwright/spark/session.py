"""The one place where a Spark session is made.

Local by default; ``--master`` or ``SPARK_MASTER`` for a cluster, ``SPARK_REMOTE`` (or an ``sc://``
master) for Spark Connect. What Spark's JVM says goes to a log in the scratch directory: the
terminal belongs to our own messages, and the log is kept when something fails.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import InputError, SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_JAVA = 17  # Spark 4 needs it
MEMORY_VARIABLE = "MESHWRIGHT_MEMORY"
PARTITIONS = "spark.sql.shuffle.partitions"
GATHERING = 1.0  # seconds after the first executor in which the others come
SCRATCH_PREFIX = "meshwright-spark-"
NO_JAVA = (
    "Spark needs Java 17 or later and none was found. Install one (Debian, Ubuntu: "
    "apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME."
)


def spark_session(
    master: str | None = None, *, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return the session to work in: the one that runs already, or a new one.

    Parameters
    ----------
    master
        Spark's master URL; ``SPARK_MASTER`` or all cores of this machine when not given.
    settings
        Further Spark settings; they win over ours.

    Raises
    ------
    SparkError
        When there is no Java, or Spark does not start.

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
    scratch = Path(tempfile.mkdtemp(prefix=f"{SCRATCH_PREFIX}{os.getpid()}-"))
    log = scratch / "spark.log"
    builder = SparkSession.builder.master(master).appName("meshwright")
    for key, value in {**_settings(scratch, local=local), **(settings or {})}.items():
        builder = builder.config(key, value)
    try:
        with _stderr_to(log):
            session = builder.getOrCreate()
    except Exception as error:
        kept = _keep(log)
        shutil.rmtree(scratch, ignore_errors=True)
        raise SparkError(
            f"Spark did not start on master {master!r}: {_first_line(error)}. Its log: {kept}",
            log=str(kept),
        ) from error
    atexit.register(_stop, session, scratch)
    if not master.startswith("local["):
        session.addArtifacts(str(_package_archive(scratch)), pyfile=True)
        _follow_executors(session)
    return session


def spark_log() -> Path | None:
    """Return a copy of this process's Spark log that outlives it, or None if there is none."""
    for scratch in Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}{os.getpid()}-*"):
        return _keep(scratch / "spark.log")
    return None


def parallelism(spark: SparkSession) -> int:
    """Return how many partitions suit the session: twice the cores it has."""
    return max(2, int(spark.conf.get(PARTITIONS) or "2"))


def machine_memory() -> int:
    """Return the memory of this machine in bytes, or what its control group allows."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(limit).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            total = min(total, int(text))
    return total


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
    """Raise unless a Java that Spark can run on is there."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise SparkError(NO_JAVA)
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except OSError as error:
        raise SparkError(f"JAVA_HOME is {home!r}, but {java} cannot be run. {NO_JAVA}") from error
    found = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    if found is None or int(found.group(1)) < LEAST_JAVA:
        version = found.group(1) if found else "unknown"
        raise SparkError(f"{java} is Java {version}. {NO_JAVA}")


def _settings(scratch: Path, *, local: bool) -> dict[str, str]:
    """Return our settings; for one machine a few more than for a cluster."""
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
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
    }
    if local:
        cores = os.cpu_count() or 2
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(scratch),
            PARTITIONS: str(2 * cores),
            "spark.shuffle.compress": "false",  # it crosses no network: only costs time
        }
    return settings


def _follow_executors(session: SparkSession) -> None:
    """Give shuffles twice as many partitions as the executors have cores, unless one was set."""
    context = session.sparkContext
    if context.getConf().contains(PARTITIONS):
        return
    session.range(1).count()  # done when there is an executor
    time.sleep(GATHERING)
    session.conf.set(PARTITIONS, str(2 * context.defaultParallelism))


def _connect(remote: str) -> SparkSession:
    from pyspark.sql import SparkSession

    if remote.startswith("local"):  # PySpark starts the server here, with workers of its own
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        require_java()
    try:
        session = SparkSession.builder.remote(remote).getOrCreate()
        with tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX) as scratch:
            session.addArtifacts(str(_package_archive(Path(scratch))), pyfile=True)
    except Exception as error:
        raise SparkError(
            f"cannot reach Spark Connect at {remote!r}: {_first_line(error)}. "
            "Check SPARK_REMOTE or --master."
        ) from error
    return session


def _package_archive(scratch: Path) -> Path:
    """Return our package as a zip, so that executors need only the third-party wheels."""
    root = Path(__file__).parents[1]
    archive = scratch / "meshwright-package.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in sorted(root.rglob("*.py")):
            bundle.write(path, path.relative_to(root.parent))
    return archive


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Send this process's stderr to a file; a JVM started meanwhile keeps writing there."""
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _stop(session: SparkSession, scratch: Path) -> None:
    try:
        session.stop()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _sweep_dead_scratch() -> None:
    """Remove the scratch directories of processes that were killed."""
    for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH_PREFIX}*-*"):
        pid = left.name.removeprefix(SCRATCH_PREFIX).split("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists() and Path("/proc/self").exists():
            shutil.rmtree(left, ignore_errors=True)


def _keep(log: Path) -> Path:
    kept = Path(tempfile.gettempdir()) / f"meshwright-{os.getpid()}.log"
    if log.is_file():
        shutil.copyfile(log, kept)
    return kept


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
