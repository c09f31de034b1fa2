"""The digests of overlays and runs: SHA-256 over their content, the same for any partitioning.

Publications are hashed in blocks of consecutive numbers, as subscriptions are in those of
workloads: a task hashes whole blocks, and the driver puts them in order. A block, and the table of
load, is hashed column by column, little-endian, null as 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from meshwright.datasets.digest import combine
from meshwright.smallworld.world import SmallWorld
from meshwright.values import Overlay

BLOCK = 4_096  # publications: on 10,000 nodes about half a second of work
_RUN = b"meshwright run 1\n"
_OVERLAY = b"meshwright overlay 1\n"


def table_digest(table: pa.Table | pa.RecordBatch) -> bytes:
    """Return the digest of a table of numbers."""
    whole = hashlib.sha256()
    for column in table.columns:
        array = column.fill_null(0) if column.null_count else column
        kind = np.dtype(column.type.to_pandas_dtype()).newbyteorder("<")
        whole.update(np.asarray(array, kind).tobytes())
    return whole.digest()


def run_digest(publications: pa.Table, load: pa.Table) -> str:
    """Return the digest of a run from its tables, publications in order."""
    n = publications.num_rows
    starts = range(0, n, BLOCK)
    blocks = [(s // BLOCK, table_digest(publications.slice(s, BLOCK))) for s in starts]
    return combine_run(n, blocks, load)


def combine_run(n: int, blocks: Iterable[tuple[int, bytes]], load: pa.Table) -> str:
    """Return the digest of a run from those of the blocks of its publications, in any order."""
    whole = hashlib.sha256(_RUN)
    for count in (n, load.num_rows):
        whole.update(count.to_bytes(8, "little"))
    whole.update(bytes.fromhex(combine(blocks)))
    whole.update(table_digest(load))
    return whole.hexdigest()


def overlay_digest(overlay: Overlay) -> str:
    """Return the digest of an overlay: its workload, its links in order, its ring and fingers."""
    whole = hashlib.sha256(_OVERLAY + bytes.fromhex(overlay.instance.digest))
    arrays = [overlay.edges, overlay.gains]
    if isinstance(overlay, SmallWorld):
        arrays += [overlay.ring, overlay.fingers]
    for array in arrays:
        whole.update(array.size.to_bytes(8, "little"))
        whole.update(np.asarray(array, "<i4").tobytes())
    return whole.hexdigest()
