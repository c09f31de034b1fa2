"""``manifest.json``: the kind of a dataset, its origin, and the rows of its tables."""

import contextlib
import importlib.metadata
import json
import os
import platform
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from meshwright.errors import InputError, unknown_choice

FORMAT_VERSION = 1
MADE_BY = {  # each kind of dataset and the verb that makes it
    "workload": "ingest` or `meshwright generate",
    "overlay": "design",
    "run": "simulate",
    "problem": "generate content` or `meshwright ingest content",
    "assignment": "assign",
}
FILE = "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The facts of one dataset. ``rows`` counts each table; ``facts`` holds those of the kind."""

    kind: str
    rows: Mapping[str, int]
    facts: Mapping[str, Any] = field(default_factory=dict)
    created: str = ""
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, fact: str) -> Any:
        try:
            return self.facts[fact]
        except KeyError:
            raise InputError(
                f"the manifest of this {self.kind} has no {fact!r}. Make the dataset again."
            ) from None

    def get(self, fact: str, default: Any = None) -> Any:
        """Return a fact, or the default when the manifest does not have it."""
        return self.facts.get(fact, default)

    def as_dict(self) -> dict[str, Any]:
        """Return the manifest as it is written."""
        return {
            "kind": self.kind,
            "format_version": FORMAT_VERSION,
            "created": self.created,
            "command": self.command,
            "versions": dict(self.versions),
            "rows": dict(self.rows),
            **self.facts,
        }


def new_manifest(kind: str, rows: Mapping[str, int], facts: Mapping[str, Any]) -> Manifest:
    """Return a manifest stamped with the time, the command and the versions in use."""
    if kind not in MADE_BY:
        raise unknown_choice("dataset kind", kind, MADE_BY)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return Manifest(kind, dict(rows), dict(facts), created, command_line(), _versions())


def command_line() -> str:
    """Return the running command as a user types it: `python -m NAME` is NAME."""
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    return shlex.join([name, *sys.argv[1:]])


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write the manifest: under a draft name first, so it is complete or absent."""
    part = directory / f"{FILE}.part"
    with part.open("w", encoding="utf-8") as file:
        file.write(json.dumps(manifest.as_dict(), indent=2, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(directory / FILE)


def read_manifest(directory: Path, kind: str | None = None) -> Manifest:
    """Return the manifest of a dataset; raise InputError if the directory is not one."""
    path = directory / FILE
    if not directory.exists():
        raise InputError(f"there is no dataset at '{directory}'. Check the path.")
    if not path.is_file():
        raise _no_dataset(directory, kind)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version, found = content.pop("format_version"), content.pop("kind")
        rows = {str(table): int(count) for table, count in content.pop("rows").items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"'{path}' cannot be read as a manifest ({error}). Make the dataset again."
        ) from error
    if version != FORMAT_VERSION:
        raise InputError(
            f"'{directory}' has format version {version!r}; this Meshwright reads version "
            f"{FORMAT_VERSION}. Make it again with this version, or use the one that wrote it."
        )
    if kind is not None and found != kind:
        raise InputError(
            f"'{directory}' is a dataset of kind {found!r}; {kind!r} is needed here. "
            f"Make one with `meshwright {MADE_BY[kind]}`."
        )
    stamp = {key: content.pop(key) for key in ("created", "command", "versions") if key in content}
    return Manifest(found, rows, content, **stamp)


def _no_dataset(directory: Path, kind: str | None) -> InputError:
    """Return the error for a path without a manifest, with the verb that reads or makes it."""
    if (directory / "plan.json").is_file():
        return InputError(
            f"'{directory}' is a configuration of brokers, not a dataset. "
            f"Check it with `meshwright deploy check {directory}`, or run it with "
            f"`meshwright lab up {directory}`."
        )
    advice = f"Make one with `meshwright {MADE_BY[kind]}`." if kind else "Check the path."
    return InputError(f"'{directory}' is not a Meshwright dataset: it has no {FILE}. {advice}")


def _versions() -> dict[str, str]:
    """Return the versions a result depends on, without importing the packages."""
    from meshwright import __version__

    found = {"meshwright": __version__, "python": platform.python_version()}
    for package in ("pyspark", "pyarrow", "numpy", "numba"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found
