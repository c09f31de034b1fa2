"""A broker's piece of a plan put beside what its operator has, and replaced by the next one.

The bridges are a file of their own in a directory that ``mosquitto.conf`` includes. Rights are a
marked block of the operator's access list. A password file must not have marks: 2.0.11 reads
comments there, but ``mosquitto_passwd`` calls the file corrupt and drops its users. So users of the
mesh are those that the marked block names. Lines of the operator stay as they are, byte by byte.
"""

import os
import posixpath
import pwd
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from meshwright.deploy.coexist import Findings, judge
from meshwright.deploy.installed import (
    OPEN_TO_ALL,
    Installed,
    host_files,
    read_installed,
    read_rights,
    read_users,
)
from meshwright.deploy.mosquitto import any_topic
from meshwright.deploy.plan import LAYOUTS, Plan, read_plan
from meshwright.deploy.read import read_broker
from meshwright.errors import CheckError, InputError

BRIDGES_FILE = LAYOUTS["include"]
USERS_FILE = "meshwright-users.conf"  # where the operator has no users or no access list yet
OWN_FILES = {"password_file": "meshwright.passwd", "acl_file": "meshwright.acl"}
OWN_DIRECTORY = "meshwright.d"  # where mosquitto.conf includes nothing yet
MESH, CLIENTS = "meshwright", "meshwright clients"  # the names of marked blocks


@dataclass(frozen=True, slots=True)
class Piece:
    """What a plan has for one broker."""

    bridges: bytes | None
    rights: Mapping[str, list[tuple[str, str]]]  # by user of the mesh
    users: Mapping[str, str]  # with their hashes
    own: str  # the user of the broker's own clients
    clients: str  # the rights of clients that had no access list before


NOTHING = Piece(None, {}, {}, "", "")  # of a broker that leaves the mesh


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file before and after; None where there is none."""

    path: Path
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge changes at one broker."""

    node: str
    changes: tuple[FileChange, ...]
    warnings: tuple[str, ...]
    restart: bool  # the bridges change; otherwise SIGHUP is enough


def merge(
    piece: str | Path,
    into: str | Path,
    *,
    root: str | Path = "/",  # where the files of the broker's host are
    start: str | None = None,  # the directory that Mosquitto is started in; that of `into`
    users_only: bool = False,  # users and rights, and no bridges
    remove: bool = False,  # take away what an earlier merge wrote
    dry_run: bool = False,
) -> Merged:
    """Put a broker's directory of a configuration into what the broker runs.

    Raise CheckError, and write nothing, if the result could loop or refuse a bridge.
    """
    source = Path(piece).resolve()
    plan = read_plan(source.parent, only=source.name)
    node = next((n for n, name in plan.directories.items() if name == source.name), None)
    if node is None:
        raise InputError(f"'{piece}' is not a broker's directory of '{source.parent}'.")
    if plan.layout != "include":
        raise InputError(
            f"'{source.parent}' has the layout {plan.layout}, which replaces a broker's files. "
            "Deploy with --layout include to merge."
        )
    read_broker(source.parent, plan, node)  # refuses lines that we do not write
    files, main = host_files(into, root, start)
    installed = read_installed(files, main)
    new = NOTHING if remove else read_piece(source, plan, node)
    changes = merged_files(new, installed, plan, node, users_only)
    after = read_installed(files.changed(changes), main)
    found = Findings() if remove else judge(plan, node, source, after, bridges=not users_only)
    if found.errors:
        listed = "\n  ".join(found.errors)
        raise CheckError(
            f"'{files.path(main)}' cannot take the broker {node!r}; nothing was written:\n  "
            f"{listed}",
            tuple(found.errors),
        )
    bridges = any(posixpath.basename(name) == BRIDGES_FILE for name in changes)
    made = [FileChange(files.path(n), files.read(n), content) for n, content in changes.items()]
    if not dry_run:
        owner = _broker_owner(installed) if Path(root) == Path("/") else None
        for change in made:
            write_change(change, owner=owner)
    return Merged(node, tuple(made), tuple(found.warnings), restart=bridges)


def read_piece(source: Path, plan: Plan, node: str) -> Piece:
    """Return what a broker's directory holds."""
    broker = next(broker for broker in plan.brokers if broker.node == node)
    users, rights = b"", b""
    if broker.username:
        users, rights = (source / "passwd").read_bytes(), (source / "acl").read_bytes()
    return Piece(
        (source / BRIDGES_FILE).read_bytes(),
        read_rights(str(source / "acl"), rights).users,
        read_users(users),
        broker.username,
        "" if plan.lock_down else any_topic(plan),
    )


def merged_files(
    piece: Piece, installed: Installed, plan: Plan, node: str, users_only: bool = False
) -> dict[str, bytes | None]:
    """Return the files that change, by their names on the host, in the order to write them."""
    files, main = installed.files, installed.main
    included = installed.include_dirs
    block_of(files.read(main) or b"", MESH)  # refuses damaged marks, also where nothing changes
    own = posixpath.join(posixpath.dirname(main), OWN_DIRECTORY)
    directory = files.name(included[0] if included else own)
    port = next(broker.port for broker in plan.brokers if broker.node == node)
    changes = _merged_users(piece, installed, directory, port)
    if not users_only:
        changes[posixpath.join(directory, BRIDGES_FILE)] = piece.bridges
    users_file = posixpath.join(directory, USERS_FILE)
    left = changes.get(users_file, files.read(users_file))
    if piece is NOTHING and not users_only and left is None:
        changes[main] = with_block(files.read(main) or b"", MESH, "")
    elif not included and changes:
        changes[main] = with_block(files.read(main) or b"", MESH, f"include_dir {directory}\n")
    return {name: content for name, content in changes.items() if files.read(name) != content}


def _merged_users(
    piece: Piece, installed: Installed, directory: str, port: int
) -> dict[str, bytes | None]:
    """Return the files of users and rights with those of the mesh."""
    files = installed.files
    users_file = posixpath.join(directory, USERS_FILE)
    settings = installed.security(port)
    place = posixpath.dirname(installed.main)
    given = {
        option: files.name(settings[option])
        for option in OWN_FILES
        if option in settings
        and (installed.per_listener or installed.origin.get(option) != users_file)
    }
    ours = {o: posixpath.join(place, name) for o, name in OWN_FILES.items() if o not in given}
    if not piece.users and files.read(users_file) is None and not given:
        return {}
    if installed.per_listener and ours and piece.users:
        lines = " and ".join(f"`{option} {name}`" for option, name in ours.items())
        raise InputError(
            f"'{installed.main}' has per_listener_settings, and its listener at port {port} has "
            f"no {' and no '.join(ours)}. Add {lines} below that listener, make the file, and "
            "merge again."
        )
    where = {**ours, **given}
    rights = files.read(where["acl_file"]) or b""
    users = _without_users(files.read(where["password_file"]) or b"", piece, rights)
    others = read_users(users)
    wanted = [user for user in piece.users if not (user == piece.own and user in others)]
    if clash := sorted(others.keys() & set(wanted)):
        raise InputError(
            f"'{files.path(where['password_file'])}' has the user {clash[0]!r} already, and the "
            "bridges of the plan use that name with a password of their own. Remove the line, or "
            "give the broker another username in the inventory."
        )
    sections = "".join(_section(user, piece.rights.get(user, ())) for user in wanted)
    after = with_block(rights, MESH, sections)
    if "acl_file" in ours:
        after = (
            _with_clients(after, others, piece, settings)
            if wanted
            else with_block(after, CLIENTS, "")
        )
    made = {where["password_file"]: _ended(users) + _entries(piece, wanted) if wanted else users}
    made[where["acl_file"]] = after
    named = "".join(f"{option} {ours[option]}\n" for option in ours if made[ours[option]].strip())
    changes: dict[str, bytes | None] = {
        name: content for name, content in made.items() if content or files.read(name) is not None
    }
    if named or files.read(users_file) is not None:
        header = (
            "# Written by `meshwright deploy merge`: your users and rights are in other files.\n"
        )
        changes[users_file] = (header + named).encode() if named else None
    return changes


def _without_users(users: bytes, piece: Piece, rights: bytes) -> bytes:
    """Return a password file without the users of the mesh that an earlier merge wrote."""
    mesh = read_rights("acl", block_of(rights, MESH)).users.keys()
    entries = {f"{user}:{entry}".encode() for user, entry in piece.users.items()}
    return b"".join(
        line
        for line in users.splitlines(keepends=True)
        if line.partition(b":")[0].decode(errors="surrogateescape") not in mesh
        and line.rstrip(b"\r\n") not in entries  # of a merge that was interrupted
    )


def _entries(piece: Piece, wanted: Iterable[str]) -> bytes:
    return "".join(f"{user}:{piece.users[user]}\n" for user in wanted).encode()


def _section(user: str, rights: Iterable[tuple[str, str]]) -> str:
    return f"\nuser {user}\n" + "".join(f"topic {right} {topic}\n" for right, topic in rights)


def _with_clients(
    rights: bytes, others: Iterable[str], piece: Piece, settings: Mapping[str, str]
) -> bytes:
    """Return an access list that is ours with every right for those who had no list before."""
    without = with_block(with_block(rights, CLIENTS, ""), MESH, "")
    known = read_rights("acl", without).users
    text = ""
    if piece.clients:
        anonymous = settings.get("allow_anonymous") == "true" and "" not in known
        text += piece.clients if anonymous else ""
        for user in others:
            text += "" if user in known else f"\nuser {user}\n{piece.clients}"
    return with_block(rights, CLIENTS, text, at_start=True)


def with_block(content: bytes, name: str, text: str, *, at_start: bool = False) -> bytes:
    """Return a file with a marked block: in its old place, else at the end; "" removes it."""
    begin, end = f"# begin {name}\n".encode(), f"# end {name}\n".encode()
    block = begin + text.encode() + end if text else b""
    lines = content.splitlines(keepends=True)
    first, last = _ends(lines, name)
    if first is not None and last is not None:
        return b"".join([*lines[:first], block, *lines[last + 1 :]])
    if not block:
        return content
    return block + content if at_start else _ended(content) + block


def block_of(content: bytes, name: str) -> bytes:
    """Return the lines of a marked block."""
    lines = content.splitlines(keepends=True)
    first, last = _ends(lines, name)
    return b"" if first is None or last is None else b"".join(lines[first + 1 : last])


def _ends(lines: list[bytes], name: str) -> tuple[int | None, int | None]:
    marks = [f"# {word} {name}".encode() for word in ("begin", "end")]
    places = [[i for i, line in enumerate(lines) if line.rstrip(b"\r\n") == mark] for mark in marks]
    if not places[0] and not places[1]:
        return None, None
    if len(places[0]) != 1 or len(places[1]) != 1 or places[0] > places[1]:
        raise InputError(
            f"the marks '# begin {name}' and '# end {name}' do not stand once each, in this order. "
            "Remove them and the lines between them, and merge again."
        )
    return places[0][0], places[1][0]


def _ended(content: bytes) -> bytes:
    return content if not content or content.endswith(b"\n") else content + b"\n"


def write_change(change: FileChange, *, owner: tuple[int, int] | None = None) -> None:
    """Replace a file at once; its mode and owner stay, a new one is readable by its owner only.

    The file of bridges may hold passwords: nobody but its owner and group may read it afterwards.
    """
    path = change.path.resolve()  # a link stays one
    if change.after is None:
        path.unlink(missing_ok=True)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o600
        if path.exists():
            state = path.stat()
            owner, mode = (state.st_uid, state.st_gid), state.st_mode & 0o7777
            if path.name == BRIDGES_FILE:
                mode &= ~OPEN_TO_ALL
        new = path.with_name(f".{path.name}.{os.getpid()}.new")
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(change.after)
                file.flush()
                os.fsync(file.fileno())
            if owner is not None and owner != (new.stat().st_uid, new.stat().st_gid):
                os.chown(new, *owner)
            new.chmod(mode)
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"'{path}' cannot be written: {error.strerror}.") from error


def _broker_owner(installed: Installed) -> tuple[int, int] | None:
    """Return the user and group that the broker becomes when root starts it, if root runs this."""
    if os.geteuid() == 0:
        with suppress(KeyError):
            entry = pwd.getpwnam(installed.options.get("user", "mosquitto"))
            return entry.pw_uid, entry.pw_gid
    return None
