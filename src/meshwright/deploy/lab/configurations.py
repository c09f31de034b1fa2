"""Configurations for the lab: a copy of a plan's files for this machine, and the bundled example.

Only what ties a configuration to its place is changed: the listener and the addresses that
bridges dial become loopback, logs go to the broker's directory, and files named by absolute paths
are copied. Where a broker wants credentials, an account for the lab's own clients is added to the
copy; where it wants TLS, certificates made for the lab replace yours, which are for other host
names. Bridges, topics, sessions, users and access lists stay as they were written.

In the layout ``include`` the lab plays the operator: it writes a small mosquitto.conf with the
lab's account as the only user, and merges the plan's piece into it.
"""

import csv
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from meshwright.deploy.installed import Files, read_installed
from meshwright.deploy.inventory import hash_password
from meshwright.deploy.lab.processes import LOOPBACK
from meshwright.deploy.merge import FileChange, merged_files, read_piece, write_change
from meshwright.deploy.mosquitto import STORE, write_conf
from meshwright.deploy.plan import CONFIGURATION, LAYOUTS, Broker, Plan
from meshwright.deploy.planner import plan as plan_bridges
from meshwright.deploy.route import Link
from meshwright.errors import DeployError, InputError
from meshwright.model.instance import Instance
from meshwright.overlay import design

ACCOUNT = "meshwright-lab"
DEMO_METHOD = "gm"
MACHINE = ("log_dest", "log_type", "log_timestamp", "pid_file", "user", "persistence_location")
CERTIFICATES = {"cafile": "lab.crt", "certfile": "lab.crt", "keyfile": "lab.key"}
CERTIFICATE_COMMAND = """req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 7
    -keyout lab.key -out lab.crt -subj /CN=localhost
    -addext subjectAltName=IP:127.0.0.1,DNS:localhost"""
UNSUPPORTED = ("capath", "bridge_capath", "psk_file", "bridge_psk", "include_dir", "plugin")
INCLUDE_DIR = "conf.d"
INCLUDE = f"include_dir {INCLUDE_DIR}\n"
HEAD = """\
# A copy for the lab; see the directory it was made from.
log_dest stderr
log_timestamp_format %Y-%m-%dT%H:%M:%S
log_type error
log_type warning
log_type notice
log_type information
"""


@dataclass(frozen=True, slots=True)
class Access:
    """How the lab's own clients reach the brokers."""

    ports: Mapping[str, int]  # of each node
    password: str
    tls: tuple[str, ...]  # nodes that want it
    certificate: str | None  # its own authority; the key is next to it


def write_local_copy(
    conf: Path,
    plan: Plan,
    lab: Path,
    ports: Mapping[str, int],
    *,
    via: Mapping[Link, int] | None = None,  # links that go to another port here, a test's proxy
    extra: Mapping[str, tuple[str, ...]] | None = None,  # lines to add at single brokers, in tests
    like: Access | None = None,  # of a lab that runs: its account and certificates are kept
) -> Access:
    """Write the copy of each broker's directory into `lab` and return how to reach the brokers."""
    tls = tuple(broker.node for broker in plan.brokers if broker.tls)
    certificate = like.certificate if like else None
    if certificate is None and tls:
        certificate = make_certificate(lab)
    password = like.password if like else secrets.token_urlsafe(16)
    rights = "".join(f"topic readwrite {topics}\n" for topics in plan.match_all)
    account = {  # what the account of the lab's clients adds to each file that an option names
        "password_file": f"{ACCOUNT}:{hash_password(password)}\n",
        "acl_file": f"\nuser {ACCOUNT}\n{rights}topic read $SYS/#\n",
    }
    for broker in plan.brokers:
        node, source = broker.node, conf / plan.directories[broker.node]
        target = lab / source.name
        if plan.layout == "include":
            _write_operator_files(target, broker)
        else:
            shutil.copytree(source, target)
        through = {v: port for (u, v), port in (via or {}).items() if u == node}
        dialled = {b.endpoint: through.get(b.node, ports[b.node]) for b in plan.brokers}
        place = target, ports[node], dialled, account, certificate
        own = target if plan.layout == "include" else source
        # Started as root, mosquitto would become another user, which may not read these files.
        text = HEAD + ("user root\n" if os.geteuid() == 0 else "")
        text += "".join(f"{line}\n" for line in (extra or {}).get(node, ()))
        text += "".join(f"{line}\n" for line in _local_lines(own / CONFIGURATION, *place))
        main = target / CONFIGURATION
        main.write_text(text + (INCLUDE if plan.layout == "include" else ""), encoding="utf-8")
        main.chmod(0o600)
        if plan.layout == "include":
            bridges = "\n".join(_local_lines(source / LAYOUTS["include"], *place))
            piece = replace(read_piece(source, plan, node), bridges=bridges.encode())
            files = Files(Path("/"), str(target.resolve()))
            changes = merged_files(piece, read_installed(files, CONFIGURATION), plan, node)
            for name, content in changes.items():
                write_change(FileChange(files.path(name), None, content))
    return Access(dict(ports), password, tls, certificate)


def _write_operator_files(place: Path, broker: Broker) -> None:
    """Write the configuration of a broker that has no bridges yet."""
    (place / INCLUDE_DIR).mkdir(parents=True)
    lines = [f"listener {broker.port}", *STORE.splitlines()]
    if broker.tls:
        lines += [f"{option} {file}" for option, file in CERTIFICATES.items()]
    if broker.username:
        lines += ["allow_anonymous false", "password_file passwd", "acl_file acl"]
        for name in ("passwd", "acl"):
            (place / name).touch(mode=0o600)
    else:
        lines.append("allow_anonymous true")
    (place / CONFIGURATION).write_text("\n".join([*lines, ""]), encoding="utf-8")


def _local_lines(
    source: Path,
    target: Path,
    port: int,
    dialled: Mapping[str, int],  # the local ports by endpoint
    account: Mapping[str, str],  # what to append to the file of an option
    certificate: str | None,
) -> Iterator[str]:
    """Yield the lines of a configuration with everything that names its place replaced."""
    name = f"'{source}'"
    n_listeners = 0
    for line in source.read_text(encoding="utf-8").split("\n"):
        word, _, value = line.strip().partition(" ")
        value = value.strip()
        if word in UNSUPPORTED:
            raise InputError(
                f"{name} uses {word}, which the lab cannot move to this machine. Remove the line "
                "from a copy of the directory and try again."
            )
        if word in MACHINE:
            continue
        if word == "listener":
            n_listeners += 1
            if n_listeners > 1:
                raise InputError(
                    f"{name} has several listeners; the lab runs brokers with one. Remove the "
                    "others from a copy of the directory and try again."
                )
            yield f"listener {port} {LOOPBACK}"
        elif word in ("address", "addresses"):
            host, _, number = value.rpartition(":")
            endpoint = f"{host.strip('[]')}:{number}" if number.isdigit() else f"{value}:1883"
            if endpoint not in dialled:
                raise InputError(
                    f"{name} dials {value!r}, which is not a broker of the plan. Deploy again."
                )
            yield f"address {LOOPBACK}:{dialled[endpoint]}"
        elif word in account:
            own = target / Path(value).name  # brokers run in their directory
            if Path(value).is_absolute():
                try:
                    shutil.copyfile(value, own)
                except OSError as error:
                    raise InputError(
                        f"{name} names '{value}', which cannot be read here ({error.strerror}); "
                        "the lab needs a copy of it."
                    ) from error
            own.chmod(0o600)
            before = own.read_text(encoding="utf-8")
            gap = "" if not before or before.endswith("\n") else "\n"
            own.write_text(before + gap + account[word], encoding="utf-8")
            yield f"{word} {own.name}"
        elif certificate and (file := CERTIFICATES.get(word.removeprefix("bridge_"))):
            yield f"{word} {Path(certificate).with_name(file)}"
        else:
            yield line


def make_certificate(lab: Path) -> str:
    """Make one certificate for every broker and client of the lab, which is its own authority."""
    program = shutil.which("openssl")
    if program is None:
        raise DeployError(
            "the plan uses TLS, and the lab needs openssl to make a certificate for loopback. "
            "Install it (Debian, Ubuntu: apt-get install openssl) and try again."
        )
    place = lab.resolve() / "certificates"
    place.mkdir(mode=0o700)
    command = [program, *CERTIFICATE_COMMAND.split()]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:]
        raise DeployError(f"openssl failed, so the lab has no certificate: {reason}")
    return str(place / CERTIFICATES["certfile"])


def write_demo(example: Path, inventory: Path, conf: Path) -> None:
    """Design the example, list its brokers in an inventory, and write their configuration."""
    with example.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    overlay = design(Instance.from_pairs([(node, topic) for node, topic in rows]), DEMO_METHOD)
    brokers = [Broker(node, f"{node}.example", 1883) for node in overlay.instance.node_names]
    with inventory.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("node", "host", "port"))
        writer.writerows((broker.node, broker.host, broker.port) for broker in brokers)
    write_conf(plan_bridges(overlay, brokers), conf, force=True)
