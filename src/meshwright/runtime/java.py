"""The Java that Spark runs on: where it is, its version, and what distinguishes it from others."""

import functools
import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from meshwright.errors import SparkError

LEAST_JAVA = 17  # Spark 4 needs it
NO_JAVA = (
    "Spark needs Java 17 or later and none was found. Install one (Debian, Ubuntu: "
    "apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME."
)


def require_java() -> Path:
    """Return the Java that Spark runs on; raise SparkError unless one is installed."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise SparkError(NO_JAVA)
    try:
        version = _version(java)
    except OSError as error:
        raise SparkError(f"JAVA_HOME is {home!r}, but {java} cannot be run. {NO_JAVA}") from error
    if version is None or version < LEAST_JAVA:
        raise SparkError(f"{java} is Java {version or 'unknown'}. {NO_JAVA}")
    return Path(java)


def java_facts(java: Path) -> list[object]:
    """Return facts that differ for every installed Java, and after every update of one."""
    home = java.resolve().parents[1]
    facts: list[object] = [str(home)]
    for name in ("release", "lib/modules", "bin/java"):
        with suppress(OSError):
            found = (home / name).stat()
            facts.append((name, found.st_size, found.st_mtime_ns))
    return facts


@functools.cache
def _version(java: str) -> int | None:
    """Return the major version of a Java, from its `release` file if it has one."""
    release = Path(java).resolve().parents[1] / "release"  # starting a JVM takes a moment
    text = ""
    with suppress(OSError):
        text = release.read_text(encoding="utf-8", errors="replace")
    found = re.search(r'^JAVA_VERSION="(\d+)', text, re.MULTILINE)
    if found is None or not os.access(java, os.X_OK):
        command = [java, "-version"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        found = re.search(r'version "(\d+)', done.stderr + done.stdout)
    return int(found.group(1)) if found else None
