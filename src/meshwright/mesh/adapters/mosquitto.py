"""Mosquitto: what clients want is read from its log, which it publishes under $SYS."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meshwright.mesh.adapters.adapter import ALL, Adapter, Capabilities, Surroundings
from meshwright.mesh.adapters.log_connection import LINES, LogConnection
from meshwright.workload.sessions import SessionState

SESSION, STARTED = "session", "started"  # kinds of records


def follow(around: Surroundings) -> LogConnection:
    """Return what follows the log of a broker."""
    sessions = [SessionState(key[1], *value) for key, value in around.known if key[0] == SESSION]
    started = next((value[0] for key, value in around.known if key[0] == STARTED), None)

    def remember(client: str, state: SessionState | float | None) -> None:
        if isinstance(state, SessionState):
            around.remember((SESSION, client), tuple(state[1:]))
        elif state is None:
            around.remember((SESSION, client), None)
        else:
            around.remember((STARTED,), (state,))

    log_file = around.options.get("log_file", "")
    return LogConnection(
        around.endpoint,
        around.deliver,
        around.note,
        (sessions, started),
        remember,
        Path(log_file) if log_file else None,
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
