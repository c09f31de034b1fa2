"""Changes of valid inputs: of bytes, of lines, of values in JSON."""

import json
import random
from pathlib import Path
from typing import Any

PIECES = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b'"', b",", b"\t", b" ", b"#"),
    *(b"\xc3", b"\xed\xa0\x80", b"1e400", b"[" * 3000, b"x" * 140_000, b"{}", b"null", b"'"),
    *(b"../", b"$SYS/#", b"+", b"\\", b"\x1b[31m", b"</script>", "\u202e".encode(), b"-1", b"\x0b"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 1.5, float("1e308"), -0.0, "", "x", "\n"),
    *([], [1], {}, {"a": 1}, "v-../../etc", "0" * 5000, [[]], "\u0000", "\ud800"),
    *(10**400, float("nan"), float("-inf"), [None], [0, "x"], {"count": -1}, {"a": {"count": 1}}),
)
NUMBERS = (
    *("0", "-0", "-1", "1", "2", "1e308", "-1e308", "1e-308", "nan", "inf", "-inf", "0.5", "1e30"),
    *(str(2**31), str(2**63), str(10**30), "9" * 5000, "", " ", "1,5", "0x10", "1_000", "٣"),
)


def mutated(data: bytes, draw: random.Random) -> bytes:
    """Return data with a few changes drawn at random."""
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(data) + 1)
        kind = draw.randrange(8)
        if kind == 0:
            data = data[:at] + draw.choice(PIECES) + data[at:]
        elif kind == 1:
            data = data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
        elif kind == 2:
            data = data[:at]
        elif kind == 3:
            end = min(len(data), at + draw.randrange(1, 200))
            data = data[:at] + data[end:]
        elif kind == 4:
            lines = data.split(b"\n")
            draw.shuffle(lines)
            data = b"\n".join(lines)
        elif kind == 5:
            lines = data.split(b"\n")
            line = draw.randrange(len(lines))
            lines[line:line] = [lines[draw.randrange(len(lines))]] * draw.choice((1, 2, 50))
            data = b"\n".join(lines)
        elif kind == 6:
            data = data.replace(b"\n", draw.choice((b"\r", b"\r\n", b"\n\n", b" \n")))
        else:
            data = data[:at] + draw.randbytes(draw.choice((1, 4, 64))) + data[at:]
    return data


def mutate_file(path: Path, draw: random.Random) -> None:
    """Change the bytes of a file."""
    path.write_bytes(mutated(path.read_bytes(), draw))


def mutate_json(path: Path, draw: random.Random) -> None:
    """Change some values of a JSON file, or drop them."""
    content = json.loads(path.read_text(encoding="utf-8"))
    for _ in range(draw.choice((1, 1, 2))):
        at: Any = content
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = draw.choice(keys)
            if isinstance(at[key], dict | list) and at[key] and draw.random() < 0.6:
                at = at[key]
                continue
            if draw.random() < 0.2:
                del at[key]
            else:
                at[key] = draw.choice(VALUES)
            break
    path.write_text(json.dumps(content), encoding="utf-8")
