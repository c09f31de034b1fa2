"""Record the frames of the newest version; those of older versions are never recorded again."""

import json
from pathlib import Path

from meshwright.mesh.shell.codec import WIRE_VERSION, encode
from tests.golden.values import said_by

path = Path(__file__).parent / f"frames-{WIRE_VERSION}.json"
rows = {name: encode(frame).hex() for name, frame in said_by(WIRE_VERSION).items()}
path.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
