"""Names for the types of arrays, the same in all rooms; shapes are stated where arrays are made."""

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int32]  # ids, and counts that are never larger
Longs = npt.NDArray[np.int64]  # counts, sums, places in long arrays
Unsigned = npt.NDArray[np.uint32]  # an index that cannot be negative saves the check for it
Words = npt.NDArray[np.uint64]  # rows of bits, 64 to a word, the lowest bit first
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
