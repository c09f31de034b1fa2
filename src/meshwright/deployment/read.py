"""The files of a plan read back: what the brokers will do, whatever the planner meant.

The grammar is Mosquitto's: a line that begins with ``#`` is a comment, a line is an option and a
value after one space, ``topic`` takes words separated by spaces.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from meshwright.deployment.directory import FILE, FORMAT_VERSION, KIND, put_back
from meshwright.deployment.plan import Direction, Line
from meshwright.errors import InputError

DIRECTIONS = ("both", "out", "in")
TOPIC_KEYS = ("name", "example", "subscribers", "publishers", "relays")
MOST_TOPIC_WORDS = 3  # topic, direction, qos: prefixes would rename


@dataclass(slots=True)
class Bridge:
    """One ``connection`` of a mosquitto.conf."""

    name: str
    options: dict[str, str] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    qos: list[int] = field(default_factory=list)


@dataclass(slots=True)
class BrokerConf:
    """The files of one broker."""

    node: str
    directory: str
    endpoint: str  # host:port, as others dial it
    options: dict[str, str] = field(default_factory=dict)
    bridges: list[Bridge] = field(default_factory=list)
    acl: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # user -> (right, pattern)
    users: dict[str, str] = field(default_factory=dict)  # user -> hash


@dataclass(slots=True)
class Conf:
    """A directory of configurations."""

    path: Path
    plan: dict[str, Any]
    brokers: dict[str, BrokerConf]  # by node

    @property
    def by_endpoint(self) -> dict[str, str]:
        """The node behind each host and port."""
        return {broker.endpoint: node for node, broker in self.brokers.items()}


def read_conf(path: str | Path) -> Conf:
    """Return what the files of a plan say, or raise with the first line that says nothing."""
    directory = Path(path).resolve()
    put_back(directory)
    plan = read_plan(directory)
    try:
        brokers = {
            entry["node"]: read_broker(
                directory / entry["directory"], entry["node"], f"{entry['host']}:{entry['port']}"
            )
            for entry in plan["brokers"]
        }
        for topic in plan["topics"]:
            for key in TOPIC_KEYS:
                topic[key]
    except (KeyError, TypeError) as error:
        raise InputError(
            f"'{directory / FILE}' is damaged: {error} is missing. Deploy again."
        ) from error
    return Conf(directory, plan, brokers)


def read_plan(directory: Path) -> dict[str, Any]:
    """Return ``plan.json``, or say why the directory is none of ours."""
    path = directory / FILE
    if not path.is_file():
        raise InputError(
            f"'{directory}' holds no {FILE}. Write one with `meshwright deploy mosquitto`."
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind, version = content["kind"], content["format_version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"'{path}' cannot be read ({error}). Deploy again.") from error
    if kind != KIND or version != FORMAT_VERSION:
        raise InputError(
            f"'{path}' is of kind {kind!r}, version {version!r}; needed is {KIND!r}, version "
            f"{FORMAT_VERSION}. Deploy again with this Meshwright."
        )
    return cast(dict[str, Any], content)


def read_broker(directory: Path, node: str, endpoint: str) -> BrokerConf:
    """Return what the files of one broker say."""
    found = BrokerConf(node, directory.name, endpoint)
    path = directory / "mosquitto.conf"
    for number, option, value in _options(path):
        where = f"'{path}' line {number}"
        if option == "connection":
            found.bridges.append(Bridge(value))
        elif option == "topic":
            if not found.bridges:
                raise InputError(f"{where}: a topic before any connection. Deploy again.")
            line, qos = _topic(value, where)
            found.bridges[-1].lines.append(line)
            found.bridges[-1].qos.append(qos)
        else:
            options = found.bridges[-1].options if found.bridges else found.options
            if option in options:
                raise InputError(f"{where}: {option} is given twice. Deploy again.")
            options[option] = value
    if "acl_file" in found.options:
        found.acl = _acl(directory / found.options["acl_file"])
    if "password_file" in found.options:
        for _, text in _lines(directory / found.options["password_file"]):
            user, _, entry = text.partition(":")
            found.users[user] = entry
    return found


def _topic(value: str, where: str) -> tuple[Line, int]:
    words = value.split(" ")
    if len(words) != MOST_TOPIC_WORDS or words[1] not in DIRECTIONS or words[2] not in "012":
        raise InputError(
            f"{where}: 'topic {value}' is not a name, a direction and a qos. Deploy again."
        )
    return Line(words[0], cast(Direction, words[1])), int(words[2])


def _acl(path: Path) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    user = ""  # rights before any user are those of anonymous clients
    for _, option, value in _options(path):
        if option == "user":
            user = value
            found.setdefault(user, [])
        else:
            right, _, pattern = value.partition(" ")
            found.setdefault(user if option == "topic" else f"{option} line", []).append(
                (right, pattern)
            )
    return found


def _options(path: Path) -> list[tuple[int, str, str]]:
    found = []
    for number, line in _lines(path):
        option, _, value = line.partition(" ")
        found.append((number, option, value.strip(" ")))
    return found


def _lines(path: Path) -> list[tuple[int, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' cannot be read ({error}). Deploy again.") from error
    # Only \n and \r end a line for Mosquitto; str.splitlines knows more.
    lines = text.replace("\r", "\n").split("\n")
    return [(i, line) for i, line in enumerate(lines, 1) if line and not line.startswith("#")]
