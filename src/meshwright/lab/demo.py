"""The bundled example as a configuration directory, for a lab that needs nothing else."""

from __future__ import annotations

import csv
from pathlib import Path

from meshwright.deployment import Broker, plan, write_conf
from meshwright.overlay import design
from meshwright.values import Instance

METHOD = "gm"


def write_demo(example: Path, inventory: Path, conf: Path) -> None:
    """Design the example, list its brokers in an inventory, and write their configuration."""
    with example.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    overlay = design(Instance.from_pairs([(node, topic) for node, topic in rows]), METHOD)
    brokers = [Broker(node, f"{node}.example", 1883) for node in overlay.instance.node_names]
    with inventory.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("node", "host", "port"))
        writer.writerows((broker.node, broker.host, broker.port) for broker in brokers)
    write_conf(plan(overlay, brokers), conf, force=True)
