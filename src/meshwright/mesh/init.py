"""`mesh init`: the directory of a mesh, from an inventory."""

import json
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from meshwright.deploy.inventory import REQUIRED, SECURITY, read_inventory
from meshwright.deploy.names import directory_names
from meshwright.deploy.plan import Broker
from meshwright.errors import InputError, check_choice
from meshwright.mesh.adapters.known import find_adapter
from meshwright.mesh.config import (
    ADAPTER_KEYS,
    AGENT_FILE,
    MESH_FILE,
    MESH_OPTIONS,
    METHODS,
    PLANNER_PLACE,
    REMOVED_PLACE,
    SECRET_FILE,
    BrokerAddress,
    Member,
    MeshConfig,
    is_loopback,
    is_wildcard,
    join_endpoint,
    split_endpoint,
)
from meshwright.mesh.monitoring import PLACE as MONITORING_PLACE
from meshwright.mesh.monitoring import write_monitoring
from meshwright.mesh.units import write_unit
from meshwright.storage.csv_files import raise_problems, read_rows
from meshwright.storage.files import new_file

AGENT_PORT = 5_000  # beyond the broker's own: an agent's port where the user names none
METRICS_PORT = 10_000  # likewise
LOOPBACK = "127.0.0.1"
PLANNER_PORT = 7_900
MESH_KEYS = ("mesh", "planner", "metrics", "method", "routing", "survive")
CERTIFICATES = ("ca", "cert", "key")
Kinds = dict[str, dict[str, str]]  # of each broker, what [broker] in agent.toml says of its kind


class InitRequest(NamedTuple):
    """What `mesh init` is asked for."""

    inventory: Path
    out: Path
    method: str = "gm"
    routing: str | None = None
    survive: int = 0
    name: str | None = None
    planner: str | None = None
    agent_ports: Sequence[int] = ()  # one for each broker, in the order of the inventory
    metrics_ports: Sequence[int] = ()  # of the planner, then one for each broker
    options: Mapping[str, Any] = MappingProxyType({})  # of the section [options] in agent.toml
    metrics_host: str = LOOPBACK  # where planner and agents serve metrics and status


def init(request: InitRequest) -> MeshConfig:
    """Write the directory of a mesh and return what its mesh.toml says."""
    check_choice("method", request.method, METHODS)
    routing = request.routing or METHODS[request.method][0]
    if routing not in METHODS[request.method]:
        fits = ", ".join(METHODS[request.method])
        raise InputError(
            f"routing {routing!r} does not fit method {request.method!r}. Choose from: {fits}"
        )
    if request.out.exists():
        raise InputError(
            f"'{request.out}' exists. Choose another -o; to add a broker to a mesh use "
            "`meshwright mesh add`, to change how it is planned edit its mesh.toml."
        )
    if not is_loopback(request.metrics_host) and not is_wildcard(request.metrics_host):
        raise InputError(
            f"--metrics-host is {request.metrics_host!r}; give 127.0.0.1, where only programs on "
            "the same host can ask, or 0.0.0.0 for all: it holds for the planner and every agent."
        )
    brokers, kinds = read_brokers(request.inventory)
    if len(brokers) < 2:
        raise InputError(f"'{request.inventory}' lists {len(brokers)} broker; a mesh needs two.")
    if not 0 <= request.survive < len(brokers) - 1:
        raise InputError(
            f"--survive is {request.survive}; {len(brokers)} brokers can survive the loss of "
            f"{len(brokers) - 2} at most."
        )
    config = _plan_places(request, routing, brokers, kinds)
    refuse_shared_ports(config)
    refuse_unreachable(config)
    _write(config, brokers, kinds, request.options)
    return config


def read_brokers(inventory: Path) -> tuple[list[Broker], Kinds]:
    """Return the brokers of an inventory, and what it says about the kind of each."""
    rows = read_rows(inventory, REQUIRED, (*SECURITY, *ADAPTER_KEYS))
    names = dict.fromkeys(row["node"] for _, row in rows)
    brokers = read_inventory(inventory, names, beside=ADAPTER_KEYS, own_users=False)
    return brokers, _kinds(inventory, rows)


def _kinds(inventory: Path, rows: Sequence[tuple[int, dict[str, str]]]) -> Kinds:
    found: Kinds = {}
    wrong = []
    for line, row in rows:
        given = {key: row[key] for key in ADAPTER_KEYS if row[key]}
        found[row["node"]] = given
        try:
            adapter = find_adapter(row["adapter"] or "mosquitto")
            adapter.capabilities(given)
        except InputError as error:
            wrong.append(f"line {line}: {error}")
            continue
        odd = [key for key in given if key not in ("adapter", *adapter.keys)]
        wrong += [f"line {line}: {key} does not fit {adapter.title}" for key in odd]
    raise_problems(f"'{inventory}' cannot be used", wrong)
    return found


def _plan_places(
    request: InitRequest, routing: str, brokers: Sequence[Broker], kinds: Kinds
) -> MeshConfig:
    listed = plan_members(brokers, kinds, request.agent_ports, request.metrics_ports[1:])
    planner = request.planner or f"{listed[0].broker.rpartition(':')[0]}:{PLANNER_PORT}"
    host, _, port_text = planner.rpartition(":")
    if not host or not port_text.isdigit() or not 0 < int(port_text) < 65_536:
        raise InputError(f"--planner is {planner!r}; give its address as HOST:PORT.")
    metrics_port = request.metrics_ports[0] if request.metrics_ports else int(port_text) + 1
    return MeshConfig(
        request.out,
        request.name or request.out.resolve().name,
        planner,
        join_endpoint(request.metrics_host, metrics_port),
        request.method,
        routing,
        request.survive,
        tuple(listed),
        **_planner_certificates(host, brokers),
    )


def plan_members(
    brokers: Sequence[Broker],
    kinds: Kinds,
    agent_ports: Sequence[int] = (),
    metrics_ports: Sequence[int] = (),
    *,
    first: int = 0,
    taken: Iterable[str] = (),
) -> list[Member]:
    """Return where agents of brokers listen, and their directories; numbers go up from `first`."""
    reserved = {PLANNER_PLACE, MONITORING_PLACE, REMOVED_PLACE, MESH_FILE, SECRET_FILE}
    reserved |= set(map(str.lower, taken))
    directories = directory_names([broker.node for broker in brokers], reserved)
    listed = []
    for i, broker in enumerate(brokers):
        port = agent_ports[i] if agent_ports else broker.port + AGENT_PORT
        metrics = metrics_ports[i] if metrics_ports else broker.port + METRICS_PORT
        if max(port, metrics) > 65_535:
            raise InputError(
                f"the agent of {broker.node!r} would listen at port {max(port, metrics)}: its "
                f"broker's port, {broker.port}, is too high for the default. Edit the inventory."
            )
        endpoint, own, watched = (
            join_endpoint(broker.host, n) for n in (port, broker.port, metrics)
        )
        adapter = kinds[broker.node].get("adapter", "mosquitto")
        place = directories[broker.node]
        listed.append(Member(broker.node, place, endpoint, own, watched, first + i, adapter))
    return listed


def refuse_shared_ports(config: MeshConfig) -> None:
    """Raise InputError if two parts of the mesh would listen at one port of a host."""
    taken: dict[str, str] = {}
    host, port = config.planner.rpartition(":")[0], split_endpoint(config.metrics)[1]
    ends = [(config.planner, "the planner"), (f"{host}:{port}", "the planner's metrics")]
    for member in (*config.brokers, *config.leaving):
        ends += [
            (member.broker, f"the broker {member.name!r}"),
            (member.endpoint, f"the agent of {member.name!r}"),
            (member.metrics, f"the metrics of {member.name!r}"),
        ]
    for end, what in ends:
        if end in taken:
            raise InputError(
                f"{taken[end]} and {what} would both listen at {end}. Agents listen at their "
                f"broker's port plus {AGENT_PORT:,}, metrics are at plus {METRICS_PORT:,}; choose "
                "other ports for brokers of one host, or another --planner."
            )
        taken[end] = what


def refuse_unreachable(config: MeshConfig) -> None:
    """Raise InputError if agents on other hosts could not reach a part of the mesh."""
    parts = [("the planner", split_endpoint(config.planner)[0])]
    parts += [
        (f"the broker {each.name!r}", split_endpoint(each.endpoint)[0]) for each in config.brokers
    ]
    for what, host in parts:
        if is_wildcard(host):
            raise InputError(
                f"{what} is at {host}, which stands for all addresses of a host. Give the one by "
                "which other hosts reach it."
            )
    here = [(what, host) for what, host in parts if is_loopback(host)]
    elsewhere = [(what, host) for what, host in parts if not is_loopback(host)]
    if here and elsewhere:
        raise InputError(
            f"{here[0][0]} is at {here[0][1]}, which other hosts cannot reach, and "
            f"{elsewhere[0][0]} is at {elsewhere[0][1]}. Give each host by the address that the "
            "others know it by; the agent of a broker listens there, too."
        )


def next_steps(members: Iterable[Member]) -> list[tuple[str, list[str]]]:
    """Return for each kind of broker the directory of its first one, and what to do there."""
    first: dict[str, str] = {}
    for member in members:
        first.setdefault(member.adapter, member.directory)
    return [(place, find_adapter(kind).next_step.splitlines()) for kind, place in first.items()]


def _planner_certificates(host: str, brokers: Sequence[Broker]) -> dict[str, Any]:
    """Return the planner's certificates: those of a broker on its host; none without TLS."""
    if not brokers[0].ca:  # the inventory gives certificates to all brokers or to none
        return {}
    for broker in brokers:
        if broker.host == host.strip("[]"):
            return {key: getattr(broker, key) for key in CERTIFICATES}
    raise InputError(
        f"no broker of the inventory is on the planner's host {host!r}, so there is no certificate "
        "for the planner. Give --planner HOST:PORT with the host of a broker."
    )


def _write(
    config: MeshConfig, brokers: Sequence[Broker], kinds: Kinds, options: Mapping[str, Any]
) -> None:
    config.place.mkdir(parents=True)
    _write_secret(config.place, secrets.token_hex(32))
    write_mesh_file(config)
    (config.place / PLANNER_PLACE).mkdir()
    write_unit(config.place / PLANNER_PLACE, "planner", config.mesh, config.place)
    for member, broker in zip(config.brokers, brokers, strict=True):
        write_broker(config, member, broker, kinds[broker.node], options)


def write_mesh_file(config: MeshConfig) -> None:
    """Write mesh.toml and the files for monitoring, which list the same brokers.

    Who reads mesh.toml meanwhile finds the old one or the new one.
    """
    keys = MESH_KEYS + (CERTIFICATES if config.ca else ())
    lines = _lines({key: getattr(config, key) for key in keys})
    chosen = {key: getattr(config, key) for key in MESH_OPTIONS}
    if chosen != MESH_OPTIONS:
        lines += ["", "[options]", *_lines(chosen)]
    for key in ("brokers", "leaving", "removed"):
        for member in getattr(config, key):
            lines += ["", f"[[{key}]]", *_lines(member._asdict())]
    with new_file(config.place / MESH_FILE) as file:
        file.write("\n".join(lines) + "\n")
    write_monitoring(config)


def write_broker(
    config: MeshConfig,
    member: Member,
    broker: Broker,
    kind: Mapping[str, str],
    options: Mapping[str, Any],
) -> None:
    """Write the directory of one broker."""
    place = config.place / member.directory
    place.mkdir()
    _write_secret(place, config.secret.decode())
    adapter = find_adapter(member.adapter)
    for name, text in adapter.files.items():
        (place / name).write_text(text, encoding="utf-8")
    write_unit(place, "agent", config.mesh, place, adapter.service)
    host = split_endpoint(config.metrics)[0]  # every address for the planner: for agents, too
    metrics = join_endpoint(
        host if is_wildcard(host) else LOOPBACK, split_endpoint(member.metrics)[1]
    )
    lines = _lines({"mesh": config.mesh, "node": member.node, "name": member.name})
    lines += _lines({"planner": config.planner, "listen": member.endpoint, "metrics": metrics})
    known = [key for key in BrokerAddress._fields if key not in ADAPTER_KEYS]
    fields = {key: getattr(broker, key) for key in known if getattr(broker, key)} | dict(kind)
    lines += ["", "[broker]", *_lines(fields), "", "[options]", *_lines(options)]
    _write_text(place / AGENT_FILE, lines)


def _lines(values: Mapping[str, Any]) -> list[str]:
    # Text of TOML is that of JSON, but for DEL and surrogates, which no name may hold.
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]


def _write_text(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_secret(place: Path, secret: str) -> None:
    opened = os.open(place / SECRET_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "w") as file:
        file.write(secret + "\n")
