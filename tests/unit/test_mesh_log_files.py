"""The planner's log for other programs: whole after kill -9 at any byte, bounded, one history."""

import json
import os
import random
import shutil

import pytest

from meshwright.mesh.core.frames import Took
from meshwright.mesh.core.log import MeshLog
from meshwright.mesh.core.values import (
    Entry,
    Health,
    Interests,
    Joined,
    Snapshot,
    Topology,
    Version,
)
from meshwright.mesh.storage import mesh_log
from meshwright.mesh.storage.mesh_log import MeshLogFiles
from tests.naive import mesh_log as naive

NOTHING = Snapshot((), Topology("tree", ()), Health((), ()), ())


def new_log(n_brokers: int = 3) -> MeshLog:
    log = MeshLog()
    log.apply(Entry(Version(1, 1), (NOTHING,)))
    joined = tuple(Joined(node, f"b{node}", f"host{node}:1") for node in range(n_brokers))
    log.apply(Entry(Version(1, 2), joined))
    return log


def draw_entry(log: MeshLog, draw: random.Random, term: int = 1) -> None:
    """Let some brokers want more and less, or something change that `ingest` does not read."""
    version = Version(term, log.newest.number + 1)
    changes = []
    for node in draw.sample(sorted(log.joined), draw.randint(1, len(log.joined))):
        known = log.filters_of.get(node, set())
        more = {f"t/{draw.randrange(6)}" for _ in range(draw.randrange(3))} - known
        fewer = {name for name in sorted(known) if draw.random() < 0.3}
        changes.append(Interests(node, tuple(sorted(more)), tuple(sorted(fewer))))
    health = Health((draw.randrange(3),), ())
    log.apply(Entry(version, (health,) if draw.random() < 0.2 else tuple(changes)))


def state(log: MeshLog) -> set[tuple[str, str]]:
    names = {node: joined.name for node, joined in log.joined.items()}
    return {(names[node], name) for node, some in log.filters_of.items() for name in some}


def read(place) -> set[tuple[str, str]]:
    return naive.wanted(naive.lines_of(sorted(place.iterdir())))


def test_the_files_say_what_the_log_says(tmp_path):
    log, draw, files = new_log(), random.Random(1), MeshLogFiles(tmp_path)
    for _ in range(40):
        draw_entry(log, draw)
        if draw.random() < 0.7:
            files.follow(log)
            assert read(tmp_path) == state(log)
        if draw.random() < 0.2:
            files.complete()
    files.follow(log)
    assert read(tmp_path) == state(log)
    lines = [line for path in tmp_path.iterdir() for line in path.read_bytes().splitlines()]
    assert len(set(lines)) == len(lines)
    assert naive.brokers(map(json.loads, lines)) == {"b0", "b1", "b2"}


def test_a_line_has_its_time_version_and_broker(tmp_path):
    log, files = new_log(1), MeshLogFiles(tmp_path, clock=lambda: 1_700_000_000.1234)
    files.follow(log)
    log.apply(Entry(Version(1, 3), (Interests(0, ("ü/#", "a"), ()),)))
    files.follow(log)
    log.apply(Entry(Version(1, 4), (Interests(0, (), ("a",)),)))
    files.took(log, Took(0, 60.0, (("ü/1", 3, 30),), 7))
    (path,) = tmp_path.iterdir()
    assert path.name == "00000001-whole.meshlog.open"
    head = {"time": 1_700_000_000.123, "broker": "b0", "more": 0}
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {**head, "version": [1, 2], "wants": []},
        {**head, "version": [1, 3], "came": ["a", "ü/#"], "went": []},
        {**head, "version": [1, 4], "came": [], "went": ["a"]},
        {
            **head,
            "version": [1, 4],
            "took": [{"topic": "ü/1", "n": 3, "bytes": 30}],
            "others": 7,
            "ms": 60_000,
        },
    ]
    files.complete()
    assert [path.name for path in tmp_path.iterdir()] == ["00000001-whole.meshlog"]


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_at_any_byte_loses_and_doubles_nothing(tmp_path, seed):
    log, draw, place = new_log(), random.Random(seed), tmp_path / "log"
    files = MeshLogFiles(place)
    for _ in range(6):
        draw_entry(log, draw)
        files.follow(log)
    (path,) = place.glob("*.open")
    whole = path.read_bytes()
    for cut in range(0, len(whole), 7):
        copy = tmp_path / f"cut-{cut}"
        copy.mkdir()
        (copy / path.name).write_bytes(whole[:cut])
        again = MeshLogFiles(copy)
        kept = naive.lines_of(copy.iterdir())
        assert all(line["more"] == 0 for line in kept[-1:])
        again.follow(log)
        assert read(copy) == state(log)
        found = naive.lines_of(copy.iterdir())
        rows = [(*line["version"], line["broker"]) for line in found]
        assert len(set(rows)) == len(rows)
        shutil.rmtree(copy)


def test_another_history_begins_a_whole_file(tmp_path):
    log, draw = new_log(), random.Random(3)
    files = MeshLogFiles(tmp_path)
    draw_entry(log, draw)
    files.follow(log)
    files.complete()
    other = new_log(4)  # of a planner that found a longer log with its agents
    for _ in range(5):
        draw_entry(other, draw, term=2)
    MeshLogFiles(tmp_path).follow(other)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "00000001-whole.meshlog",
        "00000002-whole.meshlog.open",
    ]
    assert read(tmp_path) == state(other)


def test_old_files_go_and_what_is_left_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(mesh_log, "FILE_BYTES", 300)
    monkeypatch.setattr(mesh_log, "WHOLE_AFTER", 900)
    monkeypatch.setattr(mesh_log, "MOST_BYTES", 4_000)
    monkeypatch.setattr(mesh_log, "MOST_FILES", 9)
    log, draw, files = new_log(), random.Random(5), MeshLogFiles(tmp_path)
    for i in range(300):
        draw_entry(log, draw)
        files.follow(log)
        if i % 50 == 49:
            files.complete()
            files = MeshLogFiles(tmp_path)
        assert read(tmp_path) == state(log)
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 8_000
    first = min(path.name for path in tmp_path.iterdir())
    assert "-whole" in first
    assert first > "00000002"


def test_a_full_disk_leaves_complete_lines_and_is_made_up_for(tmp_path, monkeypatch):
    log, draw, files = new_log(), random.Random(6), MeshLogFiles(tmp_path)
    write, room = os.write, [400]

    def short(descriptor, data):
        if not room[0]:
            raise OSError(28, "No space left on device")
        done = write(descriptor, bytes(data)[: min(50, room[0])])
        room[0] -= done
        return done

    monkeypatch.setattr(mesh_log.os, "write", short)

    def fill():
        for _ in range(50):
            draw_entry(log, draw)
            files.follow(log)

    with pytest.raises(OSError, match="No space left"):
        fill()
    for path in tmp_path.iterdir():
        assert naive.lines_of([path])[-1]["more"] == 0
    room[0] = 100_000
    files.follow(log)
    assert read(tmp_path) == state(log)


def test_a_damaged_end_of_a_complete_file_is_answered_with_a_whole_one(tmp_path):
    log, files = new_log(), MeshLogFiles(tmp_path)
    files.follow(log)
    files.complete()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-9] + b"\n")
    MeshLogFiles(tmp_path).follow(log)
    assert any("-whole.meshlog.open" in path.name for path in tmp_path.iterdir())


def test_a_log_that_lost_its_end_is_written_again_under_a_higher_version(tmp_path):
    log, draw, files = new_log(), random.Random(8), MeshLogFiles(tmp_path)
    draw_entry(log, draw)
    files.follow(log)
    files.complete()
    before = read(tmp_path)
    shorter = new_log()  # as after a power failure
    again = MeshLogFiles(tmp_path)
    again.follow(shorter)
    assert read(tmp_path) == before
    for _ in range(3):
        draw_entry(shorter, draw, term=2)
    again.follow(shorter)
    assert read(tmp_path) == state(shorter) != before


def test_a_broker_that_leaves_is_gone_also_when_the_planner_was_killed(tmp_path):
    log, files = new_log(3), MeshLogFiles(tmp_path)
    files.follow(log)
    del log.joined[1]  # as a broker leaves
    log.apply(Entry(Version(1, 3), (Interests(0, ("a",), ()),)))
    files.follow(log)
    assert naive.there(naive.lines_of(tmp_path.iterdir())) == {"b0", "b2"}
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    path.write_bytes(data[: data.rfind(b"\n", 0, -1) + 1])  # its line was not written
    again = MeshLogFiles(tmp_path)
    assert naive.there(naive.lines_of(tmp_path.iterdir())) == {"b0", "b1", "b2"}
    again.follow(log)
    again.follow(log)
    lines = naive.lines_of(tmp_path.iterdir())
    assert [line["broker"] for line in lines if "gone" in line] == ["b1"]
    log.apply(Entry(Version(1, 4), (Joined(5, "b1", "h:9"),)))
    again.follow(log)
    assert naive.there(naive.lines_of(tmp_path.iterdir())) == {"b0", "b1", "b2"}
