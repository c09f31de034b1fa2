"""The inventory: where each broker is and how it is secured. Also the list of publishers.

``node,host,port`` and, all optional, ``ca,cert,key,username,password_env,password_file``: the
paths are those on the broker's host, the password is the content of an environment variable or
of a file here. All problems are gathered before any is raised.
"""

import base64
import hashlib
import hmac
import ipaddress
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from meshwright.deploy.names import fits_one_line
from meshwright.deploy.plan import Broker
from meshwright.model.names import LONGEST_NAME
from meshwright.patterns.filters import topic_error
from meshwright.storage.csv_files import raise_problems, read_rows, repeated

REQUIRED = ("node", "host", "port")
SECURITY = ("ca", "cert", "key", "username", "password_env", "password_file")
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
PORT = re.compile(r"[0-9]{1,5}")
TOO_LONG = f"is longer than the {LONGEST_NAME:,} bytes of MQTT"
ITERATIONS = 101  # of the hash: the default of mosquitto_passwd 2.0
SALT_BYTES = 12


def read_inventory(
    path: str | Path, nodes: Iterable[str], *, beside: Sequence[str] = (), own_users: bool = True
) -> list[Broker]:
    """Return the brokers of the nodes, in their order, or raise InputError with all problems.

    Columns `beside` ours are left to others. With `own_users`, all brokers have a user name or
    none, and no two the same one.
    """
    rows = read_rows(Path(path), REQUIRED, (*SECURITY, *beside))
    wrong: list[str] = []
    brokers = []
    for line, cells in rows:
        row = {name: cell for name, cell in cells.items() if name not in beside}
        faults = _row_problems(row)
        wrong += [f"line {line}: {fault}" for fault in faults]
        if not faults:
            fields: dict[str, Any] = {**row, "port": int(row["port"])}
            brokers.append(Broker(**fields))
    named = [row["node"] for _, row in rows]
    wrong += inventory_problems(brokers, list(nodes), named, own_users=own_users)
    raise_problems(f"'{path}' cannot be used", wrong)
    by_node = {broker.node: broker for broker in brokers}
    return [by_node[node] for node in nodes]


def inventory_problems(
    brokers: Sequence[Broker],
    nodes: Sequence[str],
    named: Sequence[str],
    *,
    own_users: bool = True,
) -> list[str]:
    """Return where the brokers do not fit the nodes of the overlay, or each other."""
    listed = set(named)
    wrong = [f"node {node!r} is not listed" for node in nodes if node not in listed]
    wrong += [f"node {node!r} is not in the overlay" for node in sorted(listed - set(nodes))]
    wrong += [f"node {node!r} is listed {n} times" for node, n in repeated(named)]
    ends = [_endpoint(broker) for broker in brokers]
    for end, _ in repeated(ends):
        owners = [repr(b.node) for b, e in zip(brokers, ends, strict=True) if e == end]
        wrong.append(f"{', '.join(owners)} share the endpoint {end}")
    users = [broker.username for broker in brokers if broker.username and own_users]
    wrong += [f"username {user!r} belongs to {n} brokers" for user, n in repeated(users)]
    for what in ("username", "ca") if own_users else ("ca",):
        given = [b.node for b in brokers if getattr(b, what)]
        lacking = [b.node for b in brokers if not getattr(b, what)]
        if given and lacking:
            has = f"{given[0]!r} has a {what} and {lacking[0]!r} has none"
            wrong.append(f"{has}: give it to all brokers or to none")
    return wrong


def _row_problems(row: dict[str, str]) -> list[str]:
    """Return what is wrong with one row by itself; a column that is missing is ""."""
    host, port, user, ca = row["host"], row["port"], row["username"], row["ca"]
    is_host = HOST.fullmatch(host) or _address(host)
    is_port = PORT.fullmatch(port) and 0 < int(port) < 65536
    keys = [column for column in ("cert", "key") if row[column]]
    passwords = [column for column in ("password_env", "password_file") if row[column]]
    written = [column for column in ("ca", "cert", "key", "username") if row[column]]
    unfit = [column for column in written if not fits_one_line(row[column])]
    wrong = {
        "node is empty": not row["node"],
        f"host {host!r} is not a host name or address": not is_host,
        f"port {port[:20]!r} is not between 1 and 65535": not is_port,
        **{f"{column} {row[column]!r} cannot be written in one line": True for column in unfit},
        f"username {user[:20]!r}... {TOO_LONG}": len(user.encode()) > LONGEST_NAME,
        f"username {user!r} holds a ':' or begins with '#'": ":" in user or user.startswith("#"),
        "with a ca, cert and key are needed too": ca and len(keys) < 2,
        "cert and key need a ca": keys and not ca,
        "a username needs password_env or password_file, one of them": user and len(passwords) != 1,
        "a password needs a username": passwords and not user,
    }
    return [problem for problem, found in wrong.items() if found]


def read_passwords(brokers: Iterable[Broker]) -> dict[str, str]:
    """Return the password of each node with a username; an error names its source, not its text."""
    wrong: list[str] = []
    found = {}
    for broker in (broker for broker in brokers if broker.username):
        if broker.password_env:
            where = f"environment variable {broker.password_env!r}"
            text = os.environ.get(broker.password_env, "")
        else:
            where = f"file '{broker.password_file}'"
            try:
                text = Path(broker.password_file).read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
                wrong.append(f"{where} for {broker.node!r} cannot be read: {reason}")
                continue
        if not text:
            wrong.append(f"{where} for {broker.node!r} is empty or not set")
        elif len(text.encode()) > LONGEST_NAME:
            wrong.append(f"{where} for {broker.node!r}: the password {TOO_LONG}")
        elif not fits_one_line(text):
            wrong.append(
                f"{where} for {broker.node!r}: the password begins or ends with a space or holds "
                "a control character, which a configuration line cannot"
            )
        found[broker.node] = text
    raise_problems("the passwords cannot be read", wrong)
    return found


def hash_password(password: str) -> str:
    """Return an entry as ``mosquitto_passwd`` writes it: salted PBKDF2 with SHA-512."""
    salt = secrets.token_bytes(SALT_BYTES)
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS)
    parts = (base64.b64encode(part).decode("ascii") for part in (salt, digest))
    return f"$7${ITERATIONS}${'$'.join(parts)}"


def link_secret(one: str, other: str, link: str) -> str:
    """Return a text that only who knows the passwords of both ends can make, the same each time."""
    both = f"{one}\n{other}".encode()  # no password holds a line end
    return hashlib.pbkdf2_hmac("sha512", both, link.encode(), ITERATIONS, 16).hex()


def is_hash_of(entry: str, password: str) -> bool:
    """Return whether an entry of a password file was made from this password."""
    try:
        empty, kind, iterations, *parts = entry.split("$")
        salt, digest = map(base64.b64decode, parts)
        made = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, int(iterations))
        return (empty, kind) == ("", "7") and hmac.compare_digest(digest, made)
    except ValueError:  # binascii.Error is one, too
        return False


def read_publishers(path: str | Path, nodes: Iterable[str]) -> list[tuple[str, str]]:
    """Return the (node, topic or filter) pairs of a publishers file, or raise with all problems."""
    known = set(nodes)
    wrong: list[str] = []
    found = set()
    for line, row in read_rows(Path(path), ("node", "topic"), ()):
        node, topic = row["node"], row["topic"]
        if node not in known:
            wrong.append(f"line {line}: node {node!r} is not in the overlay")
        if reason := topic_error(topic):
            wrong.append(f"line {line}: topic {topic!r} {reason}")
        found.add((node, topic))
    raise_problems(f"'{path}' cannot be used", wrong)
    return sorted(found)


def _endpoint(broker: Broker) -> str:
    """Return one text for all ways to write the same endpoint."""
    name = broker.host.lower()
    return f"{_address('127.0.0.1' if name == 'localhost' else name) or name}:{broker.port}"


def _address(host: str) -> str | None:
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return None
