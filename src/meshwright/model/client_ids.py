"""Client ids of a mesh's own connections to brokers; nobody else's clients have such ids."""

import re

REMOTE, LOCAL = "mesh.", "mesh-local."  # begin the ids of bridges that `deploy` writes, at each end
AGENT = "meshwright-agent."  # of the agents of a living mesh, and of what else only watches
TRIAL = "meshwright-verify."  # of clients that `mesh verify` has for a moment
# Both ends of a bridge follow, each written as a directory name.
BRIDGE_CLIENT = r"^mesh(-local)?\.[A-Za-z0-9_%-][A-Za-z0-9_.%-]*\.[A-Za-z0-9_.%-]+$"
OWN_CLIENT = rf"{BRIDGE_CLIENT}|^(?:{re.escape(AGENT)}|{re.escape(TRIAL)})"  # also in Java

_BRIDGE = re.compile(BRIDGE_CLIENT)


def is_bridge(client: str) -> bool:
    """Return whether a client id is that of a bridge of a mesh.

    Examples
    --------
    >>> is_bridge("mesh.press-hall.Halle%203"), is_bridge("mesh.7"), is_bridge("meshes.a.b")
    (True, False, False)
    """
    return _BRIDGE.match(client) is not None
