"""The directory of a mesh: what `mesh init` writes, and how agents and the planner read it.

::

    MESH/mesh.toml              the name, the planner's endpoint, how to design, all brokers
    MESH/secret                 what agents and the planner prove to each other that they know
    MESH/planner/               the planner's files
    MESH/planner/log/           its log for `meshwright ingest`
    MESH/monitoring/            files for Prometheus and Grafana
    MESH/edge-1/agent.toml      one directory for each broker: copy it to the broker's host
    MESH/edge-1/secret
    MESH/edge-1/mosquitto.conf  what the broker needs; other kinds of brokers have other files
    MESH/edge-1/state/          the agent's files, once it has run
"""

import ipaddress
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from meshwright.errors import InputError, unknown_choice

MESH_FILE, AGENT_FILE, SECRET_FILE = "mesh.toml", "agent.toml", "secret"
TOKEN_FILE = "page-token"  # in the planner's place, where it does not serve on loopback
STATE, PLANNER_PLACE, LOG_PLACE, REMOVED_PLACE = "state", "planner", "log", "removed"
METHODS = {"gm": ("tree",), "minmax": ("tree",), "refined": ("tree",), "sl": ("po", "pal", "pie")}
DELIVERIES = ("at-least-once", "exactly-once")
# Keys of [options] in agent.toml, each with its type and a default
OPTIONS: dict[str, Any] = {
    "delivery": "at-least-once",  # or exactly-once
    "fsync": False,  # records survive a power failure, too
    "log_file": "",  # of the broker, for what clients wanted before the agent's first start
    "max_message": 16 * 2**20,  # bytes
    "count_seconds": 60,  # how long messages are counted before the planner is told
    "journal_messages": 100_000,
    "journal_bytes": 256 * 2**20,
    "journal_seconds": 7 * 86_400,
    "mailbox_messages": 100_000,
    "mailbox_bytes": 256 * 2**20,
    "mailbox_seconds": 7 * 86_400,
}
# The same in mesh.toml, for the planner
MESH_OPTIONS: dict[str, Any] = {"fsync": False}

ADAPTER_KEYS = ("adapter", "protocol", "management", "vhost")  # columns of the inventory


class BrokerAddress(NamedTuple):
    """The broker of an agent, a row of the inventory; `deploy` would import the designs, too."""

    node: str
    host: str
    port: int
    ca: str = ""
    cert: str = ""
    key: str = ""
    username: str = ""
    password_env: str = ""
    password_file: str = ""
    adapter: str = "mosquitto"
    protocol: str = ""
    management: str = ""
    vhost: str = ""


class AgentConfig(NamedTuple):
    """What is in agent.toml."""

    place: Path
    mesh: str
    node: int
    name: str
    planner: str  # host:port
    listen: tuple[str, int]
    metrics: tuple[str, int]
    broker: BrokerAddress
    options: dict[str, Any]  # of the section [options]

    @property
    def secret(self) -> bytes:
        """What agents of this mesh know."""
        return read_secret(self.place)


class Member(NamedTuple):
    """A broker of the mesh, as mesh.toml lists it."""

    name: str
    directory: str
    endpoint: str  # of its agent
    broker: str  # host:port
    metrics: str  # host:port of its agent's metrics and status
    node: int = -1  # its number in the mesh, for ever
    adapter: str = "mosquitto"


class MeshConfig(NamedTuple):
    """What is in mesh.toml."""

    place: Path
    mesh: str
    planner: str  # host:port
    metrics: str  # host:port of the planner's
    method: str
    routing: str
    survive: int
    brokers: tuple[Member, ...]
    ca: str = ""  # the planner's certificates; empty without TLS
    cert: str = ""
    key: str = ""
    leaving: tuple[Member, ...] = ()  # that go once their agents have sent what they have
    removed: tuple[Member, ...] = ()  # their numbers are not given to others
    fsync: bool = False  # the planner's records survive a power failure, too

    @property
    def secret(self) -> bytes:
        """What agents of this mesh know."""
        return read_secret(self.place)

    @property
    def token(self) -> str:
        """What the planner asks of who sees its page or changes the mesh; "" if there is none."""
        try:
            return (self.place / PLANNER_PLACE / TOKEN_FILE).read_text(encoding="ascii").strip()
        except OSError:
            return ""

    @property
    def watched_at(self) -> str:
        """The planner's metrics as other hosts name them, if they may be read from there."""
        host, port = split_endpoint(self.metrics)
        return f"{self.planner.rpartition(':')[0]}:{port}" if is_wildcard(host) else self.metrics

    @property
    def numbers(self) -> set[int]:
        """The numbers of all brokers that take part or once did."""
        return {member.node for member in (*self.brokers, *self.leaving, *self.removed)}


def read_mesh(place: Path) -> MeshConfig:
    """Return what mesh.toml of a mesh says."""
    text = _read_toml(place / MESH_FILE, "Give the directory that `meshwright mesh init` wrote.")
    options = _options(place / MESH_FILE, text.pop("options", {}), MESH_OPTIONS)
    try:
        lists = {
            key: tuple(
                Member(**_check_keys(Member, row, f" of [[{key}]]")) for row in text.pop(key, ())
            )
            for key in ("brokers", "leaving", "removed")
        }
        if not lists["brokers"]:
            raise ValueError("there are no [[brokers]]")
        # Before brokers could be added and removed, a number was the place in the list.
        lists["brokers"] = tuple(
            member if member.node >= 0 else member._replace(node=i)
            for i, member in enumerate(lists["brokers"])
        )
        named: dict[str, Any] = {**text, **lists, **options}
        _check_keys(MeshConfig, {"place": place, **named})
        found = MeshConfig(place, **named)
        for member in (*lists["brokers"], *lists["leaving"]):
            list(map(split_endpoint, (member.endpoint, member.broker, member.metrics)))
        list(map(split_endpoint, (found.planner, found.metrics)))
        if len(found.numbers) < sum(map(len, lists.values())):
            raise ValueError("two brokers have the same node number")
        return found
    except (TypeError, KeyError, ValueError) as error:
        raise InputError(f"'{place / MESH_FILE}' cannot be used: {error}.") from error


def read_agent(place: Path) -> AgentConfig:
    """Return what agent.toml of a broker's directory says."""
    path = place / AGENT_FILE
    text = _read_toml(path, "Give the directory of one broker, such as MESH/edge-1.")
    options = _options(path, text.pop("options", {}), OPTIONS)
    if options["delivery"] not in DELIVERIES:
        raise unknown_choice(f"delivery in '{path}'", options["delivery"], DELIVERIES)
    try:
        section = _check_keys(BrokerAddress, text.pop("broker", {}), " of [broker]")
        broker = BrokerAddress(**section)
        _check_keys(AgentConfig, {"place": place, "broker": broker, "options": options, **text})
        split_endpoint(text["planner"])
        text |= {key: split_endpoint(text[key]) for key in ("listen", "metrics")}
        return AgentConfig(place, **text, broker=broker, options=options)
    except (TypeError, KeyError, ValueError) as error:
        raise InputError(f"'{path}' cannot be used: {error}.") from error


def _options(path: Path, given: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Return all options of a file, with the defaults of those that it does not give."""
    for key, value in given.items():
        if key not in known:
            raise unknown_choice(f"option in '{path}'", key, known)
        if type(value) is not type(known[key]):
            kind = type(known[key]).__name__
            raise InputError(f"'{path}': {key} is {value!r}; it must be of type {kind}.")
        if type(value) is int and value < 1:
            raise InputError(f"'{path}': {key} is {value}; give 1 or more.")
    return {**known, **given}


def _check_keys(kind: Any, given: dict[str, Any], where: str = "") -> dict[str, Any]:
    """Return the keys of a named tuple that a file gives; a ValueError names a wrong one."""
    for key in kind._fields:
        if key not in given and key not in kind._field_defaults:
            raise ValueError(f"the line {key} ={where} is missing")
    for key, value in given.items():
        if key not in kind._fields:
            raise ValueError(f"this version knows no {key!r}{where}")
        if kind.__annotations__[key] in (str, int) and type(value) is not kind.__annotations__[key]:
            what = "text" if kind.__annotations__[key] is str else "a number"
            raise ValueError(f"{key} ={where} is {value!r}; it must be {what}")
    return given


def split_endpoint(text: str) -> tuple[str, int]:
    """Return host and port.

    Examples
    --------
    >>> split_endpoint("[::1]:1883")
    ('::1', 1883)
    """
    host, _, port = str(text).rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def join_endpoint(host: str, port: int) -> str:
    """Return an endpoint as text, which `split_endpoint` reads."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine's own loopback.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "evil.example")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_wildcard(host: str) -> bool:
    """Return whether a host stands for every address of its machine.

    Examples
    --------
    >>> [is_wildcard(host) for host in ("0.0.0.0", "::", "10.0.0.9", "edge-1")]
    [True, True, False, False]
    """
    return host in ("0.0.0.0", "::")


def read_secret(place: Path) -> bytes:
    """Return the secret in a directory of a mesh."""
    try:
        return (place / SECRET_FILE).read_bytes().strip()
    except OSError as error:
        raise InputError(
            f"'{place / SECRET_FILE}' cannot be read: {error.strerror}. It is one of the files "
            "that `meshwright mesh init` wrote."
        ) from error


def _read_toml(path: Path, remedy: str) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}. {remedy}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' is not valid TOML: {error}.") from error
