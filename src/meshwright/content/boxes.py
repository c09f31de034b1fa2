"""Few boxes that hold many, of little volume (section IV-C), and boxes along a Hilbert curve.

The paper clusters the boxes of a filter into alpha groups and takes the smallest box around each;
it does not say how, and the optimum is NP-hard. Ours tries three clusterings (split one cluster,
merge many, insert box by box), improves each by moving boxes at the faces of clusters, and keeps
the one whose union has the least volume.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meshwright.content.kernels import fit as kernel
from meshwright.content.kernels.hilbert import AXIS_BITS, KEY_BITS, hilbert_keys
from meshwright.content.kernels.volume import box_volume
from meshwright.model.density import DensityTable
from meshwright.runtime.arrays import Floats, Ints, Longs
from meshwright.runtime.machine import cpu_count
from meshwright.runtime.progress import OnProgress

Corners = Floats  # float64[n, 2, dimensions]: low and high corner of each box


class Boxes(NamedTuple):
    """Boxes as rows of corners, float64[n, dimensions] each."""

    low: Floats
    high: Floats

    @property
    def size(self) -> int:
        """The number of boxes."""
        return len(self.low)

    def pick(self, rows: npt.NDArray[np.generic] | slice) -> Boxes:
        """Return some of the boxes."""
        return Boxes(self.low[rows], self.high[rows])

    @property
    def corners(self) -> Corners:
        """The boxes as one array, as the kernels that fit boxes read them."""
        return np.stack(self, axis=1)

    def expanded(self, share: float) -> Boxes:
        """Return the boxes longer by a share along each axis, about their centres."""
        more = (self.high - self.low) * (share / 2)
        return Boxes(self.low - more, self.high + more)


def fit_groups(
    boxes: Boxes,
    group: Ints,
    n_groups: int,
    alpha: int,
    density: DensityTable,
    on_progress: OnProgress = None,
) -> tuple[Boxes, Ints]:
    """Return at most alpha boxes for each group around its boxes, and the group of each.

    Boxes of group -1 are left out. `on_progress` is called with the share of groups done.
    """
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(n_groups + 1))
    used = np.flatnonzero(np.diff(ends))

    def fit(number: int) -> Corners:
        rows = order[ends[number] : ends[number + 1]]
        return fit_boxes(boxes.pick(rows).corners, alpha, density)

    found = [np.zeros((0, 2, boxes.low.shape[1]))]
    with ThreadPoolExecutor(cpu_count()) as pool:
        for fitted in pool.map(fit, used.tolist()):
            found.append(fitted)
            if on_progress:
                on_progress((len(found) - 1) / len(used))
    owner = np.repeat(used, [len(fitted) for fitted in found[1:]]).astype(np.int32)
    return from_corners(np.concatenate(found)), owner


def from_corners(corners: Corners) -> Boxes:
    """Return boxes given by their two corners."""
    return Boxes(corners[:, 0].copy(), corners[:, 1].copy())


def fit_boxes(boxes: Corners, alpha: int, density: DensityTable) -> Corners:
    """Return at most alpha boxes such that one of them holds each of these, of little volume."""
    if len(boxes) == 0:
        return boxes
    boxes = outermost(boxes)
    if len(boxes) <= alpha:
        return boxes
    if alpha == 1:
        return np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])[None]
    along = np.argsort(box_keys(boxes[:, 0], boxes[:, 1]), kind="stable")
    starts = (
        kernel.merge_up(boxes, along, alpha, density),
        kernel.split_down(boxes, alpha, density),
        kernel.insert_each(boxes, alpha, density),
    )
    volumes = [kernel.peel_faces(boxes, start, alpha, density) for start in starts]
    best = kernel.hulls(boxes, starts[int(np.argmin(volumes))], alpha)
    return outermost(best[(best[:, 0] <= best[:, 1]).all(axis=1)])  # a cluster may be empty


def outermost(boxes: Corners) -> Corners:
    """Return the boxes that lie in none of the largest, the largest first; of equal ones, one."""
    width = boxes[:, 1] - boxes[:, 0]
    # Of two nested boxes the outer has the larger sum of widths; both volumes may be 0.
    keys = boxes.reshape(len(boxes), -1).T[::-1]
    order = np.lexsort((*keys, -width.sum(axis=1)))
    return boxes[kernel.outermost(boxes, order)]


def coarser(boxes: Corners, most: int) -> Corners:
    """Return the boxes, or if they are more than `most`, boxes around runs on a Hilbert curve.

    A box around a run holds every box of it, so a filter fitted to the runs holds all boxes.
    """
    if len(boxes) <= most:
        return boxes
    order = np.argsort(box_keys(boxes[:, 0], boxes[:, 1]), kind="stable")
    starts = np.linspace(0, len(boxes), most, endpoint=False).astype(np.intp)
    low = np.minimum.reduceat(boxes[order, 0], starts)
    high = np.maximum.reduceat(boxes[order, 1], starts)
    return np.stack((low, high), axis=1)


def box_volumes(boxes: Boxes, density: DensityTable) -> Floats:
    """Return the volume of each box, or its share of events."""
    return np.array([box_volume(box, density) for box in boxes.corners], np.float64)


class Frame(NamedTuple):
    """The smallest and largest coordinates of the centres that a curve passes through."""

    least: Floats
    most: Floats


def frame_of(low: Floats, high: Floats) -> Frame:
    """Return the frame of the centres of one or more boxes."""
    centre = (low[:, :KEY_BITS] + high[:, :KEY_BITS]) / 2
    return Frame(centre.min(axis=0), centre.max(axis=0))


def key_bits(n_dimensions: int) -> int:
    """Return the number of bits in the keys of boxes."""
    used = min(n_dimensions, KEY_BITS)
    return used * min(AXIS_BITS, KEY_BITS // used) if used else 0


def box_keys(low: Floats, high: Floats, frame: Frame | None = None) -> Longs:
    """Return the key of each box's centre along a Hilbert curve through all centres.

    Only the first 62 dimensions count. If the boxes are only part of all boxes, `frame` is the
    frame of all.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> sorted(range(4), key=box_keys(corners, corners).tolist().__getitem__)
    [0, 1, 2, 3]
    """
    centre = (low[:, :KEY_BITS] + high[:, :KEY_BITS]) / 2
    keys = np.zeros(len(centre), np.int64)
    if centre.size == 0:
        return keys
    bits = min(AXIS_BITS, KEY_BITS // centre.shape[1])
    least, most = frame or frame_of(low, high)
    width = most - least
    width[width == 0] = 1.0
    cells = np.floor((centre - least) / width * ((1 << bits) - 1)).astype(np.uint32)
    hilbert_keys(cells, bits, keys)
    return keys
