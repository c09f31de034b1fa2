"""A plan as files for Mosquitto: a directory per broker, and ``plan.json`` written last.

The options of bridges follow what Mosquitto 2.0.11 does, tried with the broker itself
(docs/deploy.md has the observations).
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from meshwright.datasets import command_line
from meshwright.deployment.directory import (
    FILE,
    FORMAT_VERSION,
    KIND,
    refuse_replacing,
    staged,
    write_file,
)
from meshwright.deployment.filters import PatternIndex, is_filter
from meshwright.deployment.inventory import Broker, read_passwords
from meshwright.deployment.names import directory_name
from meshwright.deployment.passwords import hashed
from meshwright.deployment.plan import Line, Plan
from meshwright.deployment.validate import validate
from meshwright.errors import CheckError

Lines = tuple[Line, ...]
ACCESS = {"both": "readwrite", "out": "write", "in": "read"}  # of a dialling bridge, at the other

HEADER = """\
# Broker {node} of a mesh, written by `meshwright deploy mosquitto`: deploy again, do not edit.
# Paths are relative: start it in this directory, cd {directory} && mosquitto -c mosquitto.conf
"""
STORE = """
# Retained messages and the sessions of clients survive a restart; what bridges still have to
# send does not.
persistence true
persistence_location ./
# While a link is down its messages wait here; the default keeps 1000.
max_queued_messages 10000
"""
QOS_2 = """\
# With QoS 2, 2.0.11 loses messages where more than this are under way; the default is 20.
max_inflight_messages 1000
"""
BRIDGE = """
# Link to {node}
connection {name}
address {host}:{port}
{version}
remote_clientid {remote}
local_clientid {local}
# The other broker forgets our subscriptions with the connection: none is left by a redeploy.
cleansession true
# This one keeps what it still has to send.
local_cleansession false
bridge_attempt_unsubscribe false
notifications_local_only true
# Two numbers: 2.0.11 ignores a single one.
restart_timeout 1 5
keepalive_interval 30
"""
VERSION_5 = """\
# Keeps properties and the retain flag, and sends nothing back to where it came from.
bridge_protocol_version mqttv50
try_private true"""
VERSION_311 = """\
# Filters of this link overlap: a private 3.1.1 bridge gets one copy of what both match.
bridge_protocol_version mqttv311
try_private true"""


def write_conf(plan: Plan, out: str | Path, *, force: bool = False) -> dict[str, Any]:
    """Write a plan as a directory of configurations; return what ``plan.json`` says.

    It is written beside, proved from the files and then renamed. With `force` an older one is
    replaced, and nothing that is not one.
    """
    target = Path(out).resolve()
    refuse_replacing(target, force=force)
    passwords = read_passwords(plan.brokers)
    secret = bool(passwords)
    with staged(target, force=force, secret=secret) as place:
        for site in sites(plan):
            directory = place / plan.directories[site.node]
            directory.mkdir(mode=0o700 if secret else 0o755)
            for name, text in files_of(plan, site, passwords).items():
                write_file(directory / name, text, secret=secret)
        facts = plan_facts(plan)
        write_file(place / FILE, json_text(facts), secret=False)
        wrong = validate(place)
        if wrong:
            raise CheckError(
                f"what would be written to '{target}' is not free of faults, and was not: "
                f"{wrong[0]}. Please report this with the overlay and the inventory.",
                tuple(wrong),
            )
    return facts


@dataclass(frozen=True, slots=True)
class Site:
    """What concerns one broker."""

    node: int
    dials: list[tuple[int, Lines]] = field(default_factory=list)
    dialled_by: list[tuple[int, Lines]] = field(default_factory=list)
    rights: list[tuple[str, str]] = field(default_factory=list)  # of its clients


def sites(plan: Plan) -> list[Site]:
    """Return the plan broker by broker."""
    found = [Site(node) for node in range(len(plan.brokers))]
    for (u, v), lines in plan.links.items():
        found[u].dials.append((v, lines))
        found[v].dialled_by.append((u, lines))
    for route in plan.routes:
        wanted = set(route.subscribers)
        for node in route.publishers:
            right = "readwrite" if node in wanted else "write"
            found[node].rights.append((right, route.pattern))
    return found


def files_of(plan: Plan, site: Site, passwords: Mapping[str, str]) -> dict[str, str]:
    """Return the files of one broker by name."""
    broker = plan.brokers[site.node]
    found = {"mosquitto.conf": configuration(plan, site, passwords)}
    if broker.username:
        found["acl"] = access(plan, site)
        users = [plan.brokers[u] for u, _ in site.dialled_by]
        found["passwd"] = "".join(
            f"{user.username}:{hashed(passwords[user.node])}\n" for user in [broker, *users]
        )
    return found


def configuration(plan: Plan, site: Site, passwords: Mapping[str, str]) -> str:
    """Return the text of one broker's mosquitto.conf."""
    broker = plan.brokers[site.node]
    directory = plan.directories[site.node]
    text = HEADER.format(node=directory_name(broker.node), directory=directory)
    text += f"\nlistener {broker.port}{_bind(broker.host)}\n"
    if broker.tls:
        text += f"cafile {broker.ca}\ncertfile {broker.cert}\nkeyfile {broker.key}\n"
    if broker.username:
        text += "allow_anonymous false\npassword_file passwd\nacl_file acl\n"
    else:
        text += "# The inventory gives no usernames: whoever reaches the port may connect.\n"
        text += "allow_anonymous true\n"
    text += STORE + (QOS_2 if plan.qos == 2 else "")
    return text + "".join(bridge(plan, site.node, to, lines, passwords) for to, lines in site.dials)


def bridge(plan: Plan, node: int, to: int, lines: Lines, passwords: Mapping[str, str]) -> str:
    """Return the lines of one bridge."""
    broker, other = plan.brokers[node], plan.brokers[to]
    ends = f"{plan.directories[node]}.{plan.directories[to]}"
    text = BRIDGE.format(
        node=directory_name(other.node),
        name=plan.directories[to],
        host=other.host,
        port=other.port,
        version=VERSION_311 if overlapping(lines) else VERSION_5,
        remote=f"mesh.{ends}",
        local=f"mesh-local.{ends}",
    )
    if broker.tls:
        text += f"bridge_cafile {broker.ca}\n"
        # Shown to a broker that asks for one: `require_certificate` may be added to listeners.
        text += f"bridge_certfile {broker.cert}\nbridge_keyfile {broker.key}\n"
    if broker.username:
        text += f"remote_username {broker.username}\nremote_password {passwords[broker.node]}\n"
    return text + "".join(f"topic {line.pattern} {line.direction} {plan.qos}\n" for line in lines)


def overlapping(lines: Lines) -> bool:
    """Tell whether two lines of a bridge match the same name."""
    if not any(is_filter(line.pattern) for line in lines):
        return False
    index = PatternIndex(line.pattern for line in lines)
    return any(len(index.overlapping(line.pattern)) > 1 for line in lines)


def access(plan: Plan, site: Site) -> str:
    """Return the access list: the broker's user its own topics, each bridge user its link's."""
    text = "# What each user may read and write; anything else is refused.\n"
    text += f"\n# Clients of this broker\nuser {plan.brokers[site.node].username}\n"
    text += "".join(f"topic {right} {pattern}\n" for right, pattern in site.rights)
    for u, lines in site.dialled_by:
        text += f"\n# The bridge of {directory_name(plan.brokers[u].node)}\n"
        text += f"user {plan.brokers[u].username}\n"
        text += "".join(f"topic {ACCESS[line.direction]} {line.pattern}\n" for line in lines)
    return text


def plan_facts(plan: Plan) -> dict[str, Any]:
    """Return what ``plan.json`` says: no password, only where each is to be found."""
    names = [broker.node for broker in plan.brokers]
    way = {(min(link), max(link)): [names[link[0]], names[link[1]]] for link in plan.links}
    return {
        "kind": KIND,
        "format_version": FORMAT_VERSION,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command_line(),
        "workload_digest": plan.workload_digest,
        "method": plan.method,
        "tree": plan.tree,
        "qos": plan.qos,
        "brokers": [
            _broker_facts(broker, directory)
            for broker, directory in zip(plan.brokers, plan.directories, strict=True)
        ],
        "links": [{"from": names[u], "to": names[v]} for u, v in plan.links],
        "topics": [
            {
                "name": route.name,
                "pattern": route.pattern,
                "example": route.example,
                "subscribers": [names[v] for v in route.subscribers],
                "publishers": [names[v] for v in route.publishers],
                "relays": [names[v] for v in route.relays],
                "edges": [way[edge] for edge in route.edges],
            }
            for route in plan.routes
        ],
    }


def json_text(facts: Mapping[str, Any]) -> str:
    """Return JSON with a line for each entry of a list: readable, and quick to write."""
    parts = []
    for name, value in facts.items():
        if isinstance(value, list) and value:
            rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in value)
            text = f"[\n{rows}\n]"
        else:
            text = json.dumps(value, ensure_ascii=False)
        parts.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _broker_facts(broker: Broker, directory: str) -> dict[str, Any]:
    return {
        "node": broker.node,
        "directory": directory,
        "host": broker.host,
        "port": broker.port,
        "tls": broker.tls,
        "username": broker.username or None,
        "password_env": broker.password_env or None,
        "password_file": broker.password_file or None,
    }


def _bind(host: str) -> str:
    """Return the address to listen on: a loopback stays one, any other host may be a proxy's."""
    try:
        return f" {host}" if ipaddress.ip_address(host).is_loopback else ""
    except ValueError:
        return " localhost" if host.lower() == "localhost" else ""
