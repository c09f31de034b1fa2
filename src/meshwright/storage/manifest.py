"""``manifest.json``: the kind of a dataset, its origin, and the rows of its tables.

The manifest is also the pointer to the current version of a dataset (`versions.py`).
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from meshwright.errors import InputError, check_choice, damaged
from meshwright.runtime.provenance import command_line, versions
from meshwright.storage.kinds import KINDS, check_facts
from meshwright.storage.versions import PREFIX, Pin

FILE = "manifest.json"
MAX_TRIES = 1000  # to pin a version; each failure means that a writer has replaced it
HEAD: Mapping[str, Any] = {"created": "", "command": "", "versions": {}}  # what may be missing
VERSION = re.compile(rf"({PREFIX}\w+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The facts of one version of a dataset.

    ``rows`` counts each table, ``facts`` holds what its kind adds. The tables are in ``directory``
    and stay there as long as this object lives: ``pin`` keeps writers from removing them.
    """

    kind: str
    rows: Mapping[str, int]
    facts: Mapping[str, Any] = field(default_factory=dict)
    created: str = ""
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    version: str = ""  # the directory of its tables; empty where they are beside the manifest
    path: Path = field(default=Path(), compare=False)  # of the dataset, as it was given
    directory: Path = field(default=Path(), compare=False)  # of the tables of this version
    pin: Pin | None = field(default=None, compare=False, repr=False)

    def table(self, name: str) -> Path:
        """Return the path of a table: a file, or a directory of parts."""
        return self.directory / f"{name}.parquet"

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
        """Return the manifest as JSON."""
        return {
            "kind": self.kind,
            "format_version": KINDS[self.kind].format_version,
            "created": self.created,
            "command": self.command,
            "versions": dict(self.versions),
            "version": self.version,
            "rows": dict(self.rows),
            **self.facts,
        }


def new_manifest(
    kind: str, rows: Mapping[str, int], facts: Mapping[str, Any], directory: Path
) -> Manifest:
    """Return a manifest stamped with the time, the command and the versions in use."""
    check_choice("dataset kind", kind, KINDS)
    created = datetime.now(UTC).isoformat(timespec="seconds")
    stamp = created, command_line(), versions()
    place = directory.name, directory.parent, directory
    return Manifest(kind, dict(rows), dict(facts), *stamp, *place)


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write the manifest of a dataset; readers see the old one or the new one."""
    text = json.dumps(manifest.as_dict(), indent=2, ensure_ascii=False) + "\n"
    draft = directory / manifest.version / FILE
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(directory / FILE)


def read_manifest(path: Path, kind: str | None = None) -> Manifest:
    """Return the manifest of a dataset; raise InputError if there is none at the path.

    The version that it describes is pinned: it stays on disk as long as the manifest lives.
    """
    for _ in range(MAX_TRIES):
        manifest = _parse(path, kind)
        try:
            return replace(manifest, pin=Pin(manifest.directory))
        except FileNotFoundError:  # replaced and removed since, or lost
            if manifest == _parse(path, kind):
                raise damaged(path, f"it has no {manifest.version!r}") from None
        except OSError as error:
            raise InputError(f"'{manifest.directory}' cannot be read: {error.strerror}.") from error
    raise InputError(f"'{path}' is replaced faster than it can be read. Try again.")


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; raise ValueError for what cannot be written again."""
    content = json.loads(path.read_text(encoding="utf-8"))
    # No infinity, and no half of a surrogate pair.
    json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    return content


def _parse(directory: Path, kind: str | None) -> Manifest:
    """Return the manifest on disk now, with nothing pinned."""
    path = directory / FILE
    try:
        content = read_json(path)
        format_version, found = content.pop("format_version"), content.pop("kind")
    except (FileNotFoundError, NotADirectoryError):
        if not directory.exists():
            raise InputError(f"there is no dataset at '{directory}'. Check the path.") from None
        raise _no_dataset(directory, kind) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _not_a_manifest(path, error) from error
    if not isinstance(found, str) or found not in KINDS:
        raise _not_a_manifest(path, f"unknown kind {found!r}")
    newest = KINDS[found].format_version
    if type(format_version) is not int or not 1 <= format_version <= newest:
        raise InputError(
            f"'{directory}' has format version {format_version!r}; this Meshwright reads "
            f"{'version 1' if newest == 1 else f'versions 1 to {newest}'}. Make it again with "
            "this version, or use the one that wrote it."
        )
    if kind is not None and found != kind:
        raise InputError(
            f"'{directory}' is a dataset of kind {found!r}; {kind!r} is needed here. "
            f"Make one with `meshwright {KINDS[kind].made_by}`."
        )
    try:
        return _checked(directory, found, content)
    except InputError as error:
        raise _not_a_manifest(path, error) from error


def _checked(directory: Path, kind: str, content: dict[str, Any]) -> Manifest:
    """Return the manifest of checked content; raise InputError with what is wrong."""
    rows = content.pop("rows", None)
    if not isinstance(rows, dict) or any(type(n) is not int or n < 0 for n in rows.values()):
        raise InputError("'rows' must give a whole number for each table")
    for table in rows:
        if not re.fullmatch(r"\w+", table):
            raise InputError(f"{table!r} is not the name of a table")
    for table in KINDS[kind].tables:
        if table not in rows:
            raise InputError(f"it lists no table {table!r}")
    version = content.pop("version", "")
    if not isinstance(version, str) or not VERSION.fullmatch(version):
        raise InputError(f"'version' is {version!r}")
    head = {name: content.pop(name, empty) for name, empty in HEAD.items()}
    for name, value in head.items():
        if type(value) is not type(HEAD[name]):
            raise InputError(f"{name!r} is {str(value)[:40]!r}")
    check_facts(kind, content)
    for table in KINDS[kind].counted:
        found = rows.get(table, 0)
        count = content.get(f"n_{table}", found)
        if count != found:
            raise InputError(f"'n_{table}' is {count:,}, and table {table!r} has {found:,} rows")
    return Manifest(
        kind,
        rows,
        content,
        **head,
        version=version,
        path=directory,
        directory=(directory / version).resolve(),
    )


def _not_a_manifest(path: Path, reason: object) -> InputError:
    return InputError(f"'{path}' cannot be read as a manifest ({reason}). Make the dataset again.")


def _no_dataset(directory: Path, kind: str | None) -> InputError:
    """Return the error for a path without a manifest, with the verb that reads or makes it."""
    if (directory / "plan.json").is_file():
        return InputError(
            f"'{directory}' is a configuration of brokers, not a dataset. "
            f"Check it with `meshwright deploy check {directory}`, or run it with "
            f"`meshwright lab up {directory}`."
        )
    advice = f"Make one with `meshwright {KINDS[kind].made_by}`." if kind else "Check the path."
    return InputError(f"'{directory}' is not a Meshwright dataset: it has no {FILE}. {advice}")
