"""How names are written in Mosquitto's files: directories, client ids, topic lines.

Names are the user's data. No name may end a configuration line or add one: a name that cannot be
written is refused, or written with a ``+`` where a level holds a space, which the ``topic`` line of
a bridge cannot hold (quotes do not help; 2.0.11 refuses to start). An access list can.
"""

import hashlib
from collections.abc import Iterable
from urllib.parse import quote

from meshwright.patterns.filters import PatternIndex, covers, is_allowed

MAX_DIRECTORY = 100  # bytes; file systems allow 255, and client ids are made of two of them


def directory_name(node: str) -> str:
    """Return a node's name for file systems and client ids: letters, digits, ``_-.`` and ``%XX``.

    Examples
    --------
    >>> directory_name("Halle 3/größe")
    'Halle%203%2Fgr%C3%B6%C3%9Fe'
    """
    name = quote(node, safe="").replace("~", "%7E")
    if name.startswith("."):
        name = "%2E" + name[1:]
    return _shortened(name, node) if len(name) > MAX_DIRECTORY else name


def directory_names(
    nodes: Iterable[str], reserved: Iterable[str] = ("plan.json",)
) -> dict[str, str]:
    """Return a directory for each node; they differ in more than upper and lower case."""
    found: dict[str, str] = {}
    taken = set(reserved)
    for node in nodes:
        name = directory_name(node)
        if name.lower() in taken:
            name = _shortened(name, node)
        taken.add(name.lower())
        found[node] = name
    return found


def _shortened(name: str, node: str) -> str:
    return f"{name[:80]}-{hashlib.sha256(node.encode()).hexdigest()[:16]}"


def fits_one_line(text: str) -> bool:
    """Return whether a value can be written at the end of a configuration line unchanged."""
    return text == text.strip() and all(map(is_allowed, text)) and text != ""


def bridge_pattern(name: str) -> str:
    """Return a topic as a ``topic`` line holds it: a level with a space becomes ``+``.

    Examples
    --------
    >>> bridge_pattern("plant 7/temp")
    '+/temp'
    """
    if name == '""':  # the mark for an empty pattern
        return "+"
    return "/".join("+" if " " in level else level for level in name.split("/"))


def ambiguous_patterns(names: Iterable[str]) -> dict[str, str]:
    """Return the topics whose ``+`` for a space would carry another topic too, each with that one.

    Two topics do not conflict if one covers the other before and after: the subscribers of the
    wider one want the narrower one anyway.
    """
    patterns = {name: bridge_pattern(name) for name in names}
    index = PatternIndex(patterns.values())
    owners: dict[str, list[str]] = {}
    for name, pattern in patterns.items():
        owners.setdefault(pattern, []).append(name)

    def nested(one: str, other: str) -> bool:
        return any(
            covers(wide, narrow) and covers(patterns[wide], patterns[narrow])
            for wide, narrow in ((one, other), (other, one))
        )

    found = {}
    for name, pattern in patterns.items():
        if pattern != name:
            near = (owner for other in index.overlapping(pattern) for owner in owners[other])
            clash = next((owner for owner in near if not nested(owner, name)), None)
            if clash is not None:
                found[name] = clash
    return found
