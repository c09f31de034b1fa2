"""The digest of a problem: one SHA-256 that depends on its content alone.

Like the digest of a workload (`meshwright.storage.digest`), it hashes blocks of consecutive ids:

- names of subscribers and brokers, as for a workload;
- a block of subscribers: location, low, high and max_delay of each in id order (8 bytes a number,
  little-endian);
- brokers: parent (-1 for the publisher), location and capacity of each in id order;
- the whole: the counts, the limits and the density, then the four digests.

Any partitioning whose parts hold whole blocks gives the same digest, and so does a `Problem`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meshwright.model.names import arrow_names
from meshwright.storage.digest import BLOCK, BLOCK_BITS, names_digest

if TYPE_CHECKING:
    from meshwright.model.broker_tree import BrokerTree
    from meshwright.model.density import Density

_FORMAT = b"meshwright problem 1\n"
Floats = npt.NDArray[np.float64]


def subscriber_blocks(
    first: int, location: Floats, low: Floats, high: Floats, max_delay: Floats
) -> Iterator[tuple[int, bytes]]:
    """Yield the digest of each block of the subscribers from `first` on; no block may be split."""
    for start in range(0, len(location), BLOCK):
        some = slice(start, start + BLOCK)
        rows = np.column_stack((location[some], low[some], high[some], max_delay[some]))
        yield (first + start) >> BLOCK_BITS, hashlib.sha256(_bytes(rows)).digest()


def problem_digest(
    *,
    tree: BrokerTree,
    n_subscribers: int,
    n_dimensions: int,
    alpha: int,
    beta: float,
    beta_max: float,
    last_hop: bool,
    density: Density | None,
    subscribers: str,
    subscriber_names: str,
) -> str:
    """Return the digest of a problem; `subscribers` and `subscriber_names` are table digests."""
    whole = hashlib.sha256(_FORMAT)
    counts = [n_subscribers, tree.n_brokers, tree.location.shape[1], n_dimensions, alpha, last_hop]
    whole.update(np.array(counts, "<i8").tobytes())
    whole.update(_bytes(np.array([beta, beta_max])))
    if density is not None:
        for values in (*density.edges, density.values):
            whole.update(np.array(values.shape, "<i8").tobytes() + _bytes(values))
    brokers = np.column_stack((tree.parent, tree.location, tree.capacity))
    whole.update(hashlib.sha256(_bytes(brokers)).digest())
    whole.update(bytes.fromhex(names_digest(arrow_names(tree.names))))
    whole.update(bytes.fromhex(subscribers) + bytes.fromhex(subscriber_names))
    return whole.hexdigest()


def _bytes(values: npt.NDArray[Any]) -> bytes:
    # Adding 0 turns -0 into 0: the two are equal and must have equal hashes.
    return bytes((values + 0.0).astype("<f8", copy=False).tobytes())
