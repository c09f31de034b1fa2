"""Bring the ledger of a directory up to date with the claims, without a run.

``python -m papers docs`` writes ledger.json, ledger.md and the line of the README again: after a
claim or a reason was worded anew, or a ledger.json was merged by hand.
"""

import sys
from pathlib import Path

from papers.ledger import read_ledger, refresh, write_entries
from papers.ledger_page import DOCS_FIGURE, README, write_headline, write_ledger


def main(docs: Path) -> None:
    """Write all three from `docs`/ledger.json."""
    entries = refresh(read_ledger(docs / "ledger.json"))
    write_entries(docs / "ledger.json", entries)
    write_ledger(docs / "ledger.md", entries, DOCS_FIGURE)
    write_headline(docs / README, entries)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
