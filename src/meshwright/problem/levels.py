"""Broker trees of several levels, made from places: near brokers hang below one of them.

Bisection at the widest gaps, as docs/content.md tells it; nothing is drawn.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meshwright.errors import InputError
from meshwright.problem.draws import Floats

Ids = npt.NDArray[np.int64]
MARGIN = 8  # a cut leaves at least this part of the brokers on each side


def hang(places: Floats, max_out_degree: int) -> npt.NDArray[np.int32]:
    """Return the parent of each broker, -1 for those right below the publisher.

    Parameters
    ----------
    places
        Where the brokers are, a row each.
    max_out_degree
        The most children a broker or the publisher may have.

    Examples
    --------
    >>> hang(np.array([[0.0], [1.0], [2.0], [9.0]]), 2).tolist()
    [1, -1, 1, -1]

    """
    if max_out_degree < 2:
        raise InputError(
            f"--max-out-degree is {max_out_degree}; give 2 or more, the paper's is 15."
        )
    parent = np.full(len(places), -1, np.int32)
    todo = [(-1, np.arange(len(places)))]
    while todo:
        above, ids = todo.pop()
        parent[ids] = above
        if len(ids) <= max_out_degree:
            continue
        most = 1
        while max_out_degree * most < len(ids):
            most = 1 + max_out_degree * most
        for part in _bisect(places, ids, most, max_out_degree):
            off = places[part] - places[part].mean(axis=0)
            head = int(part[np.argmin((off * off).sum(axis=1))])
            parent[head] = above
            todo.append((head, part[part != head]))
    return parent


def _bisect(places: Floats, ids: Ids, most: int, parts: int) -> list[Ids]:
    """Return the brokers in at most `parts` parts of at most `most` each."""
    if len(ids) <= most:
        return [ids]
    n = len(ids)
    points = places[ids]
    axis = int(np.argmax(np.ptp(points, axis=0)))
    order = np.argsort(points[:, axis], kind="stable")
    cut = np.arange(-(-n // MARGIN), n - -(-n // MARGIN) + 1)
    needed = -(-cut // most) - (-(n - cut) // most)
    cut = cut[needed <= parts]
    along = points[order, axis]
    gap = along[cut] - along[cut - 1]
    best = int(cut[np.lexsort((cut, np.abs(2 * cut - n), -gap))[0]])
    left, right = np.sort(ids[order[:best]]), np.sort(ids[order[best:]])
    spare = parts - (-(-best // most)) - (-(-(n - best) // most))
    to_left = -(-best // most) + spare * best // n
    return [
        *_bisect(places, left, most, to_left),
        *_bisect(places, right, most, parts - to_left),
    ]
