"""Ctrl-C and kill -9 at named steps of a command: what it says, and that nothing of it is left."""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from meshwright.deploy.lab.processes import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
ROOT = Path(__file__).parents[2]
MARK = "MESHWRIGHT_TEST_MARK"

# Runs the command and sends itself a signal when it has gone through some steps. A step is a call
# or return of a function, or the call of a built-in function in it.
DRIVER = """
import os, runpy, sys
number, *steps = sys.argv.pop(1).split(" ")

def watch(frame, kind, argument):
    module, function, event, builtin = steps[0].split(":")
    name = frame.f_code.co_name, frame.f_globals.get("__name__")
    # A value that is returned must not be asked: a DataFrame would ask the JVM.
    called = getattr(argument, "__name__", "") if kind.startswith("c_") else ""
    if (kind, *name) != (event, function, module) or builtin not in called:
        return
    del steps[0]
    if not steps:
        sys.setprofile(None)
        os.write(1, b"reached")
        os.kill(os.getpid(), int(number))

sys.setprofile(watch)
runpy.run_module("meshwright", run_name="__main__", alter_sys=True)
"""
IMPORT = "typer:<module>:call:"
VERBS = "meshwright.cli.workload:ingest:call:"
JVM_FORKED = "pyspark.java_gateway:launch_gateway:c_call:sleep"
SESSION = "meshwright.runtime.session:spark_session:return:"
IN_A_CALL = "py4j.clientserver:send_command:c_call:readline"  # has asked, and waits for the answer


@pytest.fixture
def mark():
    """Yield a word in the environment of a command and all it starts; what is left is killed."""
    word = uuid.uuid4().hex
    yield word
    for pid in marked(word):
        os.kill(pid, signal.SIGKILL)


def marked(mark: str) -> dict[int, str]:
    """Return the processes that have a mark, with their command lines."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(entry.name)] = words.decode()
        except OSError:
            continue
    return {pid: words for pid, words in found.items() if words}  # a zombie has none


def stop_at(step: str, place: Path, number: int, mark: str) -> tuple[int, str, str]:
    """Run `ingest` and send it a signal at a step; return exit code, stdout and stderr."""
    (place / "s.csv").write_text("node,topic\na,t\n")
    (place / "tmp").mkdir()
    variables = {"PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(place / "tmp"), MARK: mark}
    # Into files: a pipe would stay open, and the test would wait, while a process is left.
    with (place / "tmp" / "out").open("w+") as out, (place / "tmp" / "err").open("w+") as err:
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, f"{number:d} {step}", "ingest", "s.csv", "-o", "w"],
            stdout=out,
            stderr=err,
            cwd=place,
            env={**os.environ, **variables},
            check=False,
        )
        out.seek(0)
        err.seek(0)
        return done.returncode, out.read(), err.read()


@pytest.mark.parametrize(
    "step",
    [IMPORT, VERBS, JVM_FORKED, f"{SESSION} {IN_A_CALL}"],
    ids=["import", "verb", "JVM forked", "in a call"],
)
def test_an_interrupt_ends_with_130_a_word_and_no_jvm(tmp_path, mark, step):
    code, out, err = stop_at(step, tmp_path, signal.SIGINT, mark)
    assert marked(mark) == {}
    lines = [line for line in err.splitlines() if not line.startswith("[")]  # progress
    assert (code, out) == (130, "reached")
    assert lines == ["error: interrupted; no incomplete result was left behind."]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.csv", "tmp"]
    assert sorted(path.name for path in (tmp_path / "tmp").iterdir()) == ["err", "out"]


def test_a_jvm_dies_with_a_command_that_was_killed(tmp_path, mark):
    code, out, _ = stop_at(JVM_FORKED, tmp_path, signal.SIGKILL, mark)
    assert (code, out) == (-signal.SIGKILL, "reached")
    assert wait_until(lambda: not marked(mark)), marked(mark)
