"""What agents tell the planner about themselves: rates, and frames that nobody depends on."""

import pytest

from meshwright.mesh.core.frames import Confirm
from meshwright.mesh.shell.codec import LENGTH, OPTIONAL, Reader, decode, encode
from meshwright.mesh.shell.summaries import (
    LONGEST,
    STALE,
    Happened,
    Rates,
    Sightings,
    Stored,
    Summary,
    clipped,
)

EMPTY = Stored(0, 0, 100, 1_000)
FIRST = Summary("0.1", 5.0, (1, 7), True, True, 10, 20, 0, ((1, 4),), EMPTY, EMPTY, ())


def test_rates_are_what_was_counted_between_two_summaries():
    seen = Sightings()
    seen.take(3, FIRST, 100.0)
    assert seen.rates(3, 100.0) is None
    later = FIRST._replace(taken=30, delivered=26, relayed=2, received=((1, 8), (2, 10)))
    seen.take(3, later, 102.0)
    assert seen.rates(3, 103.0) == Rates(10.0, 3.0, 1.0, {1: 2.0, 2: 5.0})
    assert seen.rates(3, 102.0 + STALE + 0.1) is None


def test_an_agent_that_was_started_again_counts_from_zero():
    seen = Sightings()
    seen.take(3, FIRST, 100.0)
    seen.take(3, FIRST._replace(taken=50), 102.0)
    seen.take(3, FIRST._replace(started=9.0, taken=1), 104.0)
    assert seen.rates(3, 104.0) is None
    seen.take(3, FIRST._replace(started=9.0, taken=5), 106.0)
    assert seen.rates(3, 106.0).taken == 2.0


def test_events_are_kept_with_who_had_them_and_are_not_too_long():
    seen = Sightings()
    events = tuple(clipped([Happened(1.0, "links_lost", "x" * 1_000)]))
    assert len(events[0].detail) == LONGEST
    seen.take(3, FIRST._replace(events=events), 100.0)
    assert list(seen.events) == [(3, events[0])]


def test_a_summary_comes_through_a_link_as_it_was():
    told = FIRST._replace(events=(Happened(1.0, "links_lost", "größe"),))
    assert list(Reader(10_000).feed(encode(told))) == [told]


def test_a_peer_of_an_older_version_gets_no_summary():
    assert encode(FIRST, 2) == b""


@pytest.mark.parametrize("kind", [OPTIONAL, OPTIONAL + 77])
def test_optional_frames_that_cannot_be_read_are_skipped(kind):
    body = b"\x93\x01\x02\x03"
    assert decode(kind, body) is None
    stream = LENGTH.pack(len(body), kind) + body + encode(Confirm(1, 2))
    assert list(Reader(10_000).feed(stream)) == [Confirm(1, 2)]
