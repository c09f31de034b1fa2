"""Which topics the bridges of Mosquitto can hold as they are, told long before they are written."""

from pathlib import Path

import pyarrow.compute as pc

from meshwright.patterns.filters import topic_error
from meshwright.storage import open_dataset, read_table

SUSPICIOUS = r"[\x00-\x20\x7f-\x{9f}$+#]"  # a quick look: only such names are looked at closely


def hard_topics(workload: Path) -> list[str]:
    """Return the topics of a workload that a bridge's ``topic`` line cannot hold as they are."""
    names = read_table(open_dataset(workload, "workload"), "topics", ["name"]).column("name")
    suspicious = names.filter(pc.match_substring_regex(names, SUSPICIOUS)).to_pylist()
    return [name for name in suspicious if " " in name or topic_error(name)]
