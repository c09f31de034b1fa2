"""Logs that arrive as files -> a workload that stays current, exactly once over restarts.

Beside the workload W there is a directory of what is known so far::

    W.follow/settings.json    what is followed, and how
    W.follow/lock             held by the process that follows
    W.follow/checkpoint/      the files that were read (Structured Streaming)
    W.follow/lines-3/17/      the lines of files that are new, by the number of their batch
    W.follow/rows-3/          what all older lines say, merged; and the files that they came from

A step: (1) A stream stores the lines of new files. A batch that is cut off runs again with the same
files and the same number, and replaces what it had stored. (2) When the stream has ended, so that
no batch can run again, ``rows-3`` and ``lines-3`` become ``rows-4`` by one rename. (3) The workload
is made of ``rows-4`` as `ingest` makes it, and becomes a new version of W, which names the 4. A
process that is killed at any time goes on with the first step that is not done.
"""

import fcntl
import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from meshwright.errors import InputError
from meshwright.runtime import interrupts
from meshwright.runtime.paths import path_of, pattern, read_parquet, uri
from meshwright.runtime.progress import Progress, no_progress
from meshwright.storage import Manifest, read_manifest, refuse_overwrite
from meshwright.workload import logs
from meshwright.workload.files import LOGS, Source
from meshwright.workload.ingest import NothingFoundError, ingest_parts
from meshwright.workload.lines import block, source_file, text_line
from meshwright.workload.mosquitto_log import ALWAYS, Window
from meshwright.workload.records import Reading
from meshwright.workload.request import MAX_REJECTED, Part, Request

N_STEPS = 6  # of a version: reading, merging, and those of an ingest
INTERVAL = 60.0  # seconds
# The names of complete files. A number behind .log is given to another file at the next rotation,
# and a file that is being compressed cannot be told from a complete one.
COMPLETE = {
    "mosquitto-log": re.compile(r".+\.(?:log|txt)[.-][0-9]{4}-?[0-9]{2}-?[0-9]{2}[0-9T_-]*"),
    "mesh-log": re.compile(r".+\.meshlog"),
}
GLOBS = {
    "mosquitto-log": "*.{log,txt}[.-][0-9][0-9][0-9][0-9]*[0-9]",
    "mesh-log": "*.meshlog",
}
ADVICE = {
    "mosquitto-log": "parts of logs with a date, such as edge-1.log-20261118, once they are "
    "complete (dateext and delaycompress of logrotate)",
    "mesh-log": "files that end with .meshlog, which the planner of a mesh has completed",
}
LINES = "source string, line binary, block long, row long"
FOR_EVER = "36500d"  # how old files may be: others than the newest must not be passed over
MANIFEST_KEY = "followed"
Batches = Iterator[pa.RecordBatch]


class Settings(NamedTuple):
    """What is followed; it stays the same over restarts."""

    source: str  # the directory
    format: str
    since: str | None = None

    @property
    def window(self) -> Window:
        """The time asked for."""
        return Window.of(self.since, None, None) if self.since is not None else ALWAYS


def check_request(
    source: str | Path,
    format: str | None = None,
    since: str | None = None,
    interval: float = INTERVAL,
) -> Settings:
    """Return what to follow; raise InputError if that cannot be. This needs no Spark."""
    directory = Path(source)
    if not directory.is_dir():
        raise InputError(
            f"--follow reads a directory into which files are moved; '{source}' is "
            f"{'a file' if directory.exists() else 'not there'}. Give the directory of the logs."
        )
    if interval <= 0:
        raise InputError(f"--interval is {interval:g}; give the seconds between two versions.")
    names = sorted(path.name for path in directory.iterdir())
    kind = format
    if kind is None:
        found = [one for one in LOGS if any(COMPLETE[one].fullmatch(name) for name in names)]
        if len(found) != 1:
            raise InputError(
                f"the format of the files in '{source}' cannot be told from their names. "
                f"Pass --format with one of: {', '.join(LOGS)}."
            )
        kind = found[0]
    if kind not in LOGS:
        raise InputError(f"--follow reads logs; --format is {kind!r}. Give {' or '.join(LOGS)}.")
    settings = Settings(str(directory.resolve()), kind, since)
    _ = settings.window  # or an error
    return settings


def passed_over(settings: Settings) -> list[str]:
    """Return the names of files in the directory that are not followed."""
    names = sorted(path.name for path in Path(settings.source).iterdir() if path.is_file())
    return [name for name in names if not _is_followed(name, settings.format)]


def _is_followed(name: str, format: str) -> bool:
    # Spark skips hidden files without a word.
    return bool(COMPLETE[format].fullmatch(name)) and not name.startswith(("_", "."))


def follow(
    spark: SparkSession,
    settings: Settings,
    out: str | Path,
    *,
    interval: float = INTERVAL,
    once: bool = False,
    force: bool = False,
    max_rejected: float = MAX_REJECTED,
    on_version: Callable[[Manifest], None] = lambda _: None,
    on_nothing: Callable[[str], None] = lambda _: None,
    new_progress: Callable[[], Progress] = no_progress,
) -> None:
    """Keep a workload current until a signal comes; or `once`, for the files that are there.

    A signal that `interrupts` handles is raised between two versions.
    """
    with Follower(settings, Path(out), force=force, max_rejected=max_rejected) as follower:
        while True:
            begun = time.monotonic()
            with interrupts.held():
                try:
                    manifest = follower.step(spark, new_progress())
                except NothingFoundError as error:
                    on_nothing(str(error))
                else:
                    if manifest is not None:
                        on_version(manifest)
            if once:
                return
            time.sleep(max(0.0, begun + interval - time.monotonic()))


class Follower:
    """The process that follows; a second one for the same workload is refused."""

    def __init__(
        self,
        settings: Settings,
        out: Path,
        *,
        force: bool = False,
        max_rejected: float = MAX_REJECTED,
    ) -> None:
        self.settings, self.target = settings, out.absolute()
        self.place = self.target.with_name(f"{self.target.name}.follow")
        self._max_rejected = max_rejected
        if not self.place.exists():
            refuse_overwrite(self.target, force=force)
        self._lock = _lock(self.place, self.target)
        try:
            self.id = self._identify()
            if self._followed() is None:
                refuse_overwrite(self.target, force=force)
            self._generation = self._recover()
        except BaseException:
            self.close()
            raise
        self._listed: list[str] | None = None  # the directory before the last stream
        self._tried = 0  # the generation that was published, or has nothing in it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process follow."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def step(self, spark: SparkSession, progress: Progress) -> Manifest | None:
        """Read the files that are new; return the new version of the workload, if there is one.

        Raise NothingFoundError, once, if nobody wants anything; the last version then stays.
        """
        listed = self._list()
        if listed != self._listed:
            with progress.step("reading new files"):
                self._stream(spark)
            empty = self._empty(listed)
            if self._batches() or empty:
                with progress.step("merging"):
                    self._merge(spark, empty)
            self._listed = listed
        done = self._generation == self._tried or self._followed() == self._generation
        if self._generation == 0 or done:
            progress.clear()
            return None
        self._tried = self._generation
        return self._publish(spark, progress)

    def _list(self) -> list[str]:
        names = (path.name for path in Path(self.settings.source).iterdir())
        return sorted(name for name in names if _is_followed(name, self.settings.format))

    def _empty(self, names: list[str]) -> set[str]:
        """Return the new files without content: of brokers at which nothing happened."""
        paths = [Path(self.settings.source) / name for name in names]
        found = {str(path) for path in paths if path.is_file() and not path.stat().st_size}
        return found - set(self._files())

    # --- (1) new files ---

    def _stream(self, spark: SparkSession) -> None:
        """Store the lines of the files that are new, each batch under its number."""
        place = uri(self._lines())

        def store(batch: DataFrame, number: int) -> None:
            batch.write.mode("overwrite").parquet(f"{place}/{number}")

        stream = _stream_lines(spark, self.settings).writeStream.foreachBatch(store)
        stream = stream.option("checkpointLocation", uri(self.place / "checkpoint"))
        stream.trigger(availableNow=True).start().awaitTermination()

    def _lines(self) -> Path:
        return self.place / f"lines-{self._generation}"

    def _rows(self, generation: int) -> Path:
        return self.place / f"rows-{generation}"

    def _batches(self) -> list[Path]:
        """Return the places of batches; all are complete once a stream has ended."""
        if not self._lines().is_dir():
            return []
        return sorted(path for path in self._lines().iterdir() if path.name.isdigit())

    # --- (2) what all lines say ---

    def _merge(self, spark: SparkSession, empty: set[str]) -> None:
        """Make the next generation of rows; `empty` are files that Spark does not see."""
        kind, window = self.settings.format, self.settings.window
        batches = self._batches()
        lines = spark.createDataFrame([], LINES)
        if batches:
            lines = read_parquet(spark, *batches, schema=LINES)
        text = lines.withColumn("line", F.col("line").cast("string"))
        rows = logs.rows_of(text.where(F.length(F.trim("line")) > 0), kind, window)
        if self._generation:
            older = logs.read_rows(spark, self._rows(self._generation) / "rows", kind)
            rows = rows.unionByName(older)
        if window == ALWAYS:  # else all that happened since is asked for
            rows = logs.merged(rows, kind)
        draft = self._rows(self._generation + 1).with_suffix(".tmp")
        rows.write.parquet(uri(draft / "rows"))
        found = lines.select("source").distinct().select(path_of(F.col("source"))).collect()
        files = sorted({*self._files(), *empty, *(row[0] for row in found)})
        (draft / "files.json").write_text(json.dumps(files), encoding="utf-8")
        draft.rename(self._rows(self._generation + 1))
        self._generation += 1
        self._clean_up()

    def _files(self) -> list[str]:
        """Return the files that were read."""
        if not self._generation:
            return []
        place = self._rows(self._generation) / "files.json"
        files: list[str] = json.loads(place.read_text(encoding="utf-8"))
        return files

    # --- (3) the workload ---

    def _publish(self, spark: SparkSession, progress: Progress) -> Manifest:
        """Write a version of the workload."""
        source, kind, since = self.settings
        files = self._files()
        part = Part(
            [Source(path, path) for path in files],
            kind,
            Reading(window=self.settings.window),
            self._rows(self._generation) / "rows",
        )
        followed = {"id": self.id, "generation": self._generation, "n_files": len(files)}
        return ingest_parts(
            spark,
            [part],
            Request([source], kind, since=since, max_rejected=self._max_rejected),
            self.target,
            force=True,
            progress=progress,
            facts={"source": [source], "sources_without_records": [], MANIFEST_KEY: followed},
        )

    def _followed(self) -> int | None:
        """Return the generation of the workload that is there; None if it is not ours."""
        if not os.path.lexists(self.target):
            return 0
        try:
            facts = read_manifest(self.target, "workload").get(MANIFEST_KEY) or {}
        except InputError:
            return None
        return facts.get("generation") if facts.get("id") == self.id else None

    # --- files ---

    def _identify(self) -> str:
        """Return the id of what is followed; raise InputError if it is something else."""
        path = self.place / "settings.json"
        given = self.settings._asdict()
        if not path.exists():
            draft = path.with_suffix(".tmp")
            draft.write_text(json.dumps({"id": uuid.uuid4().hex, **given}), encoding="utf-8")
            draft.replace(path)
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for name, value in given.items():
            if known.get(name) != value:
                raise InputError(
                    f"'{self.target}' follows {name} {known.get(name)!r}, not {value!r}. Go on "
                    f"with that, choose another -o, or remove '{self.place}' to begin again."
                )
        return str(known["id"])

    def _recover(self) -> int:
        """Return the newest generation; remove what a killed process left of others."""
        found = [re.fullmatch(r"rows-([0-9]+)", path.name) for path in self.place.iterdir()]
        self._generation = max((int(match[1]) for match in found if match), default=0)
        self._clean_up()
        return self._generation

    def _clean_up(self) -> None:
        kept = {f"rows-{self._generation}", f"lines-{self._generation}"}
        for path in self.place.iterdir():
            if re.fullmatch(r"(rows|lines)-[0-9]+(\.tmp)?", path.name) and path.name not in kept:
                shutil.rmtree(path, ignore_errors=True)


def _stream_lines(spark: SparkSession, settings: Settings) -> DataFrame:
    """Return the stream of LINES, also of blank ones: they show that their file was read."""
    reader = spark.readStream.option("pathGlobFilter", GLOBS[settings.format])
    reader = reader.option("maxFileAge", FOR_EVER).option("lineSep", "\n")
    text = reader.text(pattern(Path(settings.source)))
    lines = text.select(source_file(), text_line(), block().alias("block"))
    lines = lines.withColumn("line", F.col("line").cast("binary"))
    return lines.mapInArrow(_numbered, LINES)


def _numbered(batches: Batches) -> Batches:
    """Yield lines with their number in the task, which reads a block of a file in order."""
    number = 0
    for batch in batches:
        rows = pa.array(range(number, number + len(batch)), pa.int64())
        number += len(batch)
        yield pa.RecordBatch.from_arrays([*batch.columns, rows], ["source", "line", "block", "row"])


def _lock(place: Path, target: Path) -> int:
    """Take the directory for this process; raise InputError if another one has it."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(place / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise InputError(
            f"'{place}' cannot be written: {error.strerror}. Choose another -o."
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise InputError(
            f"'{target}' is followed by another process. Stop that one first, or choose another -o."
        ) from error
    return descriptor
