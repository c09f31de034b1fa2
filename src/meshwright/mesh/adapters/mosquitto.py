"""Mosquitto: what clients want is read from its log, which it publishes under $SYS."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meshwright.mesh.adapters.adapter import ALL, Adapter, Capabilities, Surroundings
from meshwright.mesh.adapters.log_connection import LINES, Known, LogConnection, Mark
from meshwright.workload.sessions import SessionState

SESSION, MARK = "session", "mark"  # kinds of records


def follow(around: Surroundings) -> LogConnection:
    """Return what follows the log of a broker."""
    sessions = [SessionState(key[1], *value) for key, value in around.known if key[0] == SESSION]
    marks = [Mark(*value) for key, value in around.known if key[0] == MARK]
    # Records without a mark are those of an earlier version, which has followed the log, too.
    mark = marks[0] if marks else Mark() if sessions else None

    def remember(client: str, state: SessionState | Mark | None) -> None:
        if isinstance(state, Mark):
            around.remember((MARK,), tuple(state))
        else:
            around.remember((SESSION, client), tuple(state[1:]) if state is not None else None)

    log_file = around.options.get("log_file", "")
    return LogConnection(
        around.endpoint,
        around.deliver,
        around.note,
        Known(sessions, mark),
        remember,
        Path(log_file) if log_file else None,
        around.n_own,
    )


def capabilities(_broker: Mapping[str, Any]) -> Capabilities:
    """Return what Mosquitto can do: everything."""
    return ALL


MOSQUITTO = Adapter(
    "Mosquitto",
    capabilities,
    follow,
    {
        "mosquitto.conf": "# Add these lines to the broker's mosquitto.conf, then send it SIGHUP.\n"
        + LINES
    },
    "add the lines of mosquitto.conf to the broker's own, and send it SIGHUP;\n"
    "it needs no restart (clients that are connected must subscribe again, or\n"
    "set log_file)",
    service="mosquitto.service",
)
