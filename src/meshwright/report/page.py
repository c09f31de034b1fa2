"""The page: one HTML file that contains its style, scripts and data, and loads nothing.

Our own scripts draw the charts and pictures: a chart library would be the largest part of a report,
and none draws an overlay that lights up.

Long lists that do not fit are left out, never cut, and the page says so. Headlines, charts and
pictures still count everything; without its lists a page cannot find a node or light up a topic.

Packing makes long lists of whole numbers a third of their size as JSON. A list becomes
``{"$i": text}``, a list of lists ``{"$l": [lengths, values]}`` with length -1 for a missing one.
The text is base64 of the differences between consecutive numbers, zigzag, in groups of seven bits,
the smallest first. `core.js` reads it.
"""

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from meshwright.runtime.arrays import Longs

HERE = Path(__file__).parent / "page"
SCRIPTS = (
    *("core.js", "charts.js", "picture_input.js", "failure.js", "picture.js"),
    *("overlays.js", "assignments.js", "main.js"),
)
LIVE_SCRIPTS = ("core.js", "picture_input.js", "failure.js", "picture.js", "live.js")
SHORTEST = 32  # shorter lists gain nothing from packing
GROUP = 7  # bits
MOST_ROWS = 500  # of a table in the page; the JSON file has all
MOST_TOPICS = 100  # of a link


class Budget(NamedTuple):
    """The most entries of each kind of list in a page."""

    subscriptions: int  # over all workloads
    edges: int  # over all overlays
    names: int  # nodes, or topics, of a workload; above it none of their columns


BUDGETS = (
    Budget(1_200_000, 400_000, 100_000),
    Budget(200_000, 60_000, 20_000),
    Budget(0, 0, 2_000),
)


def render(document: dict[str, Any]) -> str:
    """Return the page of a document."""
    script, style = "\n".join(map(_text, SCRIPTS)), _text("report.css")
    # Only our own script and style may run or load, whatever a name contains.
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return _template().render(
        document=document,
        style=Markup(style),
        script=Markup(script),
        data=Markup(embedded(packed(for_scripts(document)))),
        policy=policy,
    )


@cache
def live_page() -> tuple[str, str]:
    """Return the page of a running mesh, which asks its own server for data, and its policy."""
    script, style = "\n".join(map(_text, LIVE_SCRIPTS)), _text("report.css") + _text("live.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return _template("live.html").render(style=Markup(style), script=Markup(script)), policy


def for_scripts(document: dict[str, Any]) -> dict[str, Any]:
    """Return what the scripts of a page draw; a deployment is all tables."""
    sections = document["sections"]
    drawn = [s if s["kind"] != "deployment" else {"kind": s["kind"]} for s in sections]
    return {**document, "sections": drawn}


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
    if value >= 1 or value == 0:
        return f"{value:,.0%}"
    shown = f"{min(max(value, 0.001), 0.999) if 0 < value < 1 else value:.1%}"
    return shown.replace(".0%", "%")


@cache
def _template(name: str = "report.html") -> Template:
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"most_rows": MOST_ROWS, "most_topics": MOST_TOPICS}
    environment.filters |= {"number": number, "counted": counted, "percent": percent}
    return environment.get_template(name)


@cache
def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def trimmed(document: dict[str, Any], budget: Budget) -> dict[str, Any]:
    """Return a document that keeps within a budget, with its arrays as lists."""
    sections = document["sections"]
    workloads = [section for section in sections if _has_lists(section)]
    n_overlays = sum(len(section["overlays"]) for section in workloads)
    subscriptions = budget.subscriptions // max(len(workloads), 1)
    share = Budget(subscriptions, budget.edges // max(n_overlays, 1), budget.names)
    fitting = [_section(s, share) if _has_lists(s) else s for s in sections]
    fitting = [_deployment(s, share) if s["kind"] == "deployment" else s for s in fitting]
    return {**document, "sections": fitting}


def _deployment(section: dict[str, Any], budget: Budget) -> dict[str, Any]:
    """Leave the topics of each link out if there are too many in all."""
    if sum(link["n_topics"] for link in section["links"]) <= budget.names:
        return section
    return {**section, "links": [{**link, "topics": None} for link in section["links"]]}


def _has_lists(section: dict[str, Any]) -> bool:
    return "n_nodes" in section.get("workload", {})


def _section(section: dict[str, Any], budget: Budget) -> dict[str, Any]:
    workload = dict(section["workload"])
    with_nodes = workload["n_nodes"] <= budget.names
    with_topics = workload["n_topics"] <= budget.names
    if not with_nodes:
        workload |= {"node_names": None, "topics_of_node": None}
    if not with_topics:
        workload |= {"topic_names": None, "subscribers_of_topic": None}
    both = with_nodes and with_topics
    workload["subscribers"] = _subscribers(workload, budget.subscriptions) if both else None
    overlays = []
    for overlay in section["overlays"]:
        fitting = {**overlay, "edges": None}
        if with_nodes and len(overlay["edges"]) <= budget.edges:
            one, other = overlay["edges"].T.tolist()
            fitting["edges"] = {"one": one, "other": other}
        elif overlay["cost"] is not None:
            fitting["cost"] = {**overlay["cost"], "of_links": None}
        losses = overlay["losses"]
        if losses is not None and not (
            both and sum(map(len, losses["splits"])) <= budget.subscriptions
        ):
            fitting["losses"] = {**losses, "splits": None}
        if not with_topics:
            fitting["topics"] = None
        if not with_nodes:
            fitting["degree"] = {**overlay["degree"], "of_node": None}
            fitting["picture"] = {**overlay["picture"], "group": None}
        overlays.append(fitting)
    return {**section, "workload": workload, "overlays": overlays}


def _subscribers(workload: dict[str, Any], most: int) -> list[list[int] | None]:
    """Return the subscribers of each topic; None for the largest topics, if all are too many.

    Small topics come first, so that most can be chosen; large ones light up nearly everything.
    """
    sizes = np.array(workload["subscribers_of_topic"], np.int64)
    order = np.argsort(sizes, kind="stable")
    listed = np.zeros(len(sizes), np.bool_)
    listed[order[np.cumsum(sizes[order]) <= most]] = True
    wanted = workload["subscribers"]
    return [wanted[t].tolist() if listed[t] else None for t in range(len(sizes))]


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


def encoded(numbers: Longs) -> str:
    """Return whole numbers as text, packed."""
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
    r"""Return JSON for a script element; nothing in it can end the element.

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
