"""Overlays for other tools: CSV, GraphML and DOT, with the users' own names.

Written here rather than with a graph library: three flat formats, streamed, and the quoting of
names in one place where it can be tested.
"""

import csv
from collections.abc import Callable, Iterator, Mapping
from math import isnan
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


def _rows(overlay: Overlay) -> Iterator[tuple[int, int, dict[str, float]]]:
    """Yield the ends of each link and its rank, gain, and cost if it is known."""
    costs = overlay.link_costs
    for rank, (u, v) in enumerate(overlay.edges.tolist()):
        facts: dict[str, float] = {"rank": rank, "gain": int(overlay.gains[rank])}
        if costs is not None and not isnan(costs[rank]):
            facts["cost"] = float(costs[rank])
        yield u, v, facts


def _write_csv(file: TextIO, overlay: Overlay) -> None:
    names = overlay.instance.node_names
    columns = ["u", "v", "rank", "gain", *(["cost"] if overlay.link_costs is not None else [])]
    writer = csv.DictWriter(file, columns, restval="")
    writer.writeheader()
    writer.writerows({"u": names[u], "v": names[v], **facts} for u, v, facts in _rows(overlay))


def _write_graphml(file: TextIO, overlay: Overlay) -> None:
    file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    file.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    file.write('<key id="name" for="node" attr.name="name" attr.type="string"/>\n')
    types = {"rank": "int", "gain": "int"}
    if overlay.link_costs is not None:
        types["cost"] = "double"
    for name, type_ in types.items():
        file.write(f'<key id="{name}" for="edge" attr.name="{name}" attr.type="{type_}"/>\n')
    file.write('<graph edgedefault="undirected">\n')
    for i, name in enumerate(overlay.instance.node_names):
        file.write(f'<node id="n{i}"><data key="name">{escape(name)}</data></node>\n')
    for u, v, facts in _rows(overlay):
        data = "".join(f'<data key="{name}">{value}</data>' for name, value in facts.items())
        file.write(f'<edge source="n{u}" target="n{v}">{data}</edge>\n')
    file.write("</graph>\n</graphml>\n")


def _write_dot(file: TextIO, overlay: Overlay) -> None:
    file.write("graph overlay {\n")
    for name in overlay.instance.node_names:
        file.write(f"  {_quoted(name)};\n")
    names = overlay.instance.node_names
    for u, v, facts in _rows(overlay):
        listed = ", ".join(f"{name}={value}" for name, value in facts.items())
        file.write(f"  {_quoted(names[u])} -- {_quoted(names[v])} [{listed}];\n")
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
