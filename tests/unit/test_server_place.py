import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from meshwright.runtime import server, server_place, warm
from meshwright.runtime.machine import process_name
from tests.patience import SECONDS

SMALL = 1000


@pytest.fixture
def cache(monkeypatch, tmp_path_factory):
    """An empty cache directory of the user, and the server switched on."""
    place = tmp_path_factory.mktemp("c")
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    for name in ("CI", server_place.SWITCH, *server_place.ELSEWHERE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pyspark.sql.session.SparkSession._instantiatedSession", None)
    return place / "meshwright"


@pytest.mark.parametrize(
    ("name", "value"),
    [("MESHWRIGHT_SERVER", "off"), ("CI", "1"), ("SPARK_REMOTE", "sc://h"), ("SPARK_MASTER", "x")],
)
def test_a_variable_switches_the_server_off(cache, monkeypatch, name, value):
    assert warm.fits(None, SMALL)
    monkeypatch.setenv(name, value)
    assert not warm.fits(None, SMALL)
    assert name in str(server_place.why_off())


@pytest.mark.parametrize(
    ("master", "n_rows"), [("local[2]", SMALL), (None, None), (None, 100_001), (None, 20_000_000)]
)
def test_other_masters_and_many_rows_do_not_go_to_the_server(cache, master, n_rows):
    assert not warm.fits(master, n_rows)


def test_a_process_with_a_session_of_its_own_keeps_it(cache, monkeypatch):
    monkeypatch.setattr("pyspark.sql.session.SparkSession._instantiatedSession", object())
    assert not warm.fits(None, SMALL)


@pytest.mark.parametrize(
    "name", ["NUMBA_DISABLE_JIT", "JAVA_TOOL_OPTIONS", "PYTHONPATH", "TZ", "SPARK_CONF_DIR"]
)
def test_another_environment_gets_another_server(cache, monkeypatch, name):
    before = server_place.server_directory()
    assert before == server_place.server_directory()
    monkeypatch.setenv(name, "elsewhere")
    assert server_place.server_directory() != before


def test_another_umask_version_or_source_gets_another_server(cache, monkeypatch, tmp_path):
    before = server_place.server_directory()
    mask = os.umask(0o027)
    try:
        assert server_place.server_directory() != before
    finally:
        os.umask(mask)
    monkeypatch.setattr("meshwright.__version__", "9.9")
    assert server_place.server_directory() != before
    monkeypatch.undo()
    (tmp_path / "a.py").write_text("one")
    monkeypatch.setattr(server_place, "PACKAGE", tmp_path)
    one = server_place._code()
    (tmp_path / "a.py").write_text("another")
    assert server_place._code() != one


def test_relative_paths_become_absolute_for_a_server(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"src{os.pathsep}{os.pathsep}/lib")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "compiled")
    found = server_place.server_environment()
    ours = str(server_place.PACKAGE.parent)
    assert found["PYTHONPATH"].split(os.pathsep) == [ours, str(tmp_path / "src"), "/lib"]
    assert found["NUMBA_CACHE_DIR"] == str(tmp_path / "compiled")


def test_the_directory_is_for_this_user_alone(cache):
    place = cache / "server-0"
    mask = os.umask(0)
    try:
        server_place.make_private(place)
    finally:
        os.umask(mask)
    assert place.stat().st_mode & 0o777 == 0o700
    server_place.make_private(place)
    place.chmod(0o755)
    with pytest.raises(PermissionError, match="is not a directory of this user alone"):
        server_place.make_private(place)


def test_a_link_in_place_of_the_directory_is_refused(cache, tmp_path):
    cache.mkdir()
    (cache / "server-0").symlink_to(tmp_path)
    with pytest.raises(PermissionError, match="is not a directory of this user alone"):
        server_place.make_private(cache / "server-0")


def test_a_path_too_long_for_a_socket_is_named(cache):
    with pytest.raises(OSError, match="is too long for a socket"):
        server_place.make_private(cache / f"server-{'x' * 100}")


def test_a_cache_that_cannot_be_used_is_a_reason_not_an_error(cache):
    cache.parent.joinpath("meshwright").write_text("a file")
    with pytest.raises(warm.UnusableError, match=r"exists|not a directory"):
        warm.warm_session()


def test_after_a_failure_commands_do_not_wait_for_a_server(cache):
    place = server_place.server_directory()
    server_place.note_failure(place, "no memory")
    assert server_place.why_failed(place) == "no memory"
    assert warm.warm_session() is None
    note = place.with_name(f"{place.name}.failed")
    long_ago = time.time() - server_place.RETRY_SECONDS
    os.utime(note, (long_ago, long_ago))
    assert server_place.why_failed(place) is None


def test_a_stale_directory_is_no_server_and_stop_removes_it(cache):
    place = cache / "server-0"
    server_place.make_private(place)
    (place / server_place.NOTE).write_text(json.dumps({"pid": 2**22 + 1, "name": "gone"}))
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(place / server_place.SOCKET))
    assert server_place.dial(place) is None
    assert warm.describe() == []
    assert warm.stop_all() == 0
    assert not place.exists()


def test_a_process_id_that_now_belongs_to_another_is_not_killed(cache):
    place = cache / "server-0"
    server_place.make_private(place)
    note = {"pid": os.getpid(), "name": process_name(1)}
    (place / server_place.NOTE).write_text(json.dumps(note))
    warm.stop_all()  # this process goes on


def serve_rubbish(place: Path, content: bytes) -> threading.Thread:
    """Listen as a server does and answer once."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place / server_place.SOCKET))
    listener.listen()

    def answer() -> None:
        with listener, listener.accept()[0] as connection:
            connection.recv(100)
            connection.sendall(content)

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


@pytest.mark.parametrize("content", [b"", b"rubbish\n", b"[1]\n", b"x" * 200_000])
def test_rubbish_from_a_socket_is_no_answer(cache, content):
    place = cache / "server-0"
    server_place.make_private(place)
    thread = serve_rubbish(place, content)
    channel = server_place.dial(place)
    assert channel is not None
    channel.limit(10.0)
    assert channel.ask("use") is None
    channel.close()
    thread.join()


def test_messages_that_come_together_are_taken_one_by_one(cache):
    place = cache / "server-0"
    server_place.make_private(place)
    thread = serve_rubbish(place, b'{"state": "starting"}\n{"state": "ready"}\n')
    channel = server_place.dial(place)
    assert channel is not None
    channel.limit(10.0)
    assert channel.ask("use") == {"state": "starting"}
    assert channel.receive() == {"state": "ready"}
    assert channel.receive() is None
    channel.close()
    thread.join()


@pytest.mark.parametrize(("asked", "given"), [("8g", 1024), ("1g", 1024), ("700m", 700)])
def test_the_server_gets_little_memory(monkeypatch, asked, given):
    monkeypatch.setenv("MESHWRIGHT_MEMORY", asked)
    assert server.memory() == given


def test_a_server_that_nobody_uses_ends_and_leaves_nothing(cache, tmp_path):
    place = cache / "server-0"
    variables = {"MESHWRIGHT_SERVER_IDLE": "0", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "meshwright.runtime.server", str(place)],
        env={**server_place.server_environment(), **variables},
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert list(cache.iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_second_server_of_a_directory_ends_at_once(cache):
    place = cache / "server-0"
    server_place.make_private(place)
    lock = server.only_one(place)
    assert lock is not None
    with lock, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / server_place.SOCKET))
        listener.listen()
        assert server.only_one(place) is None
