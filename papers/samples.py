"""The graphs of the experiments, and breadth-first samples of them as workload datasets.

The papers' own graphs (Facebook 2009, Twitter 2010) are not public: FB is sampled from the
Facebook100 network Cornell5, TW from ego-Twitter. ego-Facebook is a second choice for FB, because
its hubs are closer to those of the paper's samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from meshwright.errors import InputError
from papers.model import Sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from meshwright.runtime.progress import Progress


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph: its file below the data directory, and whether its edges have a direction."""

    file: str
    directed: bool
    what: str


GRAPHS = {
    "fb": Graph("facebook100-cornell5/Cornell5.edges.txt.gz", False, "Facebook100, Cornell5"),
    "tw": Graph("ego-twitter/twitter_combined.rebuilt.txt.gz", True, "SNAP ego-Twitter"),
    "ego": Graph("ego-facebook/facebook_combined.txt.gz", False, "SNAP ego-Facebook"),
}


def missing_files(graphs: Iterable[str], data: Path | None) -> list[str]:
    """Return the files of graphs that are missing from the data directory."""
    needed = [GRAPHS[name].file for name in sorted(graphs)]
    return [file for file in needed if data is None or not (data / file).is_file()]


def check_data(data: Path | None) -> None:
    """Raise unless the data directory, if one is given, is a directory."""
    if data is not None and not data.is_dir():
        raise InputError(f"--data is '{data}', which is not a directory. Give that of the graphs.")


def prepare(
    spark: SparkSession,
    samples: Iterable[Sample],
    data: Path,
    place: Path,
    progress: Progress,
) -> dict[Sample, str]:
    """Make the samples that do not exist yet; return the digest of each."""
    from meshwright.storage import open_dataset
    from meshwright.workload.ingest import ingest
    from meshwright.workload.sample import sample

    wanted = sorted(set(samples), key=lambda one: one.name)
    digests = {}
    with progress.step(f"sampling graphs ({len(wanted)} samples)"):
        for done, one in enumerate(wanted):
            whole = place / one.graph
            if not whole.exists():
                graph = GRAPHS[one.graph]
                source = str(data / graph.file)
                ingest(spark, [source], whole, format="edges", directed=graph.directed)
            if one.nodes is not None and not (place / one.name).exists():
                sample(spark, whole, place / one.name, nodes=one.nodes, seed=one.seed)
            digests[one] = str(open_dataset(place / one.name, "workload")["digest"])
            progress.update((done + 1) / len(wanted))
    return digests
