"""Facts about this machine and its processes: processors, memory, who runs (Linux and macOS)."""

import contextlib
import functools
import hashlib
import os
import platform
import re
import subprocess
from pathlib import Path

LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def cpu_count() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "process_cpu_count"):  # Python 3.13
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_memory() -> int:
    """Return the memory of this machine in bytes, or what its control group allows."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in LIMITS:
        with contextlib.suppress(OSError, ValueError):  # the limit may be "max"
            total = min(total, int(Path(limit).read_text()))
    return total


def process_name(pid: int | None = None) -> str:
    """Return a word for a process of this host: host, process id and a code of its start time."""
    pid = os.getpid() if pid is None else pid
    started = start_time(pid) or ""
    return f"{host_name()}-{pid}-{hashlib.sha256(started.encode()).hexdigest()[:8]}"


def has_ended(name: str) -> bool:
    """Return whether a process by its `process_name` is known to have ended.

    Nothing is known about other hosts, so their processes count as running.
    """
    match = re.fullmatch(r"([^-]+)-([0-9]+)-[0-9a-z]+", name)  # else it is no name of ours
    return bool(match and match[1] == host_name() and process_name(int(match[2])) != name)


@functools.cache
def host_name() -> str:
    """Return a word for the host and process namespace in which a process id has one meaning."""
    name = re.sub(r"[^\w.]+", "_", platform.node() or "unknown")
    try:
        namespace = Path("/proc/self/ns/pid").readlink()  # containers may share the host's name
    except OSError:
        return name
    return f"{name}.{re.sub(r'[^0-9]', '', str(namespace))}"


def start_time(pid: int) -> str | None:
    """Return when a process started, as text to compare; None if it has ended (a zombie too)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        if Path("/proc/self/stat").exists():  # on Linux
            return None
    else:
        fields = text.rsplit(")", 1)[1].split()  # the name before may hold spaces
        return None if fields[0] == "Z" else f"{fields[19]} {boot}"
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    locale = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=locale)
    words = done.stdout.split()
    return None if not words or words[0].startswith("Z") else " ".join(words[1:])
