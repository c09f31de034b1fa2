"""The launcher's environment: made once, made anew when it must be, and a clear word on Java.

The package downloads are stood in for by a small interpreter that counts how often it is asked
to install: tests need no network. `scripts/fresh` does it for real.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from meshwright.deploy.lab.processes import wait_until
from tests.patience import SECONDS

ROOT = Path(__file__).parents[2]
TOOLS = ("sh", "cat", "cksum", "mkdir", "rm", "sleep", "dirname", "sed", "head", "chmod", "grep")

STAND_IN = """#!/bin/sh
case "$*" in
  *"-m venv"*)
    for last; do :; done
    mkdir -p "$last/bin" "$last/site"
    cp "$0" "$last/bin/python" ;;
  *"-m pip"*)
    echo built >>"$COUNT"
    if [ -e "$COUNT.wait" ]; then exec sleep 60; fi
    sleep 1
    if [ -e "$COUNT.fail" ]; then exit 1; fi ;;
  *sysconfig*) echo "$(dirname "$(dirname "$0")")/site" ;;
  *"-m meshwright"*) echo "ran $*" ;;
esac
"""


@pytest.fixture
def clone(tmp_path):
    place = tmp_path / "clone with spaces"
    (place / "scripts").mkdir(parents=True)
    for name in ("meshwright", "scripts/environment.sh", "requirements.lock"):
        shutil.copy(ROOT / name, place / name)
    python = tmp_path / "python-stand-in"
    python.write_text(STAND_IN)
    python.chmod(0o755)
    return place


def start(clone, *arguments, start_new_session=False, **environment):
    count = clone.parent / "count"
    return subprocess.Popen(
        ["sh", clone / "meshwright", *arguments],
        env={
            **os.environ,
            "PYTHON": str(clone.parent / "python-stand-in"),
            "COUNT": str(count),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=start_new_session,
    )


def run(clone, *arguments, **environment):
    process = start(clone, *arguments, **environment)
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


def builds(clone):
    return (clone.parent / "count").read_text().count("built")


def test_the_environment_is_made_once_and_again_when_the_lock_changes(clone):
    assert run(clone, "--version")[:2] == (0, "ran -m meshwright --version\n")
    assert run(clone, "--help")[0] == 0
    assert builds(clone) == 1
    with (clone / "requirements.lock").open("a") as lock:
        lock.write("# changed\n")
    assert run(clone, "--version")[0] == 0
    assert builds(clone) == 2
    assert not (clone / ".venv.lock").exists()


def test_two_runs_at_once_make_one_environment(clone):
    both = [start(clone, "--version") for _ in range(2)]
    assert [process.wait(timeout=SECONDS) for process in both] == [0, 0]
    assert builds(clone) == 1


def test_the_lock_of_a_killed_run_is_taken_over(clone):
    ended = subprocess.Popen(["true"])
    ended.wait()
    (clone / ".venv.lock").mkdir()
    (clone / ".venv.lock" / "pid").write_text(str(ended.pid))
    assert run(clone, "--version")[0] == 0
    assert builds(clone) == 1


def test_a_failed_install_says_what_to_do_and_is_tried_again(clone):
    (clone.parent / "count.fail").touch()
    code, _, err = run(clone, "--version")
    assert code == 3
    assert "the packages of requirements.lock cannot be installed" in err
    (clone.parent / "count.fail").unlink()
    assert run(clone, "--version")[0] == 0


def test_an_interrupt_while_the_environment_is_made_is_told_and_leaves_no_lock(clone):
    (clone.parent / "count.wait").touch()
    process = start(clone, "--version", start_new_session=True)
    assert wait_until((clone.parent / "count").exists)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate()[1].splitlines()[-1] == "error: interrupted."
    assert process.returncode == 130
    assert not (clone / ".venv.lock").exists()


@pytest.fixture
def tools(tmp_path):
    """A path without Java and without the rights to install it."""
    place = tmp_path / "tools"
    place.mkdir()
    for name in TOOLS:
        (place / name).symlink_to(shutil.which(name))
    (place / "cp").symlink_to(shutil.which("cp"))
    (place / "id").write_text("#!/bin/sh\necho 1000\n")
    (place / "id").chmod(0o755)
    return place


def test_without_java_one_line_says_what_to_install(clone, tools):
    code, _, err = run(clone, "stats", "w", PATH=str(tools), JAVA_HOME="")
    assert code == 3
    assert "error: Spark needs Java 17 or later: install it" in err
    assert run(clone, "stats", "--help", PATH=str(tools), JAVA_HOME="")[0] == 0


def test_an_old_java_is_refused_and_a_new_one_used(clone, tools, tmp_path):
    for version, expected in (("11.0.2", 3), ("17.0.15", 0), ("25", 0)):
        home = tmp_path / version
        (home / "bin").mkdir(parents=True)
        java = home / "bin" / "java"
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        java.chmod(0o755)
        code, _, _ = run(clone, "stats", "w", PATH=str(tools), JAVA_HOME=str(home))
        assert code == expected


def test_the_version_of_java_is_read_from_the_file_beside_it(clone, tools, tmp_path):
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexit 1\n")  # it is not asked
    java.chmod(0o755)
    for version, expected in (("21.0.2", 0), ("11.0.2", 3)):
        (tmp_path / "jdk" / "release").write_text(f'JAVA_VERSION="{version}"\n')
        code, _, _ = run(clone, "stats", "w", PATH=str(tools), JAVA_HOME=str(tmp_path / "jdk"))
        assert code == expected
