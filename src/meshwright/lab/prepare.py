"""A copy of a configuration that runs on this machine alone.

Only what ties a configuration to its place is changed: the listener and the addresses that
bridges dial become loopback, logs go to the broker's directory, and files named by absolute paths
are copied. Where a broker wants credentials, an account for the lab's own clients is added to the
copy; where it wants TLS, certificates made for the lab take the place of yours, which are for
other host names. Bridges, topics, sessions, users and access lists are as they were written.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from meshwright.deployment.passwords import hashed
from meshwright.errors import DeployError, InputError
from meshwright.lab.plan import CONFIGURATION, Link, Plan
from meshwright.lab.processes import LOOPBACK

ACCOUNT = "meshwright-lab"
PLACED = ("log_dest", "log_type", "log_timestamp", "pid_file", "user", "persistence_location")
CERTIFICATES = {
    "cafile": "ca.crt",
    "certfile": "lab.crt",
    "keyfile": "lab.key",
    "bridge_cafile": "ca.crt",
    "bridge_certfile": "lab.crt",
    "bridge_keyfile": "lab.key",
}
UNSUPPORTED = ("capath", "bridge_capath", "psk_file", "bridge_psk", "include_dir", "plugin")


@dataclass(frozen=True, slots=True)
class Access:
    """How the lab's own clients reach the brokers."""

    ports: Mapping[str, int]  # of each node
    password: str
    tls: frozenset[str]  # nodes that want it
    authority: str | None  # the certificate to trust


def prepare(
    conf: Path,
    plan: Plan,
    lab: Path,
    ports: Mapping[str, int],
    *,
    via: Mapping[Link, int] | None = None,
    extra: Mapping[str, tuple[str, ...]] | None = None,
    like: Access | None = None,
) -> Access:
    """Write the copy of each broker's directory into `lab` and return how to reach the brokers.

    `via` sends single links through another port of this machine (a proxy); `extra` adds lines to
    the configuration of single brokers. The tests of faults use both. `like` keeps the account
    and the certificates of a lab that runs already.
    """
    authority = like.authority if like else None
    if authority is None and any(broker.tls for broker in plan.brokers):
        authority = make_certificates(lab)
    password = like.password if like else secrets.token_urlsafe(16)
    account = account_lines(plan, password)
    endpoints = {(broker.host, broker.port): broker.node for broker in plan.brokers}
    for broker in plan.brokers:
        source, target = conf / broker.directory, lab / broker.directory
        shutil.copytree(source, target)
        through = {v: port for (u, v), port in (via or {}).items() if u == broker.node}
        dialled = {endpoint: through.get(node, ports[node]) for endpoint, node in endpoints.items()}
        text = (source / CONFIGURATION).read_text(encoding="utf-8")
        lines = _local_lines(text, source, target, ports[broker.node], dialled, account, authority)
        written = target / CONFIGURATION
        head = _head((extra or {}).get(broker.node, ()))
        written.write_text("\n".join([*head, *lines, ""]), encoding="utf-8")
        written.chmod(0o600)
    tls = frozenset(broker.node for broker in plan.brokers if broker.tls)
    return Access(dict(ports), password, tls, authority)


def account_lines(plan: Plan, password: str) -> dict[str, str]:
    """Return what the account of the lab's clients adds to each file that an option names."""
    rights = "".join(f"topic readwrite {topics}\n" for topics in plan.everything)
    return {
        "password_file": f"{ACCOUNT}:{hashed(password)}\n",
        "acl_file": f"\nuser {ACCOUNT}\n{rights}topic read $SYS/#\n",
    }


def _head(extra: tuple[str, ...]) -> list[str]:
    """Return the lines that tie a copy to this machine."""
    # Started as root, mosquitto would become another user, who may not read these files.
    user = ["user root"] if os.geteuid() == 0 else []
    kinds = [f"log_type {kind}" for kind in ("error", "warning", "notice", "information")]
    return [
        "# A copy for the lab; see the directory it was made from.",
        *user,
        "log_dest stderr",
        "log_timestamp_format %Y-%m-%dT%H:%M:%S",
        *kinds,
        *extra,
    ]


def _local_lines(
    text: str,
    source: Path,
    target: Path,
    port: int,
    dialled: Mapping[tuple[str, int], int],
    account: Mapping[str, str],
    authority: str | None,
) -> list[str]:
    """Return the lines of a configuration with everything that names its place replaced."""
    found: list[str] = []
    n_listeners = 0
    for line in text.split("\n"):
        word, _, value = line.strip().partition(" ")
        value = value.strip()
        if word in UNSUPPORTED:
            raise InputError(
                f"'{source / CONFIGURATION}' uses {word}, which the lab cannot move to this "
                f"machine; take the line out of a copy of the directory and try again."
            )
        if word in PLACED:
            continue
        if word == "listener":
            n_listeners += 1
            if n_listeners > 1:
                raise InputError(
                    f"'{source / CONFIGURATION}' has several listeners; the lab runs brokers "
                    f"with one. Take the others out of a copy of the directory and try again."
                )
            found.append(f"listener {port} {LOOPBACK}")
        elif word in ("address", "addresses"):
            found.append(f"address {LOOPBACK}:{dialled[_endpoint(value, source, dialled)]}")
        elif word in CERTIFICATES and authority is not None:
            found.append(f"{word} {Path(authority).with_name(CERTIFICATES[word])}")
        elif word in account:
            own = _own_copy(Path(value), source, target)
            _append(own, account[word])
            found.append(f"{word} {own.name}")  # brokers run in their directory
        else:
            found.append(line)
    return found


def _endpoint(value: str, source: Path, dialled: Mapping[tuple[str, int], int]) -> tuple[str, int]:
    """Return the endpoint an `address` names, which must be a broker of the plan."""
    host, _, port = value.rpartition(":")
    endpoint = (host.strip("[]"), int(port)) if port.isdigit() else (value, 1883)
    if endpoint not in dialled:
        raise InputError(
            f"'{source / CONFIGURATION}' dials {value!r}, which is no broker of the plan; "
            f"write the directory anew with `meshwright deploy mosquitto`."
        )
    return endpoint


def _own_copy(named: Path, source: Path, target: Path) -> Path:
    """Return the copy, inside the broker's directory of the lab, of a file that is named."""
    own = target / named.name
    if named.is_absolute():
        try:
            shutil.copyfile(named, own)
        except OSError as error:
            raise InputError(
                f"'{source / CONFIGURATION}' names '{named}', which cannot be read here "
                f"({error.strerror}); the lab needs a copy of it."
            ) from error
    own.chmod(0o600)
    return own


def _append(path: Path, lines: str) -> None:
    before = path.read_text(encoding="utf-8")
    gap = "" if not before or before.endswith("\n") else "\n"
    path.write_text(before + gap + lines, encoding="utf-8")


def make_certificates(lab: Path) -> str:
    """Make an authority and one certificate for every broker of the lab; return the authority."""
    program = shutil.which("openssl")
    if program is None:
        raise DeployError(
            "the plan uses TLS, and the lab needs openssl to make certificates for loopback. "
            "Install it (Debian, Ubuntu: apt-get install openssl) and try again."
        )
    place = lab.resolve() / "certificates"
    place.mkdir(mode=0o700)
    (place / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n", encoding="utf-8")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    steps = [
        ["req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-days", "7"]
        + ["-subj", "/CN=meshwright lab authority"],
        ["req", *key, "-keyout", "lab.key", "-out", "lab.csr", "-subj", "/CN=localhost"],
        ["x509", "-req", "-in", "lab.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-days", "7"]
        + ["-CAcreateserial", "-extfile", "names", "-out", "lab.crt"],
    ]
    for step in steps:
        done = subprocess.run(
            [program, *step], cwd=place, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise DeployError(
                f"openssl {step[0]} failed, so the lab has no certificates: "
                f"{done.stderr.strip().splitlines()[-1:]}"
            )
    return str(place / "ca.crt")
