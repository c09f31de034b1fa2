"""Units for systemd: one for the planner, one for the agent of each broker."""

from pathlib import Path

UNIT = """\
[Unit]
Description=Meshwright {what} of {mesh}
Wants=network-online.target
# Try again for ever: a broker or a port may be free later.
StartLimitIntervalSec=0
After=network-online.target {after}

[Service]
# Change the path if the directory is elsewhere, and /usr/bin/env if meshwright is not on the PATH.
ExecStart=/usr/bin/env meshwright mesh {what} {place}
# After a crash or an error; not when it ends by itself, as the agent of a removed broker does.
Restart=on-failure
RestartSec=1
# Messages on their way are in files: nothing has to wait for a slow stop.
TimeoutStopSec=20

[Install]
WantedBy=multi-user.target
"""


def unit_name(what: str) -> str:
    """Return the name of the unit of a planner or agent."""
    return f"meshwright-{what}.service"


def write_unit(place: Path, what: str, mesh: str, target: Path, after: str = "") -> None:
    """Write the unit of a planner or agent (`what`) whose directory is `target`."""
    text = UNIT.format(
        what=what, mesh=_escaped(mesh), place=_word(str(target.resolve())), after=after
    )
    lines = (line.rstrip() for line in text.splitlines())
    (place / unit_name(what)).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _escaped(text: str) -> str:
    """Return text in which systemd replaces nothing.

    Examples
    --------
    >>> _escaped("Halle%203")
    'Halle%%203'
    """
    return text.replace("%", "%%")


def _word(text: str) -> str:
    """Return one word of a command line.

    Examples
    --------
    >>> print(_word("/srv/my mesh/Halle%203"))
    "/srv/my mesh/Halle%%203"
    """
    quoted = _escaped(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{quoted}"'
