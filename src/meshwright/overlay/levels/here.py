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
    spares = Spares(lambda: new_counts(interests))

    def scan(rows: Ints, linked: Linked, cap: int) -> Iterator[tuple[Ints, Found]]:
        found = new_found(interests, rows, room)

        def work(first: int, last: int) -> None:
            with spares.one() as counts:
                scan_rows(interests, linked, cap, rows, first, last, counts, found)

        in_parts(work, len(rows))
        yield rows, found

    return scan
