"""Directory datasets: Parquet tables and a manifest, complete or absent."""

from meshwright.storage.digest import workload_digest
from meshwright.storage.manifest import Manifest, read_manifest
from meshwright.storage.store import (
    Staging,
    find_input,
    open_dataset,
    read_by_id,
    read_column,
    read_parts,
    read_table,
    refuse_overwrite,
    scratch_beside,
    spark_reads,
    staging,
    write_table,
)
