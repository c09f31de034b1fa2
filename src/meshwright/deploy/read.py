"""The files of a plan read back: what the brokers will do, whatever the planner intended.

The grammar is a part of Mosquitto's: a line that begins with ``#`` is a comment, any other is an
option and a value after one space, ``topic`` takes words separated by spaces. Mosquitto accepts
more, such as spaces before an option, and has options that change what a broker carries. A file
that we wrote has none of this, so whatever is not known here is refused: a proof that passes over a
line which the broker obeys is none.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from meshwright.deploy.plan import CONFIGURATION, Direction, Line, Plan, read_plan
from meshwright.errors import InputError
from meshwright.storage.replacing import wait_for_target

DIRECTIONS = ("both", "out", "in")
BROKER_OPTIONS = (  # before the first connection
    *("listener", "cafile", "certfile", "keyfile", "require_certificate", "allow_anonymous"),
    *("password_file", "acl_file", "persistence", "persistence_location", "max_queued_messages"),
    *("max_inflight_messages", "log_dest", "log_type", "log_timestamp", "log_timestamp_format"),
)
REPEATED = ("log_dest", "log_type")  # may be given several times
BRIDGE_OPTIONS = (
    *("address", "bridge_protocol_version", "try_private", "remote_clientid", "local_clientid"),
    *("cleansession", "local_cleansession", "bridge_attempt_unsubscribe", "restart_timeout"),
    *("notifications", "notifications_local_only", "keepalive_interval", "bridge_cafile"),
    *("bridge_certfile", "bridge_keyfile", "remote_username", "remote_password"),
)
LINE = re.compile(r"[a-z_]+( [^\s\x00-\x1f]([^\x00-\x1f]*\S)?)?", re.ASCII)
RIGHTS = ("read", "write", "readwrite")  # `deny`, and no right at all, are never written
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
    brokers = {node: read_broker(directory / plan.directories[node]) for node in plan.nodes}
    return Conf(directory, plan, brokers)


def read_broker(directory: Path) -> BrokerConf:
    """Return what the files of one broker say."""
    found = BrokerConf()
    path = directory / CONFIGURATION
    for number, option, value in _options(path):
        where = f"'{path}' line {number}"
        if option == "connection":
            found.bridges.append(Bridge(value))
        elif option == "topic":
            if not found.bridges:
                raise InputError(f"{where}: a topic before any connection. Deploy again.")
            words = value.split(" ")
            if len(words) != TOPIC_WORDS or words[1] not in DIRECTIONS or words[2] not in "012":
                raise InputError(
                    f"{where}: 'topic {value}' is not a name, a direction and a qos. Deploy again."
                )
            found.bridges[-1].lines.append(Line(words[0], cast(Direction, words[1])))
            found.bridges[-1].qos.append(int(words[2]))
        else:
            bridge = found.bridges[-1] if found.bridges else None
            if option not in (BRIDGE_OPTIONS if bridge else BROKER_OPTIONS):
                place = "of a bridge" if bridge else "of a broker"
                raise InputError(
                    f"{where}: {option!r} is not an option {place} that this check understands, "
                    "so nothing can be proved. Remove the line, or deploy again."
                )
            options = bridge.options if bridge else found.options
            if option in options and option not in REPEATED:
                raise InputError(f"{where}: {option} is given twice. Deploy again.")
            options[option] = value
    if "acl_file" in found.options:
        found.acl = _acl(directory / found.options["acl_file"])
    if "password_file" in found.options:
        for _, text in _lines(directory / found.options["password_file"]):
            user, _, entry = text.partition(":")
            found.users[user] = entry
    return found


def _acl(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the rights that a file gives: user -> (right, pattern), "" for anonymous clients."""
    found: dict[str, list[tuple[str, str]]] = {}
    user = ""  # rights before any user are those of anonymous clients
    for number, option, value in _options(path):
        if option == "user":
            user = value
            found.setdefault(user, [])
        else:
            right, _, pattern = value.partition(" ")
            if right not in RIGHTS or not pattern:
                raise InputError(
                    f"'{path}' line {number}: {right!r} is not one of {', '.join(RIGHTS)}, "
                    "followed by a topic. Deploy again."
                )
            # A `pattern` line holds for every user; no plan has a user of this name.
            owner = user if option == "topic" else f"{option} line"
            found.setdefault(owner, []).append((right, pattern))
    return found


def _options(path: Path) -> list[tuple[int, str, str]]:
    """Return (line, option, value) of a file of Mosquitto."""
    found = []
    for number, line in _lines(path):
        if not LINE.fullmatch(line):
            raise InputError(
                f"'{path}' line {number}: {line!r} is not an option, one space and a value, and "
                "Mosquitto may read it as something else. Deploy again."
            )
        option, _, value = line.partition(" ")
        found.append((number, option, value))
    return found


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the numbered lines of a file that are neither empty nor comments."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' cannot be read ({error}). Deploy again.") from error
    # Only \n and \r end a line for Mosquitto; str.splitlines knows more.
    lines = text.replace("\r", "\n").split("\n")
    return [(i, line) for i, line in enumerate(lines, 1) if line and not line.startswith("#")]
