"""The inventory: where each broker is and how it is secured. And who publishes what.

``node,host,port`` and, all optional, ``ca,cert,key,username,password_env,password_file``: the
paths are those on the broker's host, the password is the content of an environment variable or
of a file here. All problems are gathered before any is raised.
"""

from __future__ import annotations

import csv
import ipaddress
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from meshwright.deployment.filters import is_filter
from meshwright.deployment.names import one_line, wrong_topic
from meshwright.errors import InputError

NEEDED = ("node", "host", "port")
SECURITY = ("ca", "cert", "key", "username", "password_env", "password_file")
HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Broker:
    """One row of the inventory."""

    node: str
    host: str
    port: int
    ca: str = ""
    cert: str = ""
    key: str = ""
    username: str = ""
    password_env: str = ""
    password_file: str = ""

    @property
    def tls(self) -> bool:
        """Whether links to and from this broker are encrypted."""
        return bool(self.ca)


def read_inventory(path: str | Path, nodes: Iterable[str]) -> list[Broker]:
    """Return the brokers of the nodes, in their order, or raise with all that is wrong."""
    source = Path(path)
    rows = _rows(source, NEEDED, SECURITY)
    wrong: list[str] = []
    found: list[Broker] = []
    for line, row in rows:
        broker = _broker(row, f"line {line}", wrong)
        if broker is not None:
            found.append(broker)
    named = [row["node"] for _, row in rows]
    wrong += compare(found, list(nodes), named)
    if wrong:
        raise problems(f"'{source}' cannot be used", wrong)
    by_node = {broker.node: broker for broker in found}
    return [by_node[node] for node in nodes]


def compare(brokers: Sequence[Broker], nodes: Sequence[str], named: Sequence[str]) -> list[str]:
    """Return where the brokers and the nodes of the overlay do not fit together."""
    listed, known = set(named), set(nodes)
    wrong = [f"node {node!r} is not listed" for node in nodes if node not in listed]
    wrong += [f"node {node!r} is not in the overlay" for node in sorted(listed - known)]
    wrong += [f"node {node!r} is listed {n} times" for node, n in _repeated(named)]
    ends = [_endpoint(broker.host, broker.port) for broker in brokers]
    for end, _ in _repeated(ends):
        owners = [repr(b.node) for b, e in zip(brokers, ends, strict=True) if e == end]
        wrong.append(f"{', '.join(owners)} share the endpoint {end}")
    users = [broker.username for broker in brokers if broker.username]
    wrong += [f"username {user!r} belongs to {n} brokers" for user, n in _repeated(users)]
    for what in ("username", "ca"):
        given = [b.node for b in brokers if getattr(b, what)]
        lacking = [b.node for b in brokers if not getattr(b, what)]
        if given and lacking:
            wrong.append(
                f"{given[0]!r} has a {what} and {lacking[0]!r} has none: "
                "give it to all brokers or to none"
            )
    return wrong


def _broker(row: dict[str, str], where: str, wrong: list[str]) -> Broker | None:
    before = len(wrong)
    node = row["node"]
    if not node:
        wrong.append(f"{where}: node is empty")
    if not HOST.fullmatch(row["host"]) and _address(row["host"]) is None:
        wrong.append(f"{where}: host {row['host']!r} is no host name or address")
    port = int(row["port"]) if row["port"].isascii() and row["port"].isdigit() else 0
    if not 0 < port < 65536:
        wrong.append(f"{where}: port {row['port']!r} is not between 1 and 65535")
    for column in ("ca", "cert", "key", "username"):
        if row[column] and not one_line(row[column]):
            wrong.append(f"{where}: {column} {row[column]!r} cannot be written in one line")
    if ":" in row["username"] or row["username"].startswith("#"):
        wrong.append(f"{where}: username {row['username']!r} holds a ':' or begins with '#'")
    if row["ca"] and not (row["cert"] and row["key"]):
        wrong.append(f"{where}: with a ca, cert and key are needed too")
    if not row["ca"] and (row["cert"] or row["key"]):
        wrong.append(f"{where}: cert and key need a ca")
    sources = [row["password_env"], row["password_file"]]
    if row["username"] and sum(map(bool, sources)) != 1:
        wrong.append(f"{where}: a username needs password_env or password_file, one of them")
    if any(sources) and not row["username"]:
        wrong.append(f"{where}: a password needs a username")
    if len(wrong) > before:
        return None
    security = {column: row[column] for column in SECURITY}
    return Broker(node, row["host"], port, **security)


def read_passwords(brokers: Iterable[Broker]) -> dict[str, str]:
    """Return the password of each node with a username; say which cannot be had, not what."""
    wrong: list[str] = []
    found = {}
    for broker in brokers:
        if not broker.username:
            continue
        if broker.password_env:
            where = f"environment variable {broker.password_env!r}"
            text = os.environ.get(broker.password_env, "")
        else:
            where = f"file '{broker.password_file}'"
            try:
                text = Path(broker.password_file).read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
                wrong.append(f"{where} for {broker.node!r} cannot be read: {reason}")
                continue
        if not text:
            wrong.append(f"{where} for {broker.node!r} is empty or not set")
        elif not one_line(text):
            wrong.append(
                f"{where} for {broker.node!r}: the password begins or ends with a space or holds "
                "a control character, which a configuration line cannot"
            )
        found[broker.node] = text
    if wrong:
        raise problems("the passwords cannot be read", wrong)
    return found


def read_publishers(path: str | Path, nodes: Iterable[str]) -> list[tuple[str, str]]:
    """Return the (node, topic) pairs of a publishers file, or raise with all that is wrong."""
    source = Path(path)
    known = set(nodes)
    wrong: list[str] = []
    found: dict[tuple[str, str], None] = {}
    for line, row in _rows(source, ("node", "topic"), ()):
        node, topic = row["node"], row["topic"]
        if node not in known:
            wrong.append(f"line {line}: node {node!r} is not in the overlay")
        reason = "is a filter; publishers need names" if is_filter(topic) else wrong_topic(topic)
        if reason:
            wrong.append(f"line {line}: topic {topic!r} {reason}")
        found[node, topic] = None
    if wrong:
        raise problems(f"'{source}' cannot be used", wrong)
    return sorted(found)


def problems(what: str, wrong: Sequence[str]) -> InputError:
    """Return one error for all that is wrong."""
    count = "a problem" if len(wrong) == 1 else f"{len(wrong):,} problems"
    return InputError(f"{what}: {count}; nothing was written.\n  " + "\n  ".join(wrong))


def _rows(
    source: Path, needed: Sequence[str], optional: Sequence[str]
) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a CSV file with their lines; columns not listed are an error."""
    try:
        with source.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey="", strict=True)
            columns = list(reader.fieldnames or [])
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"'{source}' cannot be read as CSV: {error}. Check the path.") from error
    lacking = [column for column in needed if column not in columns]
    strange = [column for column in columns if column not in (*needed, *optional)]
    if lacking or strange or len(set(columns)) < len(columns):
        raise InputError(
            f"'{source}' has the columns {', '.join(columns) or '(none)'}; needed are "
            f"{', '.join(needed)}, each once"
            + (f", allowed {', '.join(optional)}." if optional else ".")
        )
    wide = [f"line {line} has more cells than the header" for line, row in rows if "" in row]
    if wide:
        raise problems(f"'{source}' cannot be used", wide)
    names = (*needed, *optional)
    return [(line, {name: row.get(name) or "" for name in names}) for line, row in rows]


def _endpoint(host: str, port: int) -> str:
    """Return one text for all ways to write the same endpoint."""
    name = host.lower()
    return f"{_address('127.0.0.1' if name == 'localhost' else name) or name}:{port}"


def _address(host: str) -> str | None:
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return None


def _repeated(values: Iterable[str]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return [(value, n) for value, n in counts.items() if n > 1]
