"""What names may look like in files of Mosquitto: topics, directories, client ids.

Names are data of the user. Nothing in one may end a configuration line or add one: a name that
cannot be written is refused, or written with a ``+`` where a level holds a space, which the
``topic`` line of a bridge cannot (quotes do not help; 2.0.11 refuses to start).
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable

from meshwright.deployment.filters import PatternIndex, covers

PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")
LONGEST_DIRECTORY = 100  # bytes; file systems allow 255, and client ids are made of two of them
LONGEST_TOPIC = 65_535  # bytes, the protocol's limit
MOST_LEVELS = 200  # Mosquitto refuses more


def directory_name(node: str) -> str:
    """Return a node's name for file systems and client ids: letters, digits, ``_-.`` and ``%XX``.

    Examples
    --------
    >>> directory_name("Halle 3/größe")
    'Halle%203%2Fgr%C3%B6%C3%9Fe'

    """
    safe = "".join(
        c if c in PLAIN else "".join(f"%{byte:02X}" for byte in c.encode()) for c in node
    )
    if safe.startswith("."):
        safe = "%2E" + safe[1:]
    if len(safe) > LONGEST_DIRECTORY:
        safe = f"{safe[:80]}-{hashlib.sha256(node.encode()).hexdigest()[:16]}"
    return safe


def directory_names(nodes: Iterable[str]) -> dict[str, str]:
    """Return a directory for each node; names that differ in case only are told apart."""
    found: dict[str, str] = {}
    taken = {"plan.json"}
    for node in nodes:
        name = directory_name(node)
        if name.lower() in taken:
            name = f"{name[:80]}-{hashlib.sha256(node.encode()).hexdigest()[:16]}"
        taken.add(name.lower())
        found[node] = name
    return found


def wrong_topic(name: str) -> str | None:
    """Return why no broker can carry a topic, or None."""
    if not name:
        return "is empty"
    if len(name.encode()) > LONGEST_TOPIC:
        return f"is longer than {LONGEST_TOPIC:,} bytes"
    levels = name.split("/")
    if len(levels) > MOST_LEVELS:
        return f"has more than {MOST_LEVELS} levels"
    for i, level in enumerate(levels):
        if "#" in level and (level != "#" or i + 1 < len(levels)):
            return "has a '#' that is not its whole last level"
        if "+" in level and level != "+":
            return "has a '+' that is not a whole level"
    if levels[0] in ("$SYS", "$CONTROL"):
        return "belongs to each broker itself and is not bridged"
    if levels[0].startswith("$") and " " in levels[0]:
        return "has a space after its '$', which no bridge's topic line can hold"
    if levels[0] == "$share":
        return "is a shared subscription: give the filter behind the group"
    if any(not allowed(c) for c in name):
        return "holds a control character, which Mosquitto refuses"
    return None


def allowed(character: str) -> bool:
    """Tell whether Mosquitto takes a character in a topic: no controls and no non-characters."""
    code = ord(character)
    return unicodedata.category(character) not in ("Cc", "Cs") and not (
        0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
    )


def one_line(text: str) -> bool:
    """Tell whether a value can stand at the end of a configuration line as it is."""
    return text == text.strip() and all(allowed(c) for c in text) and text != ""


def written(name: str) -> str:
    """Return how a topic stands in a ``topic`` line: a level with a space becomes ``+``.

    Examples
    --------
    >>> written("plant 7/temp")
    '+/temp'

    """
    if name == '""':  # the mark for an empty pattern
        return "+"
    return "/".join("+" if " " in level else level for level in name.split("/"))


def ambiguous(names: Iterable[str]) -> dict[str, str]:
    """Return the topics that cannot be written with a ``+``: each with one more that it matches.

    Patterns of which one covers the other, before and after, are no conflict: the subscribers of
    the wider one want the narrower anyway.
    """
    forms = {name: written(name) for name in names}
    index = PatternIndex(forms.values())
    owners: dict[str, list[str]] = {}
    for name, form in forms.items():
        owners.setdefault(form, []).append(name)
    found = {}
    for name, form in forms.items():
        if form == name:
            continue
        for other in index.overlapping(form):
            clash = [owner for owner in owners[other] if owner != name and not _nested(owner, name)]
            if clash:
                found[name] = clash[0]
                break
    return found


def _nested(one: str, other: str) -> bool:
    return any(
        covers(wide, narrow) and covers(written(wide), written(narrow))
        for wide, narrow in ((one, other), (other, one))
    )
