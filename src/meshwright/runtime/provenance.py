"""What ran: the command, without its secrets, and the versions. For manifests and error files."""

import contextlib
import importlib.metadata
import platform
import re
import shlex
import sys
from pathlib import Path

# In addresses: user:password@host, and parameters such as the token of a Spark Connect server.
SECRETS = re.compile(r"(?<=://)[^@\s'\"]+(?=@)|(?<=token=)[^;&\s'\"]+", re.IGNORECASE)


def command_line() -> str:
    """Return the running command as a user types it: `python -m NAME` is NAME."""
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    return without_secrets(shlex.join([name, *sys.argv[1:]]))


def without_secrets(text: str) -> str:
    """Return a text with the secrets in its addresses replaced.

    Examples
    --------
    >>> without_secrets("--master 'sc://host:15002/;token=abc;use_ssl=true' s3://me:key@logs/")
    "--master 'sc://host:15002/;token=***;use_ssl=true' s3://***@logs/"
    """
    return SECRETS.sub("***", text)


def versions() -> dict[str, str]:
    """Return the versions a result depends on, without importing the packages."""
    from meshwright import __version__

    found = {"meshwright": __version__, "python": platform.python_version()}
    for package in ("pyspark", "pyarrow", "numpy", "numba"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found
