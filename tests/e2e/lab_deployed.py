"""Configuration directories for the lab's tests, as `deploy mosquitto` writes them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from meshwright.deploy import Broker, plan, write_conf
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay


def deploy(
    conf: Path,
    wants: Mapping[str, Iterable[str]],
    links: Sequence[Iterable[str]],
    *,
    qos: int = 1,
    publishers: Sequence[tuple[str, str]] = (),
    secrets: Path | None = None,
    tls: bool = False,
    complete: str | None = None,
    layout: str = "include",
    lock_down: bool = True,
) -> Path:
    """Deploy brokers with names of one letter: `wants` of each topic, `links` like "ab".

    With `secrets` every broker has a user and a password, kept below that directory.
    """
    pairs = [(node, topic) for topic, nodes in wants.items() for node in nodes]
    pairs += [(node, f"own/{node}") for node in sorted({n for link in links for n in link})]
    instance = Instance.from_pairs(pairs)
    ids = {name: i for i, name in enumerate(instance.node_names)}
    edges = sorted(tuple(sorted((ids[u], ids[v]))) for u, v in links)
    overlay = Overlay(
        instance, np.array(edges, dtype=np.int32), np.zeros(len(edges), np.int32), "by hand"
    )
    brokers = []
    for node in instance.node_names:
        security = {}
        if secrets:
            (secrets / node).write_text(f"secret of {node}\n")
            security = {"username": f"user-{node}", "password_file": str(secrets / node)}
        if tls:
            security |= {"ca": "/etc/ca.crt", "cert": "/etc/cert.crt", "key": "/etc/key.key"}
        brokers.append(Broker(node, f"host-{ids[node]}.example", 8883 if tls else 1883, **security))
    made = plan(overlay, brokers, qos=qos, publishers=publishers, complete=complete)
    write_conf(made, conf, layout=layout, lock_down=lock_down)
    return conf
