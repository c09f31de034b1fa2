"""Which warm server a command may use, and where that server is found.

A server answers as the command's own Spark would only if nothing that could change an answer or a
file differs between them. All of that is in the name of the server's directory: the code, the
versions, the user, the variables, the umask. So there is one server for each user and version.
The directory is in the user's cache, and only the user may enter it. It holds a socket, over which
the server gives its address and token; they are in no file.
"""

import hashlib
import json
import os
import resource
import shutil
import socket
import stat
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from meshwright.runtime import class_archive
from meshwright.runtime.java import java_facts, require_java
from meshwright.runtime.machine import cpu_count, host_name
from meshwright.runtime.provenance import versions

SWITCH = "MESHWRIGHT_SERVER"
IDLE_VARIABLE = "MESHWRIGHT_SERVER_IDLE"
IDLE_SECONDS = 900.0  # after which a server that nobody uses ends
SOCKET = "socket"
NOTE = "server.json"
LOG = "spark.log"
RETRY_SECONDS = 600.0  # after which a server that did not start is tried again
MOST_BYTES = 1 << 16  # of a message
LONGEST_SOCKET = 103  # bytes of a socket's path, on macOS; Linux has 107
PACKAGE = Path(__file__).parents[1]  # meshwright

ELSEWHERE = ("SPARK_MASTER", "SPARK_REMOTE", "MASTER", "SPARK_CONNECT_MODE_ENABLED")
PREFIXES = ("NUMBA_", "PYSPARK_", "SPARK_", "PYTHON", "JAVA_", "JDK_", "_JAVA_", "LC_", "OMP_")
NAMES = ("LANG", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD", "MESHWRIGHT_MEMORY")
PATHS = ("JAVA_HOME", "NUMBA_CACHE_DIR", "SPARK_CONF_DIR", "SPARK_HOME")
LIMITS = ("RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_DATA")


def why_off() -> str | None:
    """Return why commands of this process use no server, or None."""
    if os.environ.get(SWITCH, "").lower() in class_archive.OFF:
        return f"{SWITCH} is {os.environ[SWITCH]!r}"
    for name in ("CI", *ELSEWHERE):
        if name in os.environ:
            return f"the variable {name} is set"
    return None


def server_directory() -> Path:
    """Return the directory of the server that fits this process."""
    code = hashlib.sha256(json.dumps(_facts(), default=str).encode()).hexdigest()[:12]
    return class_archive.cache_directory() / f"server-{code}"


def server_directories() -> list[Path]:
    """Return the directories of all servers of the user, whichever they fit."""
    return sorted(class_archive.cache_directory().glob("server-*[0-9a-f]"))


def server_environment() -> dict[str, str]:
    """Return the variables of a server; it runs in another working directory than this process."""
    found = dict(os.environ)
    for name in PATHS:
        if found.get(name):
            found[name] = str(Path(found[name]).absolute())
    given = [path for path in found.get("PYTHONPATH", "").split(os.pathsep) if path]
    paths = [str(PACKAGE.parent), *(str(Path(path).absolute()) for path in given)]
    found["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    found["TMPDIR"] = tempfile.gettempdir()
    found["PYSPARK_PYTHON"] = found.get("PYSPARK_PYTHON") or sys.executable
    return found


def idle_seconds() -> float:
    """Return after how many seconds a server that nobody uses ends."""
    try:
        return float(os.environ[IDLE_VARIABLE])
    except (KeyError, ValueError):
        return IDLE_SECONDS


def make_private(place: Path) -> None:
    """Make the directory, for this user alone; OSError if it is somebody else's or open to all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        place.mkdir(0o700)
    found = place.lstat()
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or mode & 0o077:
        raise PermissionError(f"'{place}' is not a directory of this user alone")
    if len(os.fsencode(place / SOCKET)) > LONGEST_SOCKET:
        raise OSError(f"the path '{place}' is too long for a socket")


class Channel:
    """Messages over a socket, each a line of JSON."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = b""

    def limit(self, seconds: float | None) -> None:
        """Set how long to wait for the other side; then TimeoutError is raised."""
        self._connection.settimeout(seconds)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """Return the next message; None if the connection is closed or the message is not valid."""
        while b"\n" not in self._unread:
            try:
                content = self._connection.recv(MOST_BYTES)
            except ConnectionError:
                return None
            if not content or len(self._unread) > MOST_BYTES:
                return None
            self._unread += content
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            found = json.loads(line)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def ask(self, what: str) -> dict[str, Any] | None:
        """Send a word and return the answer."""
        with suppress(ConnectionError):
            self.send({"ask": what})
            return self.receive()
        return None

    def close(self) -> None:
        """End the connection."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits for a message
        self._connection.close()


def dial(place: Path) -> Channel | None:
    """Return a channel to the server of a directory, or None if none listens."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(1.0)
    try:
        connection.connect(str(place / SOCKET))
    except OSError:
        connection.close()
        return None
    return Channel(connection)


def read_note(place: Path) -> dict[str, Any]:
    """Return the facts that a server has written about itself; {} if there are none."""
    with suppress(OSError, ValueError):
        found = json.loads((place / NOTE).read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    return {}


def why_failed(place: Path) -> str | None:
    """Return why the last attempt to start a server failed, unless that was long ago."""
    note = _failed(place)
    with suppress(OSError):
        if time.time() - note.stat().st_mtime < RETRY_SECONDS:
            return note.read_text(encoding="utf-8").strip() or "unknown"
    return None


def note_failure(place: Path, reason: str | None) -> None:
    """Remember why a server did not start, so that the next commands do not wait for one."""
    with suppress(OSError):
        if reason is None:
            _failed(place).unlink(missing_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            _failed(place).write_text(f"{reason}\n", encoding="utf-8")


def remove(place: Path) -> None:
    """Remove the directory of a server that has ended."""
    shutil.rmtree(place, ignore_errors=True)


def _failed(place: Path) -> Path:
    return place.with_name(f"{place.name}.failed")


def _facts() -> list[object]:
    """Return everything in which a server must equal this process."""
    environment = server_environment()
    variables = {
        name: value
        for name, value in sorted(environment.items())
        if name in NAMES or name.startswith(PREFIXES)
    }
    limits = [resource.getrlimit(getattr(resource, name)) for name in LIMITS]
    person = [os.geteuid(), os.getegid(), sorted(os.getgroups()), _umask()]
    machine = [host_name(), cpu_count(), *map(_namespace, ("mnt", "net", "user"))]
    java = java_facts(require_java())
    return [sys.executable, versions(), _code(), java, variables, limits, person, machine]


def _code() -> str:
    """Return a code of the sources that a server has loaded, from their sizes and times."""
    found = []
    for directory, folders, names in os.walk(PACKAGE):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                file = Path(directory) / name
                facts = file.stat()
                found.append((str(file), facts.st_size, facts.st_mtime_ns))
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _namespace(kind: str) -> str:
    """Return a word for a namespace of Linux: containers may share the cache, but not loopback."""
    try:
        return str(Path(f"/proc/self/ns/{kind}").readlink())
    except OSError:
        return ""
