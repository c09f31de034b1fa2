"""How the kernels of inner loops are compiled.

Numba counts references to each array that a function takes out of a tuple, with atomic operations
that cost as much as the work of a short function: a third of the time of `gm` on 1,000 nodes. A
`kernel` is compiled without that. It works on the arrays it is given: it makes none, copies no
slice to another, and returns numbers. What must make arrays is compiled as `maker`.
"""

from __future__ import annotations

from typing import Any

from numba import njit

_compile: Any = njit  # the option has no type

kernel = _compile(cache=True, nogil=True, _nrt=False)
maker = _compile(cache=True, nogil=True, _nrt=True)  # said, or it would take after its caller
