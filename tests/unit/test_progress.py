import io
import threading
from types import SimpleNamespace

import pytest

from meshwright.runtime import progress
from meshwright.runtime.progress import Progress, no_progress
from meshwright.runtime.session import share_of_tasks

NEVER = 7 * 86_400.0
LONG = 60  # seconds a test waits for a line before it fails


class Stream(io.StringIO):
    """A stream that tells when a line has been written."""

    def __init__(self, *, tty: bool) -> None:
        super().__init__()
        self._tty = tty
        self.written = threading.Event()

    def isatty(self) -> bool:
        return self._tty

    def write(self, text: str) -> int:
        n = super().write(text)
        self.written.set()
        return n


class Tracker:
    """Spark's status tracker with two stages under way."""

    def __init__(self, *stages: tuple[int, int]) -> None:
        self._stages = stages

    def getActiveStageIds(self):
        return range(len(self._stages))

    def getStageInfo(self, i):
        tasks, done = self._stages[i]
        return SimpleNamespace(numTasks=tasks, numCompletedTasks=done)


def session_with(tracker):
    return SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))


def with_tracker(tracker) -> Progress:
    share = None if tracker is None else lambda: share_of_tasks(session_with(tracker))
    return Progress(4, share, Stream(tty=False))


@pytest.mark.parametrize("tty", [True, False])
def test_a_step_within_the_quiet_time_prints_nothing(tty):
    stream = Stream(tty=tty)
    shown = Progress(1, stream=stream, quiet_seconds=NEVER)
    with shown.step("reading"):
        pass
    assert stream.getvalue() == ""


def test_the_quiet_time_is_two_seconds():
    assert progress.QUIET_SECONDS == 2.0
    shown = Progress(1, stream=Stream(tty=True))
    assert shown._quiet_until - shown._start == pytest.approx(2.0)


def test_no_progress_prints_nothing():
    shown = no_progress()
    shown._stream = stream = Stream(tty=True)
    with shown.step("reading"):
        pass
    assert stream.getvalue() == ""


def test_a_pipe_gets_whole_lines(monkeypatch):
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.0)
    stream = Stream(tty=False)
    shown = Progress(2, stream=stream, quiet_seconds=0.0)
    for what in ("reading", "writing"):
        stream.written.clear()
        with shown.step(what):
            assert stream.written.wait(LONG)
    first, second = stream.getvalue().splitlines()
    assert first.startswith("[1/2] reading, ")
    assert second.startswith("[2/2] writing, ")
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_gets_one_line_that_is_taken_off_at_the_end():
    stream = Stream(tty=True)
    shown = Progress(1, stream=stream, quiet_seconds=0.0)
    with shown.step("reading"):
        assert stream.written.wait(LONG)
    assert stream.getvalue().startswith("\r\x1b[K[1/1] reading, ")
    assert stream.getvalue().endswith("\r\x1b[K")
    assert "\n" not in stream.getvalue()


def failing_step(shown: Progress, stream: Stream) -> None:
    with shown.step("reading"):
        assert stream.written.wait(LONG)
        raise RuntimeError("disk full")


def test_an_error_takes_the_line_off_too_and_passes_through():
    stream = Stream(tty=True)
    shown = Progress(5, stream=stream, quiet_seconds=0.0)
    with pytest.raises(RuntimeError, match="disk full"):
        failing_step(shown, stream)
    assert stream.getvalue().endswith("\r\x1b[K")


def test_the_line_tells_the_share_and_an_estimate():
    shown = with_tracker(Tracker((6, 1), (4, 1)))
    assert shown._line("reading", 30.0) == "[1/4] reading 20%, 30 s, about 2 min 00 s left"


def test_without_any_task_done_there_is_no_estimate():
    assert with_tracker(Tracker((6, 0)))._line("reading", 3.9) == "[1/4] reading, 3 s"


@pytest.mark.parametrize("tracker", [None, Tracker()])
def test_without_spark_there_is_no_estimate(tracker):
    assert with_tracker(tracker)._line("reading", 61.0) == "[1/4] reading, 1 min 01 s"


def test_a_stage_that_just_ended_is_passed_over():
    tracker = Tracker((2, 1))
    tracker.getActiveStageIds = lambda: [0, 1]
    tracker.getStageInfo = lambda i: None if i else SimpleNamespace(numTasks=2, numCompletedTasks=1)
    assert share_of_tasks(session_with(tracker)) == 0.5


def test_a_share_that_the_step_reports_goes_before_that_of_spark():
    shown = with_tracker(Tracker((6, 3)))
    shown.update(0.5, "round 2")
    assert shown._line("reading", 9.0) == "[1/4] reading 50%, 9 s, about 9 s left: round 2"


def test_more_steps_than_promised_do_not_count_past_the_end():
    shown = Progress(1, stream=Stream(tty=False), quiet_seconds=NEVER)
    for _ in range(2):
        with shown.step("reading"):
            pass
    assert shown._line("reading", 1).startswith("[1/1]")


def test_spark_connect_has_no_tracker():
    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    assert share_of_tasks(session) == 0.0
