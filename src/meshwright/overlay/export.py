"""Overlays for other tools: CSV, GraphML and DOT, with the users' own names.

Written here rather than with a graph library: three flat formats, streamed, and the quoting of
names in one place where it can be tested.
"""

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape

from meshwright.errors import check_choice
from meshwright.model.overlay import Overlay
from meshwright.storage.files import new_file, refuse_file


def export(overlay: Overlay, out: str | Path, *, to: str, force: bool = False) -> Path:
    """Write an overlay as ``csv``, ``graphml`` or ``dot``."""
    check_choice("export format", to, FORMATS)
    target = Path(out)
    refuse_file(target, force=force)
    with new_file(target) as file:
        FORMATS[to](file, overlay)
    return target


def _rows(overlay: Overlay) -> Iterator[tuple[str, str, int, int]]:
    names = overlay.instance.node_names
    for rank, (u, v) in enumerate(overlay.edges.tolist()):
        yield names[u], names[v], rank, int(overlay.gains[rank])


def _write_csv(file: TextIO, overlay: Overlay) -> None:
    writer = csv.writer(file)
    writer.writerow(("u", "v", "rank", "gain"))
    writer.writerows(_rows(overlay))


def _write_graphml(file: TextIO, overlay: Overlay) -> None:
    file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    file.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    file.write('<key id="name" for="node" attr.name="name" attr.type="string"/>\n')
    for attribute in ("rank", "gain"):
        file.write(f'<key id="{attribute}" for="edge" attr.name="{attribute}" attr.type="int"/>\n')
    file.write('<graph edgedefault="undirected">\n')
    for i, name in enumerate(overlay.instance.node_names):
        file.write(f'<node id="n{i}"><data key="name">{escape(name)}</data></node>\n')
    for rank, (u, v) in enumerate(overlay.edges.tolist()):
        data = f'<data key="rank">{rank}</data><data key="gain">{overlay.gains[rank]}</data>'
        file.write(f'<edge source="n{u}" target="n{v}">{data}</edge>\n')
    file.write("</graph>\n</graphml>\n")


def _write_dot(file: TextIO, overlay: Overlay) -> None:
    file.write("graph overlay {\n")
    for name in overlay.instance.node_names:
        file.write(f"  {_quoted(name)};\n")
    for u, v, rank, gain in _rows(overlay):
        file.write(f"  {_quoted(u)} -- {_quoted(v)} [rank={rank}, gain={gain}];\n")
    file.write("}\n")


def _quoted(name: str) -> str:
    """Return a DOT string: only the quote and the backslash mean something inside it."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


FORMATS: Mapping[str, Callable[[TextIO, Overlay], None]] = {
    "csv": _write_csv,
    "graphml": _write_graphml,
    "dot": _write_dot,
}
