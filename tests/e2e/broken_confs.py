"""Configurations of three brokers with random mistakes, and what real brokers do with them.

The brokers read the files as they are; only `user` is written before the first line, and an account
for the test's clients is added at the end of the users and of the access list.
"""

import os
import random
import shutil
import string
from collections import Counter
from pathlib import Path

from meshwright.deploy import Broker, plan, read_conf, validate, write_conf
from meshwright.deploy.inventory import hash_password
from meshwright.deploy.lab.clients import Clients, Probe
from meshwright.deploy.lab.configurations import ACCOUNT, Access
from meshwright.deploy.lab.processes import (
    LOG,
    LOOPBACK,
    Process,
    accepts,
    find_mosquitto,
    free_ports,
    last_lines,
    start_broker,
    stop,
    wait_until,
)
from meshwright.deploy.plan import Plan
from meshwright.errors import DeployError, InputError
from tests.deploying import overlay_of
from tests.naive.deployment import matches

WANTS = {"a": ["x", "y"], "b": ["x", "y", "w/+"], "c": ["x", "w/+", "w/1"]}
LINKS = [("a", "b"), ("b", "c")]
PUBLISHERS = [("c", "y"), ("a", "w/2")]
NAMES = ["y", "w/1", "w/2", "w/2/3", "hidden", "p/x"]  # and "x", which goes everywhere, at last
LINK_SECONDS = 20.0

LINES = """
topic hidden both 1; topic # both 1; topic w/# out 1; topic x both 1; topic y in 0; topic y both 1
topic y out 1 p/; topic w/1 in; topic x; topic hidden out 01; topic x both 1 p/ p/; topic hidden
topic x both 1 "" p/; topic x/#/y both 1; connection a; connection c; connection more; # topic z
address 127.0.0.1:{b}; listener {free}; addresses 127.0.0.1:{a}; start_type lazy; try_private false
cleansession false; notifications true; notifications_local_only false; round_robin true
bridge_protocol_version mqttv311; remote_clientid mesh.c.b; local_clientid mesh.a.b
clientid mesh.c.b; allow_anonymous true; allow_anonymous false; allow_anonymous 0; user nobody
per_listener_settings true; mount_point p/; max_connections 1; max_qos 0; include_dir .
acl_file acl; password_file passwd; log_type all; log_dest none; clientid_prefixes mesh
bind_address 127.0.0.1; port {free}; bridge_outgoing_retain false; max_packet_size 20
message_size_limit 1; allow_zero_length_clientid true; persistence; topic read hidden
topic readwrite #; topic deny x; topic y; user user-a; user x; pattern readwrite #; topic write x
restart_timeout 60 5; keepalive_interval 4; max_queued_messages 0; max_inflight_messages 1
queue_qos0_messages true; local_username user-b; local_password x; remote_username user-b
remote_password x; bridge_insecure true; retain_available false; cafile x; log_timestamp no
connection_messages false; set_tcp_nodelay true; sys_interval 1; require_certificate true
"""
SWAPS = """
true false; false true; both out; out in; in both; 1 0; x y; y x; w/+ w/#; w/1 w/+; read write
readwrite read; write readwrite; mqttv50 mqttv311; mqttv311 mqttv50; user-a user-b; user-b user-c
"""


def _listed(text: str) -> list[str]:
    return text.strip().replace("\n", "; ").split("; ")


NEW_LINES = _listed(LINES)
WORDS = dict(pair.split(" ") for pair in _listed(SWAPS))
OTHER_WORDS = ("1", "x", "#", "0", "true", "99999", "", "mesh.c.b")


def deploy(place: Path, *, secured: bool, lock_down: bool = True) -> Plan:
    """Write a good configuration for free ports of this machine."""
    ports = dict(zip(WANTS, free_ports(len(WANTS)), strict=True))
    brokers = []
    for node, port in ports.items():
        secret = place.parent / f"secret-{node}"
        secret.write_text(f"secret of {node}")
        user = {"username": f"user-{node}", "password_file": str(secret)} if secured else {}
        brokers.append(Broker(node, LOOPBACK, port, **user))
    pairs = [(node, topic) for node, topics in WANTS.items() for topic in topics]
    made = plan(overlay_of(pairs, LINKS), brokers, publishers=PUBLISHERS)
    write_conf(made, place, layout="whole", lock_down=lock_down)
    return made


def spoil(conf: Path, made: Plan, draw: random.Random) -> str:
    """Change one or two files; return what was done."""
    done = []
    for _ in range(draw.choice((1, 1, 2))):
        files = sorted(path for path in conf.glob("*/*") if path.is_file())
        weights = [4 if path.name == "mosquitto.conf" else 2 for path in files]
        (path,) = draw.choices(files, weights)
        change = draw.choice(CHANGES)
        text = path.read_bytes().decode()
        changed = change(text, draw)
        ports = {broker.node: str(broker.port) for broker in made.brokers}
        for name, port in {**ports, "free": str(free_ports(1)[0])}.items():
            changed = changed.replace(f"{{{name}}}", port)
        path.write_bytes(changed.encode())
        done.append(f"{change.__name__} in {path.parent.name}/{path.name}")
    return ", ".join(done)


def _on_line(change):
    """Return a change of a text that changes one of its lines, rarely a comment."""

    def changed(text: str, draw: random.Random) -> str:
        lines = text.split("\n")
        used = [i for i, line in enumerate(lines) if line and not line.startswith("#")]
        i = draw.choice(used) if used and draw.random() < 0.8 else draw.randrange(len(lines))
        lines[i : i + 1] = change(lines[i], draw)
        return "\n".join(lines)

    changed.__name__ = change.__name__.strip("_")
    return changed


def _insert_line(line: str, draw: random.Random) -> list[str]:
    new = draw.choice(NEW_LINES)
    return draw.choice(([line, new], [line, new], [new, line], [line, f"  {new}"]))


def _remove_line(_: str, _draw: random.Random) -> list[str]:
    return []


def _repeat_line(line: str, _: random.Random) -> list[str]:
    return [line, line]


def _make_comment(line: str, _: random.Random) -> list[str]:
    return [f"#{line}"]


def _take_comment(line: str, _: random.Random) -> list[str]:
    return [line.lstrip("# ")]


def _add_control(line: str, draw: random.Random) -> list[str]:
    at = draw.randrange(len(line) + 1)
    return [line[:at] + draw.choice("\r\0\t\x0b\x0c\x1a\x7f\x85\u2028\ufeff") + line[at:]]


def _hide_in_comment(line: str, draw: random.Random) -> list[str]:
    return [f"# note{draw.choice(chr(13) + chr(0))}{line}"]


def _end_with_return(line: str, _: random.Random) -> list[str]:
    return [f"{line}\r"]


def _change_spaces(line: str, draw: random.Random) -> list[str]:
    gap = draw.choice(("  ", "\t", " \t", "\u00a0", ""))
    return [
        draw.choice((gap + line, line + gap, line.replace(" ", gap, 1), line.replace(" ", gap)))
    ]


def _change_case(line: str, draw: random.Random) -> list[str]:
    return [draw.choice((line.upper(), line.title(), line.swapcase()))]


def _change_word(line: str, draw: random.Random) -> list[str]:
    words = line.split(" ")
    i = draw.randrange(len(words))
    words[i] = WORDS.get(words[i], draw.choice(OTHER_WORDS))
    return [" ".join(words)]


def _known_word(line: str, _: random.Random) -> list[str]:
    return [" ".join(WORDS.get(word, word) for word in line.split(" "))]


def _add_word(line: str, draw: random.Random) -> list[str]:
    return [f"{line} {draw.choice(list(WORDS))}"]


def _change_character(line: str, draw: random.Random) -> list[str]:
    at = draw.randrange(len(line) + 1)
    return [line[:at] + draw.choice(string.printable) + line[at + 1 :]]


def all_returns(text: str, _: random.Random) -> str:
    return text.replace("\n", "\r\n")


def swap_lines(text: str, draw: random.Random) -> str:
    lines = text.split("\n")
    i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def repeat_bridge(text: str, draw: random.Random) -> str:
    """Give a bridge a twin, with half of its topics, or all."""
    head, mark, bridge = text.partition("connection ")
    if not mark:
        return text
    lines = bridge.split("\n")
    if draw.random() < 0.7:
        lines[0] += "-2"
    if draw.random() < 0.6:
        lines = [line + ".2" if "_clientid" in line else line for line in lines]
    topics = [line for line in lines if line.startswith("topic")]
    moved = draw.sample(topics, draw.randrange(len(topics) + 1))
    one = [line for line in bridge.split("\n") if line not in moved]
    other = [line for line in lines if line not in topics or line in moved]
    return head + mark + "\n".join(one) + "\n" + mark + "\n".join(other)


def add_long_comment(text: str, draw: random.Random) -> str:
    at = draw.choice([i + 1 for i, c in enumerate(text) if c == "\n"] or [0])
    return (
        text[:at]
        + "#"
        + "x" * draw.choice((997, 998, 999, 1998))
        + "topic hidden both 1\n"
        + text[at:]
    )


CHANGES = (
    *(_on_line(change) for change in (_insert_line, _insert_line, _remove_line, _repeat_line)),
    *(_on_line(change) for change in (_make_comment, _take_comment, _add_control, _change_case)),
    *(_on_line(change) for change in (_hide_in_comment, _end_with_return, _change_spaces)),
    *(_on_line(change) for change in (_change_word, _known_word, _known_word, _add_word)),
    *(_on_line(_change_character), all_returns, swap_lines, repeat_bridge, add_long_comment),
)


def passes(conf: Path) -> bool:
    """Return whether `deploy check` says yes."""
    try:
        return not validate(read_conf(conf))
    except InputError:
        return False


def run(conf: Path, made: Plan, place: Path) -> list[str]:
    """Start the brokers, publish every name everywhere; return where they break the proof."""
    password = "of the test"
    for broker in made.brokers:
        directory = place / broker.node
        shutil.copytree(conf / broker.node, directory)
        settings = directory / "mosquitto.conf"
        user = b"user root\n" if os.geteuid() == 0 else b""
        settings.write_bytes(user + settings.read_bytes())
        for name, account in (
            ("acl", f"\nuser {ACCOUNT}\ntopic readwrite #\n"),
            ("passwd", f"\n{ACCOUNT}:{hash_password(password)}\n"),
        ):
            path = directory / name
            if path.exists():
                path.write_bytes(path.read_bytes().rstrip(b"\n") + account.encode())
    access = Access({b.node: b.port for b in made.brokers}, password, (), None)
    processes: dict[str, Process] = {}
    program = find_mosquitto()

    def require(node: str) -> None:
        if not processes[node].runs():
            raise DeployError(f"{node} ends: {last_lines(place / node / LOG)}")

    try:
        for broker in sorted(made.brokers, key=lambda b: b.node != "b"):  # b is dialled
            process = start_broker(program, place / broker.node)
            processes[broker.node] = process
            wait_until(lambda p=process, port=broker.port: accepts(port) or not p.runs())
            require(broker.node)
        with Clients(access, WANTS, require, qos=1, topics=("#",)) as clients:
            clients.wait_for(_probes(made), LINK_SECONDS)
            return _publish(clients, made)
    except DeployError as error:
        return [str(error)]
    finally:
        stop(processes.values())


def _probes(made: Plan) -> list[Probe]:
    """Return a probe for each topic and direction of each link."""
    return [
        Probe(one, route.example, frozenset({other}), route.example)
        for route in made.routes
        for one, other in route.crossings
    ]


def _publish(clients: Clients, made: Plan) -> list[str]:
    """Publish every name at every broker; return what arrived or is missing against the proof."""
    sent = [(node, name) for node in WANTS for name in (*NAMES, "x")]
    first = clients.take_numbers(len(sent))
    for number, (node, name) in enumerate(sent):
        clients.publish(node, name, first + number)
    least: set[tuple[int, str]] = set()  # (message, broker) that must arrive, and that may
    most: set[tuple[int, str]] = set()
    for number, (at, name) in enumerate(sent):
        routes = [route for route in made.routes if matches(route.name, name)]
        wanted = {(number, node) for route in routes for node in route.subscribers}
        most |= wanted | {(number, at)}
        least |= {(number, at)} | (wanted if any(at in r.publishers for r in routes) else set())
    came: Counter[tuple[int, str]] = Counter()
    renamed = []

    def all_came() -> bool:
        for node, arrival in clients.news():
            number = arrival.number - first
            came[number, node] += 1
            if arrival.topic != sent[number][1]:
                renamed.append(f"{sent[number]} arrives as {arrival.topic!r} at {node}")
        return least <= came.keys()

    # A bridge keeps the order, and "x" is the last message of each broker: when all that is awaited
    # has come, so has whatever unwanted took the same way.
    wait_until(all_came, LINK_SECONDS)
    wrong = [f"{sent[i]} does not arrive at {node}" for i, node in sorted(least - came.keys())]
    wrong += [f"{sent[i]} arrives unwanted at {node}" for i, node in sorted(came.keys() - most)]
    wrong += [f"{sent[i]} arrives {n} times at {node}" for (i, node), n in came.items() if n > 1]
    return wrong + renamed
