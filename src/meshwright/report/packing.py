"""Numbers in a page: long lists of whole numbers as text, a third of their size as JSON.

A list becomes ``{"$i": text}``, a list of such lists ``{"$l": [lengths, values]}`` with length -1
for a missing one. The text is base64 of the differences from one number to the next, zigzag, in
groups of seven bits, the smallest first. `core.js` reads it.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import numpy.typing as npt

SHORTEST = 32  # shorter lists gain nothing
GROUP = 7  # bits


def packed(value: Any) -> Any:
    """Return a value with its long lists of whole numbers packed.

    Examples
    --------
    >>> packed({"few": [1, 2], "many": [7] * 40})["few"]
    [1, 2]
    >>> packed({"many": [7] * 40})["many"]["$i"][:4]
    'DgAA'

    """
    if isinstance(value, dict):
        return {name: packed(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > SHORTEST and all(type(part) is int for part in value):
        return {"$i": encoded(np.array(value, np.int64))}
    if len(value) > SHORTEST and all(_is_ints(part) for part in value):
        lengths = [-1 if part is None else len(part) for part in value]
        whole = [number for part in value if part is not None for number in part]
        return {"$l": [encoded(np.array(lengths)), encoded(np.array(whole, np.int64))]}
    return [packed(part) for part in value]


def encoded(numbers: npt.NDArray[np.int64]) -> str:
    """Return whole numbers as text."""
    steps = np.diff(numbers, prepend=0)
    zigzag = ((steps << 1) ^ (steps >> 63)).astype(np.uint64)
    lengths = np.ones(len(zigzag), np.int64)
    for group in range(1, 10):
        lengths += zigzag >= np.uint64(1) << np.uint64(GROUP * group)
    ends = np.cumsum(lengths)
    out = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    for group in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > group)
        bits = (zigzag[rows] >> np.uint64(GROUP * group)) & np.uint64(127)
        more = (lengths[rows] > group + 1).astype(np.uint64) << np.uint64(GROUP)
        out[ends[rows] - lengths[rows] + group] = (bits | more).astype(np.uint8)
    return base64.b64encode(out.tobytes()).decode()


def embedded(value: Any) -> str:
    r"""Return JSON that may stand inside a script element: nothing in it can end the element.

    Examples
    --------
    >>> embedded({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'

    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _is_ints(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(type(part) is int for part in value))
