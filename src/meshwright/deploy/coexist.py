"""A plan's piece inside the configuration that a broker runs: errors, and warnings.

Our lines are judged as strictly as in files of our own. Of the operator's lines only those matter
that can carry a message of the plan, or stop one: another bridge is an error, the rest a warning.
"""

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import MappingProxyType

from meshwright.deploy.installed import (
    USUAL_PLACE,
    Installed,
    InstalledBridge,
    Rights,
    host_files,
    read_installed,
    read_rights,
    read_users,
)
from meshwright.deploy.plan import LAYOUTS, Broker, Plan
from meshwright.deploy.read import Conf
from meshwright.deploy.validate import (
    GRANTED,
    RIGHTS,
    Carrier,
    carried,
    find_cycle,
    validate,
)
from meshwright.errors import InputError
from meshwright.model.client_ids import REMOTE
from meshwright.patterns.filters import PatternIndex, covers, representative_names

INFLIGHT_QOS_2 = 1000
PASSWORD = b"\nremote_password "
LIMITS = {  # options that may stop a message, with the value that does not
    "message_size_limit": "0",
    "max_packet_size": "0",
    "retain_available": "true",
    "use_username_as_clientid": "false",
    "max_qos": "2",
}


@dataclass(slots=True)
class Findings:
    """What is wrong, and what the operator should know."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def judge(
    plan: Plan, node: str, piece: Path, installed: Installed, *, bridges: bool = True
) -> Findings:
    """Return what is wrong with a broker's piece of a plan in the configuration that it runs.

    Without `bridges` only users and rights are judged.
    """
    found = Findings()
    broker = next(broker for broker in plan.brokers if broker.node == node)
    if bridges:
        found.errors += _own_bridges(node, piece, installed)
        found.errors += other_bridges(plan, {node: installed})
        found.warnings += _limits(plan, broker, installed)
    if any(node == dialled for _, dialled in plan.links):
        _judge_listener(broker, installed, found)
        if broker.username:
            _judge_users(plan, broker, piece, installed, found)
        else:
            _judge_anonymous(plan, broker, installed, found)
    return found


def check_conf(read: Conf, installed: Mapping[str, Path] = MappingProxyType({})) -> Findings:
    """Return what is wrong with a configuration, and with what brokers run, where it is given."""
    found = Findings(validate(read))
    if not installed:
        return found
    judged = check_installed(read.path, read.plan, installed)
    return Findings(found.errors + judged.errors, judged.warnings)


def check_installed(conf: Path, plan: Plan, places: Mapping[str, Path]) -> Findings:
    """Return what is wrong with the configurations that some brokers of a plan run.

    A place is a mosquitto.conf, its directory, or the copy of a host's file system.
    """
    found = Findings()
    hosts = {}
    for node, place in places.items():
        if node not in plan.directories:
            raise InputError(f"{node!r} is not a broker of '{conf}'.")
        if plan.layout != "include":
            raise InputError(f"'{conf}' has the layout {plan.layout}; its files are all there is.")
        copied = (place / USUAL_PLACE.lstrip("/")).is_file()
        files, main = host_files(USUAL_PLACE, place) if copied else host_files(place)
        hosts[node] = read_installed(files, main)
        judged = judge(plan, node, conf / plan.directories[node], hosts[node])
        found.errors += judged.errors
        found.warnings += judged.warnings
    found.errors += [wrong for wrong in other_bridges(plan, hosts) if wrong not in found.errors]
    return found


def is_ours(bridge: InstalledBridge) -> bool:
    """Return whether a bridge stands in the file that `merge` writes."""
    return posixpath.basename(bridge.file) == LAYOUTS["include"]


def _own_bridges(node: str, piece: Path, installed: Installed) -> Iterator[str]:
    """Yield where the plan's bridges are not read, or not as they were written."""
    file = LAYOUTS["include"]
    read = [name for d in installed.include_dirs for name in installed.files.included(d)]
    ours = [name for name in read if posixpath.basename(name) == file]
    if len(ours) != 1:
        place = f"{len(ours)} directories" if ours else "no directory"
        yield f"{node!r}: '{installed.main}' includes {file} from {place}. Merge again."
    elif installed.files.read(ours[0]) != (piece / file).read_bytes():
        yield f"{node!r}: '{ours[0]}' is not the {file} of '{piece}'. Merge again."
    for name in ours:
        if PASSWORD in (installed.files.read(name) or b"") and installed.files.is_open(name):
            yield (
                f"{node!r}: '{name}' has the passwords of bridges, and anyone at that host may "
                f"read it. Run chmod o= {name}"
            )
    for option in installed.lost:
        yield (
            f"{node!r}: {option.where}, `{option.name}`, stands below an include_dir inside a "
            "bridge, and Mosquitto loses it. Move the include_dir above that bridge."
        )
    names = [bridge.name for bridge in installed.bridges]
    for bridge in installed.bridges:
        if not is_ours(bridge) and names.count(bridge.name) > 1:
            yield f"{node!r} has two bridges called {bridge.name!r}. Rename yours."


def other_bridges(plan: Plan, hosts: Mapping[str, Installed]) -> list[str]:
    """Return the operator's bridges that carry a topic of the plan, or close a cycle."""
    ends = {broker.endpoint: broker.node for broker in plan.brokers}
    index = PatternIndex(route.pattern for route in plan.routes if route.edges)
    wrong = []
    carriers: list[Carrier] = []
    for node, installed in hosts.items():
        for i, bridge in enumerate(installed.bridges):
            if is_ours(bridge):
                continue
            named = f"{node!r}: the bridge {bridge.name!r} of '{bridge.file}'"
            others = {ends.get(address, address) for address in bridge.addresses}
            if node in others:
                wrong.append(f"{named} dials its own broker. Remove it.")
            for line in bridge.lines:
                names = {line.local} if others.isdisjoint(plan.nodes) else {line.local, line.remote}
                hit = next((hit for name in sorted(names) for hit in index.overlapping(name)), None)
                if hit is not None:
                    wrong.append(
                        f"{named} carries {line.local!r} beside the plan, which carries {hit!r}: "
                        "a message could go in circles, or arrive twice. Remove that line."
                    )
                else:
                    ways = product(sorted(others - {node}), sorted({line.local, line.remote}))
                    carriers += [Carrier(node, to, i, way, line.direction) for to, way in ways]
    patterns = {carrier.pattern for carrier in carriers}
    for name, here in carried(carriers, representative_names(patterns)):
        if cycle := find_cycle(here):
            links = ", ".join(f"{c.at!r} - {c.to!r}" for c in cycle)
            wrong.append(f"{name!r} goes in circles over bridges of your own: {links}")
    return wrong


def _limits(plan: Plan, broker: Broker, installed: Installed) -> Iterator[str]:
    """Yield options of the operator that may stop or lose messages of bridges."""
    for option, harmless in LIMITS.items():
        value = installed.options.get(option, harmless)
        if value != harmless:
            yield f"{broker.node!r} has `{option} {value}`: messages beyond it do not cross links"
    inflight = installed.options.get("max_inflight_messages", "")
    if plan.qos == 2 and inflight != "0" and inflight != str(INFLIGHT_QOS_2):
        yield (
            f"{broker.node!r} has `max_inflight_messages {inflight}`: with QoS 2, 2.0.11 loses "
            f"messages where more are under way; {INFLIGHT_QOS_2} was enough"
        )


def _judge_listener(broker: Broker, installed: Installed, found: Findings) -> None:
    """Judge the place where other brokers dial."""
    node, listener = broker.node, installed.listener(broker.port)
    if listener is None:
        ports = ", ".join(item.port for item in installed.listeners if item.port)
        found.warnings.append(
            f"{node!r} listens at {ports}, and other brokers dial {broker.endpoint}: is that "
            "passed on?"
        )
        return
    if ("certfile" in listener.options) != broker.tls:
        found.errors.append(
            f"{node!r}: the listener at {broker.port} has "
            f"{'no certificate' if broker.tls else 'TLS'}, and bridges dial it "
            f"{'with' if broker.tls else 'without'} TLS. Change the inventory or the listener."
        )
    if "mount_point" in listener.options:
        found.errors.append(
            f"{node!r}: the listener at {broker.port} has a mount_point, which renames what "
            "bridges carry. Give bridges another listener."
        )
    prefix = installed.security(broker.port).get("clientid_prefixes", "")
    if not REMOTE.startswith(prefix):
        found.errors.append(
            f"{node!r} has `clientid_prefixes {prefix}`, and the ids of bridges begin with "
            f"{REMOTE!r}: they are refused."
        )


def _judge_users(
    plan: Plan, broker: Broker, piece: Path, installed: Installed, found: Findings
) -> None:
    """Judge the users and rights of bridges that dial a broker, and of its own clients."""
    node, files = broker.node, installed.files
    settings = installed.security(broker.port)
    if settings.get("allow_anonymous") == "true":
        found.warnings.append(f"{node!r} has `allow_anonymous true`: anyone may use its topics")
    by_plugin = any(name in installed.options for name in ("plugin", "auth_plugin"))
    if by_plugin:
        found.warnings.append(
            f"{node!r} has a plugin, which may decide about users: see that it knows those of "
            f"'{piece / 'passwd'}' and gives them the rights of '{piece / 'acl'}'"
        )
    wrong = found.warnings if by_plugin else found.errors
    file = settings.get("password_file")
    users = read_users(files.read(file) or b"") if file else {}
    planned = read_users((piece / "passwd").read_bytes())
    bridges = [user for user in planned if user != broker.username]
    for user in bridges:
        if users.get(user) != planned[user]:
            known = "another password" if user in users else "no password"
            wrong.append(f"{node!r} has {known} for the user {user!r}. Merge again.")
    if broker.username not in users and not by_plugin:
        found.warnings.append(
            f"{node!r} has no password for {broker.username!r}, the user of its own clients"
        )
    if "acl_file" not in settings:
        wrong.append(f"{node!r} has no access list: bridges may use every topic. Merge again.")
        return
    rights = read_rights(settings["acl_file"], files.read(settings["acl_file"]) or b"")
    needed = read_rights("acl", (piece / "acl").read_bytes()).users
    for user in bridges:
        got, wanted = _granted(rights.users.get(user, ())), _granted(needed[user])
        for topic in wanted:
            if wanted[topic] - got.get(topic, set()):
                wrong.append(f"{node!r} does not let {user!r} use {topic!r}. Merge again.")
        for topic in got:
            if got[topic] - wanted.get(topic, set()):
                wrong.append(
                    f"{node!r} has a line about {topic!r} for {user!r}, the user of a bridge, "
                    "which the plan does not have. Remove it."
                )
    found.warnings += _own_clients(plan, broker, rights, needed.get(broker.username, ()))
    if rights.patterns:
        listed = ", ".join(topic for _, topic in rights.patterns[:5])
        found.warnings.append(
            f"{node!r} has `pattern` lines ({listed}), which give rights to bridges too"
        )
    without = sorted(users.keys() - rights.users.keys())
    if without and not rights.patterns:
        found.warnings.append(
            f"{node!r} has users without any right: {', '.join(map(repr, without[:5]))}"
        )


def _own_clients(
    plan: Plan, broker: Broker, rights: Rights, wanted: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """Yield where a broker's own clients may do less than the plan has for them, or more."""
    node, user = broker.node, broker.username
    own = rights.users.get(user, [])
    for right, topic in wanted:
        if not _allows([*own, *rights.patterns], topic, GRANTED[right]):
            yield f"{node!r} does not let {user!r}, the user of its own clients, use {topic!r}"
    planned = _granted(wanted)
    for topic, got in _granted(own).items():
        if plan.lock_down and got - planned.get(topic, set()):
            yield f"{node!r} lets {user!r} use {topic!r}, which --lock-down forbids"


def _judge_anonymous(plan: Plan, broker: Broker, installed: Installed, found: Findings) -> None:
    """Judge whether bridges without a user may do what they need."""
    node, settings = broker.node, installed.security(broker.port)
    listener = installed.listener(broker.port)
    if listener is not None and settings.get("allow_anonymous") != "true":
        found.errors.append(
            f"{node!r} does not allow anonymous clients, and the inventory has no users: bridges "
            "are refused. Give usernames and passwords in the inventory, and deploy again."
        )
    if "acl_file" not in settings:
        return
    file = settings["acl_file"]
    rights = read_rights(file, installed.files.read(file) or b"")
    own = [*rights.users.get("", ()), *rights.patterns]
    for (_, dialled), lines in plan.lines.items():
        for line in lines if dialled == node else ():
            if not _allows(own, line.pattern, RIGHTS[line.direction]):
                found.errors.append(
                    f"{node!r}: '{file}' does not let anonymous clients, and so bridges, use "
                    f"{line.pattern!r}."
                )


def _allows(rights: Sequence[tuple[str, str]], pattern: str, needed: Iterable[str]) -> bool:
    fitting = [GRANTED.get(right, set()) for right, topic in rights if covers(topic, pattern)]
    return set(needed) <= set().union(*fitting)


def _granted(rights: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Return the rights by topic; a refusal is one that no plan has."""
    found: dict[str, set[str]] = {}
    for right, topic in rights:
        found.setdefault(topic, set()).update(GRANTED.get(right, {right}))
    return found
