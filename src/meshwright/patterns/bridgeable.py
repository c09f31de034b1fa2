"""Topics that a bridge of Mosquitto cannot hold unchanged, found before anything is deployed."""

from pathlib import Path

import pyarrow.compute as pc

from meshwright.patterns.filters import topic_error
from meshwright.storage import open_dataset, read_table

SUSPICIOUS = r"[\x00-\x20\x7f-\x{9f}$+#]"  # only names with one of these are checked in full


def hard_topics(workload: Path) -> list[str]:
    """Return the topics of a workload that a bridge's ``topic`` line cannot hold unchanged."""
    names = read_table(open_dataset(workload, "workload"), "topics", ["name"]).column("name")
    suspicious = names.filter(pc.match_substring_regex(names, SUSPICIOUS)).to_pylist()
    return [name for name in suspicious if " " in name or topic_error(name)]
