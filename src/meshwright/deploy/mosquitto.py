"""A plan as files for Mosquitto: a directory per broker, and ``plan.json`` written last.

In the layout ``include`` a broker gets its bridges, and pieces of an access list and of a password
file, which `merge` puts beside what its operator has. In the layout ``whole`` the files are all
that the broker reads.

The options of bridges follow what Mosquitto 2.0.11 does, tried with the broker itself
(docs/deploy.md has the observations).
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from meshwright.deploy.inventory import hash_password, link_secret, read_passwords
from meshwright.deploy.names import directory_name
from meshwright.deploy.plan import FILE, FORMAT_VERSION, KIND, LAYOUTS, Broker, Plan
from meshwright.deploy.validate import validate
from meshwright.errors import CheckError, check_choice
from meshwright.model.client_ids import LOCAL, REMOTE
from meshwright.patterns.filters import PatternIndex, is_filter
from meshwright.runtime.provenance import command_line
from meshwright.storage import replacing

ACCESS = {"both": "readwrite", "out": "write", "in": "read"}  # of a dialling bridge, at the other

LOGS = {  # what `ingest` needs to find in a broker's log
    "none": (),
    "subscriptions": ("error", "warning", "notice", "information", "subscribe", "unsubscribe"),
}
LOGS["publications"] = (*LOGS["subscriptions"], "debug")
DEFAULT_LOG = "subscriptions"
ACL_HEADER = "# What each user may read and write; anything else is refused.\n"
LOGGING = """
# What `meshwright ingest` reads in the log. The first four are what Mosquitto logs by default.
"""

INCLUDED = """\
# Bridges of broker {node}, written by `meshwright deploy mosquitto`: deploy again, do not edit.
# `meshwright deploy merge` puts this file where the broker's mosquitto.conf includes it.
"""
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
# Where `systemctl status` shows it, and a file that `meshwright ingest` reads.
log_dest stderr
log_dest file mosquitto.log
"""
QOS_2 = """\
# With QoS 2, 2.0.11 loses messages where more than this are under way; the default is 20.
max_inflight_messages 1000
"""
BRIDGE = """
# Link to {node}
connection {name}
address {address}
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


def write_conf(
    plan: Plan,
    out: str | Path,
    *,
    layout: str = "include",  # or "whole"
    lock_down: bool = False,  # a broker's own clients may use the topics of the plan only
    log: str = DEFAULT_LOG,
    force: bool = False,
) -> dict[str, Any]:
    """Write a plan as a directory of configurations; return the content of ``plan.json``.

    The files are written to a sibling of the target, validated, and then renamed. With `force` an
    older configuration is replaced, and nothing else.
    """
    check_choice("--layout", layout, LAYOUTS)
    check_choice("--log", log, LOGS)
    plan = replace(plan, layout=layout, lock_down=lock_down)
    target = Path(out).resolve()
    replacing.clean_up(target, is_conf)
    refuse_replacing(target, force=force)
    passwords = read_passwords(plan.brokers)
    secret = bool(passwords)
    mode = 0o700 if secret else 0o755
    with replacing.staging_directory(target, mode=mode) as place:
        for node, files in broker_files(plan, passwords, log).items():
            directory = place / plan.directories[node]
            directory.mkdir(mode=mode)
            for name, text in files.items():
                write_file(directory / name, text, secret=secret)
        content = {
            "kind": KIND,
            "format_version": FORMAT_VERSION,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": command_line(),
            **plan.to_json(),
        }
        write_file(place / FILE, json_text(content), secret=False)
        wrong = validate(place)
        if wrong:
            raise CheckError(
                f"the configuration for '{target}' fails its check and was not written: "
                f"{wrong[0]}. Please report this with the overlay and the inventory.",
                tuple(wrong),
            )
        refuse_replacing(target, force=force)  # again: another run may have finished there
        replacing.move_into_place(place, target)
    return content


def refuse_replacing(target: Path, *, force: bool) -> None:
    """Raise InputError if writing to `target` would lose something other than a plan."""
    replacing.refuse_overwrite(target, is_conf, "a directory of `meshwright deploy`", force=force)


def is_conf(path: Path) -> bool:
    """Return whether a directory was written by `write_conf`."""
    try:
        content = json.loads((path / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("kind") == KIND


def write_file(path: Path, text: str, *, secret: bool) -> None:
    """Write a file; one with secrets is readable by its owner only from the start."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    if not secret:
        path.chmod(0o644)


def broker_files(plan: Plan, passwords: Mapping[str, str], log: str) -> dict[str, dict[str, str]]:
    """Return the files of each node, by name."""
    brokers = {broker.node: broker for broker in plan.brokers}
    dials: dict[str, list[Broker]] = {node: [] for node in brokers}  # those that each one dials
    dialling: dict[str, list[Broker]] = {node: [] for node in brokers}  # those that dial it
    for u, v in plan.links:
        dials[u].append(brokers[v])
        dialling[v].append(brokers[u])
    # Of a broker's own clients
    rights: dict[str, str] = dict.fromkeys(brokers, "" if plan.lock_down else any_topic(plan))
    for route in plan.routes if plan.lock_down else ():
        for node in sorted({*route.publishers, *route.subscribers}):
            right = "readwrite" if node in route.subscribers else "write"
            rights[node] += f"topic {right} {route.name}\n"
    files = {}
    for node, broker in brokers.items():
        bridges = (bridge(plan, broker, other, passwords) for other in dials[node])
        head = (included_settings if plan.layout == "include" else broker_settings)(plan, broker)
        head += LOGGING * bool(LOGS[log]) + "".join(f"log_type {name}\n" for name in LOGS[log])
        files[node] = {LAYOUTS[plan.layout]: head + "".join(bridges)}
        if broker.username:
            own = f"\n# Clients of this broker\nuser {broker.username}\n{rights[node]}"
            others = (bridge_rights(plan, other, broker) for other in dialling[node])
            header = ACL_HEADER if plan.layout == "whole" else ""
            files[node]["acl"] = header + own + "".join(others)
            files[node]["passwd"] = "".join(
                f"{user.username}:{hash_password(passwords[user.node])}\n"
                for user in (broker, *dialling[node])
            )
    return files


def any_topic(plan: Plan) -> str:
    """Return the rights of clients that may do what they like; `#` matches no name with a $."""
    filters = sorted({"#", *plan.match_all})
    return "".join(f"topic readwrite {name}\n" for name in filters) + "topic read $SYS/#\n"


def included_settings(plan: Plan, broker: Broker) -> str:
    """Return the part before the bridges of a file that is included beside an operator's lines."""
    text = INCLUDED.format(node=directory_name(broker.node))
    return text + ("\n" + QOS_2 if plan.qos == 2 else "")


def broker_settings(plan: Plan, broker: Broker) -> str:
    """Return the part of a broker's mosquitto.conf before its bridges."""
    directory = plan.directories[broker.node]
    text = HEADER.format(node=directory_name(broker.node), directory=directory)
    # A host other than loopback may be a proxy's, so the listener takes all addresses.
    text += f"\nlistener {broker.port}{' ' + broker.host.lower() if broker.on_loopback else ''}\n"
    if broker.tls:
        text += f"cafile {broker.ca}\ncertfile {broker.cert}\nkeyfile {broker.key}\n"
    if broker.username:
        text += "allow_anonymous false\npassword_file passwd\nacl_file acl\n"
    else:
        text += "# The inventory gives no usernames: whoever reaches the port may connect.\n"
        text += "allow_anonymous true\n"
    return text + STORE + (QOS_2 if plan.qos == 2 else "")


def bridge(plan: Plan, broker: Broker, other: Broker, passwords: Mapping[str, str]) -> str:
    """Return the lines of one bridge, from a broker to another."""
    lines = plan.lines[broker.node, other.node]
    ends = f"{plan.directories[broker.node]}.{plan.directories[other.node]}"
    # Whoever connects under a bridge's client id ends its connection. So with users nobody can
    # guess it, not even the clients of one end, who know the password of that end only.
    secret = ""
    if broker.username:
        secret = "." + link_secret(passwords[broker.node], passwords[other.node], ends)
    text = BRIDGE.format(
        node=directory_name(other.node),
        name=plan.directories[other.node],
        address=other.endpoint,
        version=VERSION_311 if overlap([line.pattern for line in lines]) else VERSION_5,
        remote=f"{REMOTE}{ends}{secret}",
        local=f"{LOCAL}{ends}{secret}",
    )
    if broker.tls:
        text += f"bridge_cafile {broker.ca}\n"
        # Shown to a broker that asks for one: `require_certificate` may be added to listeners.
        text += f"bridge_certfile {broker.cert}\nbridge_keyfile {broker.key}\n"
    if broker.username:
        # By default the topic of its state has the id, and whoever reads $SYS would know it.
        text += f"notification_topic $SYS/broker/connection/{REMOTE}{ends}/state\n"
        text += f"remote_username {broker.username}\nremote_password {passwords[broker.node]}\n"
    return text + "".join(f"topic {line.pattern} {line.direction} {plan.qos}\n" for line in lines)


def bridge_rights(plan: Plan, user: Broker, broker: Broker) -> str:
    """Return the access list of a broker that dials, at the other end of the link."""
    text = f"\n# The bridge of {directory_name(user.node)}\nuser {user.username}\n"
    link = user.node, broker.node
    return text + "".join(
        f"topic {ACCESS[line.direction]} {topic}\n"
        for line in plan.lines[link]
        for topic in plan.carried_as[link, line.pattern]
    )


def overlap(patterns: Sequence[str]) -> bool:
    """Return whether two patterns match the same name."""
    if not any(map(is_filter, patterns)):
        return False
    index = PatternIndex(patterns)
    return any(len(index.overlapping(pattern)) > 1 for pattern in patterns)


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
