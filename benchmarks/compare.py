"""Two result files of `scripts/bench overlay` side by side: scripts/bench compare A B."""

import json
from pathlib import Path

from benchmarks._instances import results


def run(arguments: list[str]) -> None:
    """Print seconds and edges of both files, and the ratio of their multiples of the floor."""
    if len(arguments) != 2:
        raise SystemExit("usage: scripts/bench compare A B")
    before, after = (
        {(row["instance"], row["method"]): row for row in json.loads(Path(path).read_text())}
        for path in arguments
    )
    print(f"{'instance':12} {'method':8} {'A s':>8} {'B s':>8} {'B/A in floors':>14} {'edges':>9}")
    for cell in before.keys() & after.keys():
        a, b = before[cell], after[cell]
        ratio = (b["seconds"] / b["floor"]) / (a["seconds"] / a["floor"])
        same = "same" if a["edges"] == b["edges"] else f"{b['edges'] - a['edges']:+,}"
        print(
            f"{cell[0]:12} {cell[1]:8} {a['seconds']:8.2f} {b['seconds']:8.2f} "
            f"{ratio:14.2f} {same:>9}"
        )


def smoke() -> None:
    """Compare two files of one row."""
    files = []
    for name, seconds in (("a", 2.0), ("b", 1.0)):
        row = {"instance": "tiny", "method": "gm", "seconds": seconds, "floor": 1.0, "edges": 3}
        file = results() / f"{name}.json"
        file.write_text(json.dumps([row]), encoding="utf-8")
        files.append(str(file))
    run(files)
