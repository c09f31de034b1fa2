"""Ctrl-C at every line of `lab up`: no broker is left that `lab down` does not know."""

import os
import signal
import subprocess
import sys

import pytest

from meshwright.cli import lab
from meshwright.deploy.lab import processes, running
from meshwright.deploy.lab.processes import brokers_in
from meshwright.deploy.lab.running import down, find_lab, lab_place
from meshwright.runtime import interrupts
from tests.e2e.lab_confs import needs_mosquitto, write_conf

pytestmark = [
    needs_mosquitto,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells where processes run"),
]
FILES = {module.__file__ for module in (lab, running, processes)}
FORK = subprocess.Popen._execute_child.__code__  # type: ignore[attr-defined]
Line = tuple[str, int]


@pytest.fixture
def up(monkeypatch):
    """Return a function that runs `lab up`, interrupted at a line, and says what it went through.

    One broker is left out, so that there is no link to wait for.
    """
    monkeypatch.setattr(interrupts, "_actions", [])  # the JVM of other tests must stay
    monkeypatch.setattr(interrupts, "_interrupted", False)  # and they are not interrupted
    before, traced = signal.getsignal(signal.SIGINT), sys.gettrace()
    interrupts.raise_on(signal.SIGINT)

    def up(conf, at: Line | None = None) -> tuple[list[Line], bool]:
        lines: dict[Line, None] = {}

        def trace(frame, event, _argument):
            if frame.f_code.co_filename not in FILES and frame.f_code is not FORK:
                return None
            line = frame.f_code.co_filename, frame.f_lineno
            if event == "line" and line not in lines:
                lines[line] = None
                if line == at:
                    os.kill(os.getpid(), signal.SIGINT)
            return trace

        sys.settrace(trace)
        try:
            lab.up(conf, None, ["b"], False, False)
        except KeyboardInterrupt:
            return list(lines), True
        finally:
            sys.settrace(traced)
        return list(lines), False

    yield up
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_at_any_line_of_up_leaves_no_broker_unknown(tmp_path, up, capsys):
    conf = write_conf(tmp_path / "conf", {"t": [("b", "a")]})
    place = lab_place(conf)
    lines, _ = up(conf)
    assert down(conf) == (1, 0)
    n_undone = 0
    for at in lines:
        reached, interrupted = up(conf, at)
        assert interrupted == (at in reached), at  # a wait may be shorter than before
        if place.exists():  # it was up already
            assert find_lab(conf).up == ("a",), at
            down(conf)
        else:
            n_undone += 1
            assert brokers_in(place) == [], at
    assert n_undone > len(lines) / 2
