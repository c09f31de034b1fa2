import fcntl
import json
import os
import sys
import time
from pathlib import Path

import pytest

from meshwright.cli import options
from meshwright.deploy.lab.processes import wait_until
from meshwright.errors import InputError, SparkError
from meshwright.runtime import class_archive
from meshwright.runtime.java import require_java

DAY = 86_400


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache directory of the user, and the archive switched on."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(class_archive.SWITCH)
    return tmp_path / "meshwright"


@pytest.fixture
def archive(cache):
    """The path of an archive that is there, as far as its note says."""
    cache.mkdir()
    path = class_archive.archive_path(require_java())
    path.write_bytes(b"classes" * 100)
    found = path.stat()
    note = {"bytes": found.st_size, "written": found.st_mtime_ns}
    path.with_name(f"{path.name}.json").write_text(json.dumps(note))
    return path


def record(draft: bytes | None = None) -> None:
    """Record a JVM that writes a draft, or none."""
    with class_archive.recording():
        (option,) = class_archive.jvm_options(require_java())
        path = Path(option.strip('"').removeprefix("-XX:ArchiveClassesAtExit="))
        assert path.name.startswith(".spark-")
        if draft is not None:
            path.write_bytes(draft)


def test_without_an_archive_the_jvm_gets_no_option_and_one_should_be_made(cache):
    assert class_archive.jvm_options(require_java()) == []
    assert class_archive.is_missing()
    assert class_archive.describe()["why_not"] == "not made yet"


def test_an_archive_is_given_to_the_jvm(archive):
    options = class_archive.jvm_options(require_java())
    assert options == [f'"-XX:SharedArchiveFile={archive}"', "-XX:+VerifySharedSpaces"]
    assert not class_archive.is_missing()
    assert class_archive.describe() == {"path": str(archive), "bytes": 700}


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no", "false"])
def test_an_archive_that_is_switched_off_is_neither_used_nor_made(archive, monkeypatch, word):
    monkeypatch.setenv(class_archive.SWITCH, word)
    assert class_archive.jvm_options(require_java()) == []
    assert not class_archive.is_missing()
    assert class_archive.describe()["why_not"] == f"MESHWRIGHT_CLASS_ARCHIVE is {word!r}"


def test_an_archive_that_was_changed_is_not_used(archive):
    archive.write_bytes(b"classes" * 99)
    assert class_archive.jvm_options(require_java()) == []
    archive.write_bytes(b"classes" * 100)  # as long as before, and written later
    os.utime(archive, (1, 1))
    assert class_archive.jvm_options(require_java()) == []


@pytest.mark.parametrize("note", ["", "{", "[]", "null"])
def test_an_archive_with_a_broken_note_is_not_used(archive, note):
    archive.with_name(f"{archive.name}.json").write_text(note)
    assert class_archive.jvm_options(require_java()) == []


def test_another_java_has_another_archive(cache, tmp_path):
    here = require_java()
    other = tmp_path / "jdk" / "bin" / "java"
    other.parent.mkdir(parents=True)
    other.write_text("")
    assert class_archive.archive_path(other) != class_archive.archive_path(here)
    before = class_archive.archive_path(other)
    other.write_text("updated")
    assert class_archive.archive_path(other) != before


def test_a_path_that_is_no_option_of_a_jvm_is_refused(cache, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a:b"))
    assert not class_archive.is_missing()
    with pytest.raises(SparkError, match=r"no archive .* was made: the path .* holds ':'"):
        record()


def test_a_jvm_that_writes_no_draft_is_named(cache):
    with pytest.raises(SparkError, match="the JVM wrote none"):
        record()
    assert class_archive.jvm_options(require_java()) == []


def test_a_draft_that_a_jvm_refuses_is_not_published(cache):
    with pytest.raises(SparkError, match="a JVM refuses it"):
        record(bytes(100_000))
    assert not class_archive.archive_path(require_java()).exists()
    assert list(cache.glob(".*")) == []


def test_an_attempt_that_failed_is_not_repeated_for_some_days(cache):
    with pytest.raises(SparkError, match="the JVM wrote none"):
        record()
    path = class_archive.archive_path(require_java())
    assert not class_archive.is_missing()
    assert "the JVM wrote none" in class_archive.describe()["why_not"]
    then = time.time() - (class_archive.RETRY_DAYS + 1) * DAY
    os.utime(path.with_name(f"{path.name}.failed"), (then, then))
    assert class_archive.is_missing()


def test_a_disk_without_room_is_named(cache, monkeypatch):
    monkeypatch.setattr(class_archive, "ROOM", 1 << 60)
    with pytest.raises(SparkError, match=r"has less than 1073741824 GB of room"):
        record()


def test_a_command_starts_the_making_in_the_background(cache, monkeypatch, tmp_path):
    program, said = tmp_path / "python", tmp_path / "said"
    program.write_text(f'#!/bin/sh\necho "$@" >{said}.draft && mv {said}.draft {said}\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.delenv("CI", raising=False)
    options.prepare_in_background()
    assert wait_until(said.exists)
    assert said.read_text() == "-m meshwright spark prepare --quiet\n"


@pytest.mark.parametrize("reason", ["CI", "off", "there"])
def test_a_command_starts_nothing_in_the_background(request, cache, monkeypatch, reason):
    monkeypatch.delenv("CI", raising=False)
    if reason == "CI":
        monkeypatch.setenv("CI", "true")
    elif reason == "off":
        monkeypatch.setenv(class_archive.SWITCH, "off")
    else:
        request.getfixturevalue("archive")

    def refuse(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(options, "Popen", refuse)
    options.prepare_in_background()


def test_one_process_makes_the_archive(cache):
    cache.mkdir()
    with (cache / "archive.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another command is making the archive"):
            record()


def test_what_killed_makers_left_and_what_nobody_uses_is_removed(archive):
    left = archive.with_name(f".{archive.name}-12345")
    left.write_text("")
    old = archive.with_name("spark-0.jsa")
    old.write_text("")
    note = archive.with_name("spark-0.jsa.json")
    note.write_text("{}")
    then = time.time() - (class_archive.KEPT_DAYS + 1) * DAY
    os.utime(note, (then, then))
    with pytest.raises(SparkError, match="the JVM wrote none"):
        record()
    assert archive.exists()
    assert [path.name for path in (left, old, note) if path.exists()] == []
