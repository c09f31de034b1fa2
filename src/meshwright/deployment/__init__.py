"""From a plan on paper to brokers: bridges that cannot loop, and the proof of it."""

from meshwright.deployment.filters import expand
from meshwright.deployment.inventory import Broker, read_inventory, read_publishers
from meshwright.deployment.mosquitto import write_conf
from meshwright.deployment.plan import Plan, plan
from meshwright.deployment.read import Conf, read_conf
from meshwright.deployment.restart import Change, Step, compare_confs, restart_order
from meshwright.deployment.validate import validate

__all__ = [
    "Broker",
    "Change",
    "Conf",
    "Plan",
    "Step",
    "compare_confs",
    "expand",
    "plan",
    "read_conf",
    "read_inventory",
    "read_publishers",
    "restart_order",
    "validate",
    "write_conf",
]
