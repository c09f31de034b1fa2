"""What tests of deployment share: overlays of a few names, inventories, files."""

from pathlib import Path

import numpy as np

from meshwright.deploy import Broker, plan, write_conf
from meshwright.model.instance import Instance
from meshwright.model.overlay import Overlay
from meshwright.overlay import design
from meshwright.patterns.expand import expand


def overlay_of(pairs, links=None, nodes=()) -> Overlay:
    """Return an overlay of (node, topic) names: designed, or with the links that are given."""
    instance = expand(Instance.from_pairs(pairs, nodes=nodes))
    if links is None:
        return design(instance, "gm")
    ids = {name: i for i, name in enumerate(instance.node_names)}
    edges = sorted({tuple(sorted((ids[u], ids[v]))) for u, v in links})
    return Overlay(
        instance, np.array(edges, np.int32).reshape(-1, 2), np.zeros(len(edges), np.int32), "test"
    )


def brokers_of(nodes, first_port: int = 20_000, **security) -> list[Broker]:
    """Return an inventory on loopback, by default without security."""
    return [
        Broker(node, "127.0.0.1", first_port + i, **{k: v(i) for k, v in security.items()})
        for i, node in enumerate(nodes)
    ]


def deployed(
    overlay: Overlay, out: Path, brokers=None, *, layout="whole", lock_down=True, **options
) -> Path:
    """Write the configuration of an overlay and return where."""
    inventory = brokers if brokers is not None else brokers_of(overlay.instance.node_names)
    write_conf(plan(overlay, inventory, **options), out, layout=layout, lock_down=lock_down)
    return out
