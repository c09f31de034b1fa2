"""The page: one HTML file that contains its style, scripts and data, and loads nothing.

Our own scripts draw the charts and pictures: a chart library would be the largest part of a report,
and none draws an overlay that lights up.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from meshwright.report.page_data import embedded, packed

HERE = Path(__file__).parent / "page"
SCRIPTS = (
    *("core.js", "charts.js", "picture_input.js", "picture.js"),
    *("overlays.js", "assignments.js", "main.js"),
)


def render(document: dict[str, Any]) -> str:
    """Return the page of a document."""
    script = "\n".join(_text(name) for name in SCRIPTS)
    style = _text("report.css")
    # Only our own script and style may run or load, whatever a name contains.
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    text: str = (
        _environment()
        .get_template("report.html")
        .render(
            document=document,
            title=title(document),
            style=Markup(style),
            script=Markup(script),
            data=Markup(embedded(packed(document))),
            policy=policy,
        )
    )
    return text


def title(document: dict[str, Any]) -> str:
    """Return the names of the workloads and problems."""
    names = []
    for section in document["sections"]:
        source = section.get("problem") or section["workload"]
        names.append(source.get("name") or f"workload {source['digest'][:8]}")
    return ", ".join(names)


def number(value: float | None, digits: int = 4) -> str:
    """Return a number as people read it.

    Examples
    --------
    >>> number(1770), number(2.16667), number(None), number(0.0), number(999.7, 3)
    ('1,770', '2.167', '–', '0', '1,000')

    """
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    rounded = float(f"{value:.{digits}g}")
    return f"{value:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.{digits}g}"


def counted(value: int, one: str, many: str = "") -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> counted(1, "node"), counted(2000, "node"), counted(0, "delivery", "deliveries")
    ('1 node', '2,000 nodes', '0 deliveries')

    """
    return f"{number(value)} {one if value == 1 else many or f'{one}s'}"


def percent(value: float | None) -> str:
    """Return a share in percent; only 1 is shown as 100%, and only 0 as 0%.

    Examples
    --------
    >>> percent(1.0), percent(0.99999), percent(0.9633), percent(0.0), percent(2.783)
    ('100%', '99.9%', '96.3%', '0%', '278%')

    """
    if value is None:
        return "–"
    if value in (0, 1):
        return f"{value:.0%}"
    if value > 1:
        return f"{value:,.0%}"
    shown = f"{min(max(value, 0.001), 0.999) if 0 < value < 1 else value:.1%}"
    return shown.replace(".0%", "%")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "counted": counted, "percent": percent}
    return environment


@cache
def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
