"""Records in segment files: what is written is there again, whatever happened to the last bytes."""

import errno
import os
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.errors import InputError
from meshwright.mesh.storage import segments
from meshwright.mesh.storage.segments import FullError, Segments
from tests.strategies import draws

CHANGES = [
    {b"a": b"first"},
    {b"b": b"", b"c": b"x" * 40},
    {b"a": None},
    {b"b": b"\xd7seg inside a value"},
    {b"d": b"last"},
]
KEYS = st.sampled_from([b"a", b"b", b"c", b"long key"])
VALUES = st.none() | st.binary(max_size=60)


def content(place, **options):
    with Segments(place, **options) as opened:
        return dict(opened.items())


def states(changes):
    """Return the records after each of the single changes, and before the first."""
    found = [{}]
    for batch in changes:
        for key, value in batch.items():
            after = {k: v for k, v in found[-1].items() if k != key}
            found.append(after if value is None else {**after, key: value})
    return found


def written(place):
    with Segments(place) as opened:
        for batch in CHANGES:
            opened.write(batch)
    return (place / "1.seg").read_bytes()


def ends(data):
    """Return the offset at which each entry ends, 0 first."""
    return [0, *(offset + entry.size for offset, entry in segments._entries(data))]


def test_records_are_there_after_opening_again(tmp_path):
    written(tmp_path)
    assert content(tmp_path) == states(CHANGES)[-1]


def test_a_file_cut_at_any_byte_keeps_every_entry_before_the_cut(tmp_path):
    data = written(tmp_path / "whole")
    after = states(CHANGES)
    for n in range(len(data) + 1):
        place = tmp_path / "cut"
        place.mkdir()
        (place / "1.seg").write_bytes(data[:n])
        n_whole = sum(end <= n for end in ends(data)) - 1
        with Segments(place) as opened:
            assert dict(opened.items()) == after[n_whole], n
            assert opened.damage.cut == n - ends(data)[n_whole]
            opened.write({b"new": b"1"})  # and it can be written to at once
        assert content(place) == {**after[n_whole], b"new": b"1"}, n
        shutil.rmtree(place)


def test_a_wrong_byte_anywhere_costs_its_own_entry_and_invents_none(tmp_path):
    data = written(tmp_path / "whole")
    bounds = ends(data)
    singles = [(key, value) for batch in CHANGES for key, value in batch.items()]
    for n in range(len(data)):
        place = tmp_path / "wrong"
        place.mkdir()
        (place / "1.seg").write_bytes(data[:n] + bytes([data[n] ^ 0x55]) + data[n + 1 :])
        hit = sum(end <= n for end in bounds) - 1
        left = states([{key: value} for i, (key, value) in enumerate(singles) if i != hit])[-1]
        with Segments(place) as opened:
            assert dict(opened.items()) == left, n
            assert opened.damage.n_bytes == bounds[hit + 1] - bounds[hit]
        shutil.rmtree(place)


@draws(60)
@given(st.lists(st.dictionaries(KEYS, VALUES, min_size=1), max_size=40), st.integers(1, 400))
def test_old_segments_are_deleted_and_nothing_is_lost(tmp_path_factory, batches, segment_bytes):
    place = tmp_path_factory.mktemp("segments")
    with Segments(place, segment_bytes=segment_bytes) as opened:
        for batch in batches:
            opened.write(batch)
            assert opened.disk_bytes == sum(p.stat().st_size for p in place.glob("*.seg"))
        assert dict(opened.items()) == states(batches)[-1]
        most = max((sum(len(v or b"") + 30 for v in b.values()) for b in batches), default=0)
        assert opened.disk_bytes <= 2 * opened.valid_bytes + 3 * segment_bytes + 3 * most
    assert content(place, segment_bytes=segment_bytes) == states(batches)[-1]


def test_beyond_the_limit_nothing_is_written_and_removing_makes_room(tmp_path):
    with Segments(tmp_path, max_bytes=200) as opened:
        opened.write({b"a": b"x" * 150})
        with pytest.raises(FullError, match="is at its limit of 200 bytes"):
            opened.write({b"b": b"y" * 50})
        assert opened.keys() == [b"a"]
        opened.write({b"a": None})
        opened.write({b"b": b"y" * 50})
    assert content(tmp_path) == {b"b": b"y" * 50}


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    real = os.write

    def some_then_full(descriptor, data):
        if len(data) > 20:
            return real(descriptor, data[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    with Segments(tmp_path) as opened:
        opened.write({b"a": b"1"})
        before = (tmp_path / "1.seg").read_bytes()
        monkeypatch.setattr(os, "write", some_then_full)
        with pytest.raises(FullError, match="cannot be written: No space left on device"):
            opened.write({b"b": b"x" * 50})
        monkeypatch.undo()
        assert (tmp_path / "1.seg").read_bytes() == before
        opened.write({b"c": b"2"})
    assert content(tmp_path) == {b"a": b"1", b"c": b"2"}


def refuses(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_takes_no_new_file_refuses_a_write_and_takes_it_later(tmp_path, monkeypatch):
    with Segments(tmp_path, segment_bytes=10) as opened:
        opened.write({b"a": b"x" * 20})  # the next one needs a new segment
        monkeypatch.setattr(os, "open", refuses)
        for _ in range(2):
            with pytest.raises(FullError, match="cannot be written: No space left on device"):
                opened.write({b"b": b"1"})
        monkeypatch.undo()
        assert dict(opened.items()) == {b"a": b"x" * 20}
        opened.write({b"c": b"2"})
    assert content(tmp_path) == {b"a": b"x" * 20, b"c": b"2"}


def test_a_disk_that_does_not_even_cut_off_half_a_write_gets_a_new_file(tmp_path, monkeypatch):
    real = os.write

    def some_then_broken(descriptor, data):
        if len(data) > 20:
            return real(descriptor, data[:20])
        raise OSError(errno.EIO, "Input/output error")

    with Segments(tmp_path) as opened:
        opened.write({b"a": b"1"})
        monkeypatch.setattr(os, "write", some_then_broken)
        monkeypatch.setattr(os, "ftruncate", refuses)
        with pytest.raises(FullError, match="cannot be written: Input/output error"):
            opened.write({b"b": b"x" * 50})
        monkeypatch.undo()
        opened.write({b"c": b"2"})
        assert dict(opened.items()) == {b"a": b"1", b"c": b"2"}
    with Segments(tmp_path) as again:
        assert dict(again.items()) == {b"a": b"1", b"c": b"2"}
        assert again.damage == (60, 0)  # three times 20 bytes of the one that was refused


def test_old_segments_that_cannot_be_deleted_are_deleted_later(tmp_path, monkeypatch):
    with Segments(tmp_path, segment_bytes=10) as opened:
        opened.write({b"a": b"x" * 20})
        monkeypatch.setattr(type(tmp_path), "unlink", refuses)
        opened.write({b"a": b"y" * 20})
        monkeypatch.undo()
        opened.write({b"b": b"1"})
        assert not (tmp_path / "1.seg").exists()
    assert content(tmp_path) == {b"a": b"y" * 20, b"b": b"1"}


def test_a_directory_is_open_in_one_process_at_a_time(tmp_path):
    with Segments(tmp_path), pytest.raises(InputError, match="is in use by another process"):
        Segments(tmp_path)
    assert content(tmp_path) == {}
