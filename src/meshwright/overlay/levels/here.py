"""Scans in this process, on all processors: what is too little to be worth a round of tasks."""

from __future__ import annotations

from collections.abc import Iterator

from meshwright.kernels.threads import Spares, in_parts
from meshwright.overlay.levels.run import Scan
from meshwright.overlay.levels.scan_kernel import (
    Found,
    Interests,
    Ints,
    Linked,
    new_counts,
    new_found,
    scan_rows,
)


def scan_here(interests: Interests, room: int) -> Scan:
    """Return the scan of rows in this process."""
    topics, position_at = interests.topics.copy(), interests.position_at.copy()
    return scan_kept(interests._replace(topics=topics, position_at=position_at), room)


def scan_kept(interests: Interests, room: int) -> Scan:
    """Return the same for interests that nothing changes."""
    spares = Spares(lambda: new_counts(interests))

    def scan(rows: Ints, linked: Linked, cap: int) -> Iterator[tuple[Ints, Found]]:
        found = new_found(interests, rows, room)

        def work(first: int, last: int) -> None:
            with spares.one() as counts:
                scan_rows(interests, linked, cap, rows, first, last, counts, found)

        in_parts(work, len(rows))
        yield rows, found

    return scan
