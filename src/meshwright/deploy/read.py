"""The files of a plan read back: what the brokers will do, not what the planner intended.

The grammar is a part of Mosquitto's: a line that begins with ``#`` is a comment, any other is an
option and a value after one space, ``topic`` takes words separated by spaces. Mosquitto accepts
more, such as spaces before an option, and has options that change what a broker carries; values
that it does not know end it; and a NUL, even in a comment, ends the file for it. A file that we
wrote has none of this, so anything not known here is refused: a proof that skips a line which the
broker obeys, or counts one that it does not read, proves nothing.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from meshwright.deploy.plan import LAYOUTS, Plan, read_plan
from meshwright.deploy.route import Direction, Line
from meshwright.errors import InputError
from meshwright.patterns.filters import topic_error
from meshwright.storage.replacing import wait_for_target

DIRECTIONS = ("both", "out", "in")
ANY, FLAG, CLIENT_ID = ".+", "true|false", r"[\w.%-]+"
LOG_TYPES = "debug|error|warning|notice|information|subscribe|unsubscribe|websockets|none|all"
BROKER_OPTIONS = {  # before the first connection, each with its values
    "listener": r"[1-9]\d{0,4}( \S+)?",
    **dict.fromkeys(("cafile", "certfile", "keyfile", "password_file", "acl_file"), ANY),
    **dict.fromkeys(("require_certificate", "allow_anonymous", "persistence"), FLAG),
    "persistence_location": ANY,
    "max_queued_messages": r"\d{1,9}",
    "max_inflight_messages": r"\d{1,4}",
    "log_dest": r"stdout|stderr|syslog|topic|none|file \S+",
    "log_type": LOG_TYPES,
    "log_timestamp": FLAG,
    "log_timestamp_format": ANY,
}
INCLUDED_OPTIONS = {name: BROKER_OPTIONS[name] for name in ("log_type", "max_inflight_messages")}
OPTIONS = {"whole": BROKER_OPTIONS, "include": INCLUDED_OPTIONS}  # by layout
REPEATED = ("log_dest", "log_type")  # may be given several times
BRIDGE_OPTIONS = {
    "address": r"\S+:\d+",
    "bridge_protocol_version": "mqttv311|mqttv50",
    **dict.fromkeys(("remote_clientid", "local_clientid"), CLIENT_ID),
    **dict.fromkeys(("try_private", "cleansession", "local_cleansession"), FLAG),
    **dict.fromkeys(("notifications", "notifications_local_only"), FLAG),
    "notification_topic": rf"\$SYS/broker/connection/{CLIENT_ID}/state",
    "bridge_attempt_unsubscribe": FLAG,
    "restart_timeout": r"[1-9]\d{0,3}|1 [1-9]\d{0,3}",
    "keepalive_interval": r"[5-9]|[1-9]\d{1,3}",
    **dict.fromkeys(("bridge_cafile", "bridge_certfile", "bridge_keyfile"), ANY),
    **dict.fromkeys(("remote_username", "remote_password"), ANY),
}
LINE = re.compile(r"[a-z_]+( [^\s\x00-\x1f]([^\x00-\x1f]*\S)?)?", re.ASCII)
CONTROL = re.compile(r"[\x00-\x1f]")
USER = re.compile(r"(?P<user>[^:\s]([^:]*[^:\s])?):(?P<hash>\$7\$\d{1,6}(\$[A-Za-z0-9+/=]+){2})")
RIGHTS = ("read", "write", "readwrite")  # `deny`, and no right at all, are never written
QOS = ("0", "1", "2")
TOPIC_WORDS = 3  # topic, direction, qos: prefixes would rename


@dataclass(slots=True)
class Bridge:
    """One ``connection`` of a mosquitto.conf."""

    name: str
    options: dict[str, str] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    qos: list[int] = field(default_factory=list)  # of each line

    @property
    def address(self) -> str:
        """The endpoint that it dials."""
        return self.options.get("address", "")


@dataclass(slots=True)
class BrokerConf:
    """The files of one broker."""

    options: dict[str, str] = field(default_factory=dict)
    bridges: list[Bridge] = field(default_factory=list)
    acl: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # user -> (right, pattern)
    users: dict[str, str] = field(default_factory=dict)  # user -> hash


@dataclass(slots=True)
class Conf:
    """A directory of configurations."""

    path: Path
    plan: Plan
    brokers: dict[str, BrokerConf]  # by node

    @property
    def by_endpoint(self) -> dict[str, str]:
        """The node behind each host and port."""
        return {b.endpoint: b.node for b in self.plan.brokers if b.node in self.brokers}


def read_conf(path: str | Path) -> Conf:
    """Return what the files of a plan say, or raise InputError with the first invalid line."""
    directory = Path(path).resolve()
    wait_for_target(directory)
    plan = read_plan(directory)
    return Conf(directory, plan, {node: read_broker(directory, plan, node) for node in plan.nodes})


def read_broker(conf: Path, plan: Plan, node: str) -> BrokerConf:
    """Return what the files of one broker say."""
    directory = conf / plan.directories[node]
    path = directory / LAYOUTS[plan.layout]
    found = _settings(_options(path, _content(path)), path, plan.layout)
    files = found.options
    if plan.layout == "include" and any(broker.username for broker in plan.brokers):
        files = {"acl_file": "acl", "password_file": "passwd"}  # pieces of an operator's files
    if "acl_file" in files:
        found.acl = _acl(directory / files["acl_file"])
    if "password_file" in files:
        path = directory / files["password_file"]
        for number, text in _lines(path, _content(path)):
            entry = USER.fullmatch(text)
            if not entry or entry["user"] in found.users:
                raise InputError(
                    f"'{path}' line {number} is not a new user, a colon and a hash as "
                    "mosquitto_passwd writes it. Deploy again."
                )
            found.users[entry["user"]] = entry["hash"]
    return found


def read_settings(text: str, name: str, layout: str) -> BrokerConf:
    """Return what the text of a broker's settings says; `name` is what errors call it."""
    return _settings(_options(name, text), name, layout)


def _settings(lines: Iterable[tuple[int, str, str]], path: Path | str, layout: str) -> BrokerConf:
    """Return the options and bridges that the lines of a file give."""
    found = BrokerConf()
    for number, option, value in lines:
        where = f"'{path}' line {number}"
        if option == "connection":
            if not re.fullmatch(CLIENT_ID, value) or value in (b.name for b in found.bridges):
                raise InputError(f"{where}: {value!r} is not a new bridge name. Deploy again.")
            found.bridges.append(Bridge(value))
        elif option == "topic":
            if not found.bridges:
                raise InputError(f"{where}: a topic before any connection. Deploy again.")
            words = value.split(" ")
            if len(words) != TOPIC_WORDS or words[1] not in DIRECTIONS or words[2] not in QOS:
                raise InputError(
                    f"{where}: 'topic {value}' is not a name, a direction and a qos. Deploy again."
                )
            if reason := topic_error(words[0]):
                raise InputError(f"{where}: topic {words[0]!r} {reason}. Deploy again.")
            found.bridges[-1].lines.append(Line(words[0], cast(Direction, words[1])))
            found.bridges[-1].qos.append(int(words[2]))
        else:
            bridge = found.bridges[-1] if found.bridges else None
            values = (BRIDGE_OPTIONS if bridge else OPTIONS[layout]).get(option)
            if values is None:
                place = "of a bridge" if bridge else "of a broker"
                raise InputError(
                    f"{where}: {option!r} is not an option {place} that this check understands, "
                    "so nothing can be proved. Remove the line, or deploy again."
                )
            if not re.fullmatch(values, value):
                raise InputError(
                    f"{where}: {option} {value!r} is not a value that this check understands, so "
                    "nothing can be proved. Deploy again."
                )
            options = bridge.options if bridge else found.options
            if option in options and option not in REPEATED:
                raise InputError(f"{where}: {option} is given twice. Deploy again.")
            options[option] = value
    return found


def _acl(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the rights that a file gives: user -> (right, pattern), "" for anonymous clients."""
    found: dict[str, list[tuple[str, str]]] = {}
    user = ""  # rights before any user are those of anonymous clients
    for number, option, value in _options(path, _content(path)):
        if option == "user":
            user = value
            found.setdefault(user, [])
        else:
            right, _, pattern = value.partition(" ")
            if option != "topic" or right not in RIGHTS or pattern[:1] in ("", " "):
                raise InputError(
                    f"'{path}' line {number}: {option + ' ' + value!r} is not `topic`, one of "
                    f"{', '.join(RIGHTS)}, and a topic. Deploy again."
                )
            found.setdefault(user, []).append((right, pattern))
    return found


def _options(path: Path | str, text: str) -> list[tuple[int, str, str]]:
    """Return (line, option, value) of a file of Mosquitto."""
    found = []
    for number, line in _lines(path, text):
        if not LINE.fullmatch(line):
            raise InputError(
                f"'{path}' line {number}: {line!r} is not an option, one space and a value, and "
                "Mosquitto may read it as something else. Deploy again."
            )
        option, _, value = line.partition(" ")
        found.append((number, option, value))
    return found


def _content(path: Path) -> str:
    """Return the text of a file."""
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' cannot be read ({error}). Deploy again.") from error


def _lines(path: Path | str, text: str) -> list[tuple[int, str]]:
    """Return the numbered lines of a file that are neither empty nor comments."""
    lines = text.split("\n")  # nothing else ends a line for Mosquitto
    for number, line in enumerate(lines, 1):
        if control := CONTROL.search(line):
            raise InputError(
                f"'{path}' line {number} holds the control character {control[0]!r}, and "
                "Mosquitto may read it as something else. Deploy again."
            )
    return [(i, line) for i, line in enumerate(lines, 1) if line and not line.startswith("#")]
