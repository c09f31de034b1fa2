"""`mesh init`: the directory of a mesh, from an inventory."""

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from meshwright.deploy.inventory import REQUIRED, SECURITY, read_inventory
from meshwright.deploy.names import directory_names
from meshwright.deploy.plan import Broker
from meshwright.errors import InputError, check_choice
from meshwright.mesh.adapters.log_connection import LINES
from meshwright.mesh.config import (
    AGENT_FILE,
    MESH_FILE,
    METHODS,
    PLANNER_PLACE,
    SECRET_FILE,
    BrokerAddress,
    Member,
    MeshConfig,
)
from meshwright.storage.csv_files import read_rows

AGENT_PORT = 5_000  # beyond the broker's own: an agent's port where the user names none
METRICS_PORT = 10_000  # likewise
PLANNER_PORT = 7_900
UNIT = """\
[Unit]
Description=Meshwright {what} of {mesh}
After=network-online.target mosquitto.service

[Service]
ExecStart=/usr/bin/env meshwright mesh {verb} {place}
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
"""


MESH_KEYS = ("mesh", "planner", "metrics", "method", "routing", "survive")
CERTIFICATES = ("ca", "cert", "key")


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
            f"'{request.out}' exists. Choose another -o; to change a mesh, edit its mesh.toml."
        )
    names = [row["node"] for _, row in read_rows(request.inventory, REQUIRED, SECURITY)]
    brokers = read_inventory(request.inventory, dict.fromkeys(names))
    if len(brokers) < 2:
        raise InputError(f"'{request.inventory}' lists {len(brokers)} broker; a mesh needs two.")
    config = _plan_places(request, routing, brokers)
    _write(config, brokers, request.options)
    return config


def _plan_places(request: InitRequest, routing: str, brokers: Sequence[Broker]) -> MeshConfig:
    directories = directory_names([broker.node for broker in brokers])
    listed = []
    for i, broker in enumerate(brokers):
        port = request.agent_ports[i] if request.agent_ports else broker.port + AGENT_PORT
        own = request.metrics_ports
        metrics = own[i + 1] if own else broker.port + METRICS_PORT
        if max(port, metrics) > 65_535:
            raise InputError(
                f"the agent of {broker.node!r} would listen at port {max(port, metrics)}: its "
                f"broker's port, {broker.port}, is too high for the default. Edit the inventory."
            )
        host = f"[{broker.host}]" if ":" in broker.host else broker.host
        ends = (f"{host}:{port}", f"{host}:{broker.port}", f"{host}:{metrics}")
        listed.append(Member(broker.node, directories[broker.node], *ends))
    planner = request.planner or f"{listed[0].broker.rpartition(':')[0]}:{PLANNER_PORT}"
    host, _, port_text = planner.rpartition(":")
    if not host or not port_text.isdigit() or not 0 < int(port_text) < 65_536:
        raise InputError(f"--planner is {planner!r}; give its address as HOST:PORT.")
    metrics_port = request.metrics_ports[0] if request.metrics_ports else int(port_text) + 1
    return MeshConfig(
        request.out,
        request.name or request.out.resolve().name,
        planner,
        f"{host}:{metrics_port}",
        request.method,
        routing,
        request.survive,
        tuple(listed),
        **_planner_certificates(host, brokers),
    )


def _planner_certificates(host: str, brokers: Sequence[Broker]) -> dict[str, str]:
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


def _write(config: MeshConfig, brokers: Sequence[Broker], options: Mapping[str, Any]) -> None:
    secret = secrets.token_hex(32)
    config.place.mkdir(parents=True)
    _write_secret(config.place, secret)
    keys = MESH_KEYS + (CERTIFICATES if config.ca else ())
    lines = _lines({key: getattr(config, key) for key in keys})
    for member in config.brokers:
        lines += ["", "[[brokers]]", *_lines(member._asdict())]
    _write_text(config.place / MESH_FILE, lines)
    (config.place / PLANNER_PLACE).mkdir()
    _write_unit(config.place / PLANNER_PLACE, "planner", config.mesh, config.place)
    for number, (member, broker) in enumerate(zip(config.brokers, brokers, strict=True)):
        place = config.place / member.directory
        place.mkdir()
        _write_secret(place, secret)
        head = "# Add these lines to the broker's mosquitto.conf, then send it SIGHUP."
        _write_text(place / "mosquitto.conf", [head, *LINES.splitlines()])
        _write_unit(place, "agent", config.mesh, place)
        metrics = f"127.0.0.1:{member.metrics.rpartition(':')[2]}"
        lines = _lines({"mesh": config.mesh, "node": number, "name": member.name})
        lines += _lines({"planner": config.planner, "listen": member.endpoint, "metrics": metrics})
        fields = {
            key: getattr(broker, key) for key in BrokerAddress._fields if getattr(broker, key)
        }
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


def _write_unit(place: Path, what: str, mesh: str, target: Path) -> None:
    text = UNIT.format(what=what, verb=what, mesh=mesh, place=target.resolve())
    (place / f"meshwright-{what}.service").write_text(text, encoding="utf-8")
