"""Directory datasets: Parquet tables and a manifest, written whole or not at all."""

from meshwright.datasets.digest import workload_digest
from meshwright.datasets.manifest import FORMAT_VERSION, Manifest, command_line, read_manifest
from meshwright.datasets.store import (
    Staging,
    open_dataset,
    read_column,
    read_table,
    refuse_overwrite,
    scratch_beside,
    staging,
    write_table,
)

__all__ = [
    "FORMAT_VERSION",
    "Manifest",
    "Staging",
    "command_line",
    "open_dataset",
    "read_column",
    "read_manifest",
    "read_table",
    "refuse_overwrite",
    "scratch_beside",
    "staging",
    "workload_digest",
    "write_table",
]
