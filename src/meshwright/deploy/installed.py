"""The configuration that a broker runs, read as Mosquitto 2.0.11 reads it: tried with the broker.

- ``include_dir`` counts in the main file only, and its value is taken as it stands, spaces
  included. Its files end in ``.conf``; hidden ones count. They are read in the order of their
  names, case ignored.
- Each file begins without a bridge and at the default listener. Where an included file adds a
  bridge or a listener, lines of the main file below it no longer reach the one that was open.
- A ``#`` begins a comment only at the start of a line. Spaces before an option are skipped, tabs
  are not, and a carriage return at the end of a line is dropped.
- With ``per_listener_settings true`` users and rights belong to the listener above them.
"""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from meshwright.deploy.plan import CONFIGURATION
from meshwright.deploy.route import Direction
from meshwright.errors import InputError

SECURITY = (  # options that can belong to one listener
    *("acl_file", "allow_anonymous", "allow_zero_length_clientid", "auth_plugin"),
    *("auto_id_prefix", "clientid_prefixes", "password_file", "plugin", "psk_file"),
)
OF_BRIDGES = (
    *("address", "addresses", "cleansession", "clientid", "idle_timeout", "keepalive_interval"),
    *("notifications", "password", "restart_timeout", "round_robin", "start_type", "threshold"),
    *("topic", "try_private", "username"),
)
BRIDGE_PREFIXES = ("bridge_", "local_", "notification_", "notifications_", "remote_")
USUAL_PLACE = f"/etc/mosquitto/{CONFIGURATION}"
DEFAULT_PORT = "1883"
OPEN_TO_ALL = 0o007
DIRECTIONS: dict[str, Direction] = {"both": "both", "out": "out", "in": "in"}


class Option(NamedTuple):
    """One line of a configuration."""

    file: str
    number: int
    name: str
    value: str

    @property
    def where(self) -> str:
        """The place of the line, for messages."""
        return f"'{self.file}' line {self.number}"


class BridgeLine(NamedTuple):
    """A ``topic`` line: what it carries is called differently at its two ends."""

    local: str
    remote: str
    direction: Direction


@dataclass(slots=True)
class InstalledBridge:
    """One ``connection``, the mesh's or the operator's."""

    name: str
    file: str
    options: dict[str, str] = field(default_factory=dict)
    lines: list[BridgeLine] = field(default_factory=list)

    @property
    def addresses(self) -> list[str]:
        """The endpoints that it dials."""
        words = (self.options.get("address", "") + " " + self.options.get("addresses", "")).split()
        return [word if ":" in word else f"{word}:{DEFAULT_PORT}" for word in words]


@dataclass(slots=True)
class Listener:
    """Where a broker listens."""

    port: str
    options: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Installed:
    """What a broker reads: its main file and the files that this one includes."""

    main: str
    files: "Files"
    include_dirs: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)  # neither of bridges nor of listeners
    origin: dict[str, str] = field(default_factory=dict)  # option -> the file that gives it
    listeners: list[Listener] = field(default_factory=list)  # the first is the default one
    bridges: list[InstalledBridge] = field(default_factory=list)
    lost: list[Option] = field(default_factory=list)  # lines of a bridge that Mosquitto loses

    @property
    def per_listener(self) -> bool:
        """Whether each listener has users and rights of its own."""
        return self.options.get("per_listener_settings") == "true"

    def listener(self, port: int) -> Listener | None:
        """Return the listener at a port, if there is one for MQTT."""
        fitting = (item for item in self.listeners if item.port == str(port))
        return next((i for i in fitting if i.options.get("protocol", "mqtt") == "mqtt"), None)

    def security(self, port: int) -> Mapping[str, str]:
        """Return the options about users and rights that hold at a port."""
        if not self.per_listener:
            return self.options
        found = self.listener(port)
        return found.options if found else {}


class Files:
    """The files of a broker's host, as they are or as they would be after changes.

    Names are those on the host; `root` is where its files are here.
    """

    def __init__(self, root: Path, start: str, changes: Mapping[str, bytes | None] | None = None):
        self.root = root
        self.start = start  # the directory that Mosquitto is started in
        self.changes = dict(changes or {})

    def changed(self, changes: Mapping[str, bytes | None]) -> "Files":
        """Return the same files with other contents; None for one that is removed."""
        return Files(self.root, self.start, {**self.changes, **changes})

    def name(self, value: str) -> str:
        """Return the full name of a file that a configuration names."""
        return posixpath.normpath(posixpath.join(self.start, value))

    def path(self, name: str) -> Path:
        """Return where a file is here."""
        return self.root / self.name(name).lstrip("/")

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if there is none."""
        if (full := self.name(name)) in self.changes:
            return self.changes[full]
        try:
            return self.path(name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"'{self.path(name)}' cannot be read: {error.strerror}.") from error

    def is_open(self, name: str) -> bool:
        """Return whether a file that is there, and is not about to be written, is open to all."""
        path = self.path(name)
        return self.name(name) not in self.changes and path.exists() and is_open(path)

    def included(self, directory: str) -> list[str]:
        """Return the files of a directory that Mosquitto includes, in its order."""
        place = self.path(directory)
        full = self.name(directory)
        found = {path.name for path in place.iterdir()} if place.is_dir() else set()
        for name, content in self.changes.items():
            if posixpath.dirname(name) == full:
                (found.discard if content is None else found.add)(posixpath.basename(name))
        names = (name for name in found if name.endswith(".conf"))
        return [posixpath.join(full, name) for name in sorted(names, key=str.lower)]


def is_open(path: Path) -> bool:
    """Return whether others than a file's owner and group may read or write it."""
    return bool(path.stat().st_mode & OPEN_TO_ALL)


def host_files(
    main: str | Path, root: str | Path = "/", start: str | None = None
) -> tuple[Files, str]:
    """Return the files of a broker's host, and the name of its main configuration there.

    `main` may be the directory of a mosquitto.conf. With another `root` it is a name below it.
    """
    base = Path(root).resolve()
    name = posixpath.join("/", str(main) if base != Path("/") else str(Path(main).absolute()))
    if (base / name.lstrip("/")).is_dir():
        name = posixpath.join(name, CONFIGURATION)
    return Files(base, start or posixpath.dirname(name)), posixpath.normpath(name)


def read_installed(files: Files, main: str) -> Installed:
    """Return what a broker reads, or raise InputError if a file cannot be read."""
    found = Installed(files.name(main), files)
    found.listeners.append(Listener(""))
    _read_file(found, found.main, is_main=True)
    if not found.listeners[0].port and len(found.listeners) == 1:
        found.listeners[0].port = f"{DEFAULT_PORT} on loopback alone"  # Mosquitto's local mode
    return found


def _read_file(found: Installed, file: str, *, is_main: bool) -> None:
    content = found.files.read(file)
    if content is None:
        place = found.files.path(file)
        raise InputError(f"'{place}' does not exist. Give the mosquitto.conf of the broker.")
    bridge: InstalledBridge | None = None
    listener: Listener | None = found.listeners[0]
    lost = False
    for option in _options(file, content):
        name, value = option.name, option.value
        if name == "include_dir":
            if is_main:
                found.include_dirs.append(value)
                before = len(found.bridges), len(found.listeners)
                for inner in found.files.included(value):
                    _read_file(found, inner, is_main=False)
                after = len(found.bridges), len(found.listeners)
                lost = lost or (bridge is not None and before[0] < after[0])
                listener = listener if before[1] == after[1] else None
        elif name == "connection":
            bridge, lost = InstalledBridge((value.split() or [""])[0], file), False
            found.bridges.append(bridge)
        elif bridge and (name in OF_BRIDGES or name.startswith(BRIDGE_PREFIXES)):
            if lost:
                found.lost.append(option)
            elif name == "topic":
                bridge.lines.append(_bridge_line(option))
            else:
                bridge.options[name] = value
        elif name == "listener":
            listener = Listener((value.split() or [""])[0])
            found.listeners.append(listener)
        elif name == "port":
            found.listeners[0].port = value
        else:
            if listener and (found.per_listener or name not in SECURITY):
                listener.options[name] = value
            if not (found.per_listener and name in SECURITY):
                found.options[name] = value
                found.origin[name] = file


def _options(file: str, content: bytes) -> Iterator[Option]:
    """Yield the options of a file."""
    if b"\0" in content:
        raise InputError(f"'{file}' holds a NUL, which ends the file for Mosquitto. Remove it.")
    for number, line in enumerate(_text(content).split("\n"), 1):
        words = line.rstrip("\r").lstrip(" ")
        if words and line[0] not in "#\r":
            name, _, value = words.partition(" ")
            yield Option(file, number, name, value if name == "include_dir" else value.lstrip(" "))


def _bridge_line(option: Option) -> BridgeLine:
    words = [word for word in option.value.split(" ") if word]
    pattern = words[0] if words and words[0] != '""' else ""
    way = words[1] if len(words) > 1 else "out"
    if way not in DIRECTIONS:
        raise InputError(f"{option.where}: {way!r} is not both, out or in. Mosquitto refuses it.")
    local, remote = ["" if word == '""' else word for word in [*words[3:5], "", ""][:2]]
    return BridgeLine(local + pattern, remote + pattern, DIRECTIONS[way])


@dataclass(slots=True)
class Rights:
    """What an access list gives: (right, topic) by user, "" for anonymous clients."""

    users: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    patterns: list[tuple[str, str]] = field(default_factory=list)  # of every user


def read_rights(file: str, content: bytes) -> Rights:
    """Return the rights of an access list as Mosquitto reads it."""
    found = Rights()
    user = ""
    for option in _options(file, content):
        value = option.value.rstrip(" ")
        if option.name == "user":
            user = value
            found.users.setdefault(user, [])
            continue
        right, _, topic = value.partition(" ")
        if right not in ("read", "write", "readwrite", "deny") or not topic:
            right, topic = "readwrite", value
        granted = right, topic.lstrip(" ")
        if option.name == "topic":
            found.users.setdefault(user, []).append(granted)
        elif option.name == "pattern":
            found.patterns.append(granted)
        else:
            raise InputError(f"{option.where}: {option.name!r} is not a line of an access list.")
    return found


def read_users(content: bytes) -> dict[str, str]:
    """Return the users of a password file with their hashes; of two alike the last counts."""
    lines = (line.rstrip("\r") for line in _text(content).split("\n"))
    pairs = (line.partition(":") for line in lines if ":" in line and not line.startswith("#"))
    return {user: entry for user, _, entry in pairs}


def _text(content: bytes) -> str:
    return content.decode(errors="surrogateescape")
