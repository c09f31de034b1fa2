"""The warm server with real JVMs: one for all commands, the same answers, and nobody harmed by it.

The tests run in this order: the last ones end the server.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from meshwright.deploy.lab.processes import wait_until
from tests.e2e.in_process import run_in_process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
ROOT = Path(__file__).parents[2]

# Names in two Unicode forms, repeated rows, names that cannot be used, a field too many.
SOURCE = "node,topic\n" + "".join(f"n{i % 40},t/{i * i % 97}\n" for i in range(900))
SOURCE += "caf\u00e9,t/1\ncafe\u0301,t/2\n,t/1\nn1,\nn1,t/1,more\nn2,t/\x01\n"
VERBS = (
    "ingest s.csv -o w --max-rejected 0.1 --json",
    "stats w --json",
    "design w -o o -m sl --json",
    "check o --json",
    "simulate o -o r --json",
)
VARYING = ("seconds", "created", "version", "command")

# Takes a session of the server and keeps a task of it busy for ever.
BUSY = """
import os, sys, signal, time
from pathlib import Path
from meshwright.runtime import interrupts, warm
interrupts.raise_on(signal.SIGINT)
spark = warm.warm_session()
note = sys.argv[1]
def task(batches):
    Path(note + ".draft").write_text(str(os.getpid()))
    Path(note + ".draft").rename(note)
    time.sleep(3600)
    yield from batches
spark.range(1).mapInArrow(task, "id long").collect()
"""
# A command whose server is killed in the middle of its work.
KILLED = """
import os, signal, sys
from meshwright.cli.options import run_on_spark
from meshwright.runtime import warm
def work(spark, progress):
    if warm._use is not None and not warm._use.ended:
        for pid in map(int, sys.argv[1:]) :
            os.kill(pid, signal.SIGKILL)
        (server,) = warm.describe()
        children = f"/proc/{server['pid']}/task/{server['pid']}/children"
        for pid in open(children).read().split():
            os.kill(int(pid), signal.SIGKILL)
    return spark.range(3).count()
print(run_on_spark(work, None, 1, 3))
"""
REASON = """
from meshwright.runtime import warm
try:
    warm.warm_session()
except warm.UnusableError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def variables():
    """The environment of commands that use a server; when the module ends, all are stopped."""
    cache = tempfile.mkdtemp(prefix="mw-")  # short: a socket's path has 107 bytes
    without = ("CI", "SPARK_REMOTE", "SPARK_MASTER")
    found = {name: value for name, value in os.environ.items() if name not in without}
    found |= {"PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": cache, "MESHWRIGHT_SERVER": "on"}
    yield found
    run(found, "-m", "meshwright", "spark", "stop")
    shutil.rmtree(cache)


def run(variables, *words, cwd=None, mask=None) -> subprocess.CompletedProcess[str]:
    """Run Python to its end; it must not fail."""
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        env=variables,
        cwd=cwd,
        check=False,
        umask=-1 if mask is None else mask,
    )
    assert done.returncode == 0, done.stderr
    return done


def servers(variables) -> list[dict]:
    """Return the facts of the servers that run."""
    return json.loads(run(variables, "-m", "meshwright", "spark", "status", "--json").stdout)[
        "servers"
    ]


def children(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def jvm_of(server: dict) -> int:
    """Return the process id of the JVM of a server."""
    names = {pid: Path(f"/proc/{pid}/comm").read_text().strip() for pid in children(server["pid"])}
    (found,) = [pid for pid, name in names.items() if name == "java"]
    return found


@pytest.fixture(scope="module")
def server(variables, tmp_path_factory):
    """The server that two commands have started at once."""
    place = tmp_path_factory.mktemp("first")
    (place / "s.csv").write_text("node,topic\na,t\nb,t\n")
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "meshwright", "ingest", "s.csv", "-o", name],
            cwd=place,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("v", "w")
    ]
    ended = [one.communicate() for one in both]
    assert [one.returncode for one in both] == [0, 0], ended
    assert not any("note:" in err for _, err in ended), ended
    (found,) = servers(variables)
    return found


def test_commands_share_one_server_of_this_user_alone(server, variables):
    assert server["fits"]
    assert (server["state"], server["commands"]) == ("ready", 0)
    place = Path(server["directory"])
    assert place.stat().st_mode & 0o777 == 0o700
    environment = Path(f"/proc/{jvm_of(server)}/environ").read_bytes().split(b"\0")
    (token,) = [
        one.partition(b"=")[2]
        for one in environment
        if one.startswith(b"SPARK_CONNECT_AUTHENTICATE_TOKEN=")
    ]
    assert len(token) == 64
    for file in place.iterdir():
        assert file.is_socket() or token not in file.read_bytes()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        assert token not in process.read_bytes()
    shown = run(variables, "-m", "meshwright", "spark", "status").stdout
    assert "fits     this user, version and environment" in shown


def without_varying(found):
    if isinstance(found, dict):
        return {k: without_varying(v) for k, v in found.items() if k not in VARYING}
    return found


def test_answers_are_those_of_a_session_of_its_own(
    server, variables, tmp_path, monkeypatch, capsys, spark
):
    here, there = tmp_path / "here", tmp_path / "there"
    for place in (here, there):
        place.mkdir()
        (place / "s.csv").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(here)
    command = partial(run_in_process, monkeypatch, capsys)
    for words in VERBS:
        code, out, err = command(*words.split())
        assert code == 0, err
        if words.startswith("design"):  # it needs no Spark
            shutil.copytree(here / "o", there / "o", symlinks=True)
            continue
        done = run(variables, "-m", "meshwright", *words.split(), cwd=there)
        expected, found = json.loads(out), json.loads(done.stdout.replace(str(there), str(here)))
        assert without_varying(found) == without_varying(expected), words
        assert "note:" not in done.stderr
    for table in ("w/rejected.parquet", "w/nodes.parquet", "w/subscriptions.parquet"):
        assert pq.read_table(here / table).num_rows > 0
        rows = [sorted(map(repr, pq.read_table(p / table).to_pylist())) for p in (here, there)]
        assert rows[1] == [row.replace(str(here), str(there)) for row in rows[0]], table
    assert [one["pid"] for one in servers(variables)] == [server["pid"]]


def test_what_is_wrong_with_the_input_is_said_as_without_the_server(server, variables, tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + bytes(5000) + b"PAR1")
    (tmp_path / "s.csv").write_text("node,topic\na\nb\n")
    for words, said in {
        "ingest s.csv -o w": "2 of 2 rows are wrong, more than --max-rejected 0.01 allows",
        "ingest bad.parquet -o w": "'bad.parquet'",
    }.items():
        done = subprocess.run(
            [sys.executable, "-m", "meshwright", *words.split()],
            capture_output=True,
            text=True,
            env=variables,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "note:" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.parquet", "s.csv"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_of_a_command_that_was_stopped_goes_on(server, variables, tmp_path, number):
    note = tmp_path / "worker"
    busy = subprocess.Popen([sys.executable, "-c", BUSY, str(note)], env=variables, stderr=-3)
    try:
        assert wait_until(note.exists)
        worker = Path(f"/proc/{note.read_text()}")
        assert servers(variables)[0]["commands"] == 1
        busy.send_signal(number)
        busy.wait(60)
        assert wait_until(lambda: not worker.exists())
    finally:
        busy.kill()
    assert wait_until(lambda: servers(variables)[0]["commands"] == 0)


def test_another_umask_gets_files_as_it_asks(server, variables, tmp_path):
    """Not from this server: its workers write with the umask of its first command."""
    words = "from meshwright.runtime.server_place import *; print(server_directory())"
    assert run(variables, "-c", words).stdout.strip() == server["directory"]
    assert run(variables, "-c", words, mask=0o077).stdout.strip() != server["directory"]


def test_a_server_that_hangs_is_ended_and_the_command_told(server, variables):
    os.kill(jvm_of(server), signal.SIGSTOP)
    assert run(variables, "-c", REASON).stdout == "its Spark did not answer, and was ended\n"
    assert wait_until(lambda: not Path(f"/proc/{server['pid']}").exists())
    assert servers(variables) == []


def test_a_command_whose_server_dies_does_its_work_by_itself(server, variables):
    done = run(variables, "-c", KILLED)
    assert done.stdout == "3\n"
    notes = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert notes == [
        "note: the warm Spark server cannot be used (it has ended); this command starts Spark "
        "itself"
    ]
