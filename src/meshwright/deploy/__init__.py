"""From an overlay to real brokers: bridges that cannot loop, and the proof of it."""

from meshwright.deploy.coexist import Findings, check_conf, check_installed
from meshwright.deploy.inventory import read_inventory, read_publishers
from meshwright.deploy.merge import Merged, merge
from meshwright.deploy.mosquitto import write_conf
from meshwright.deploy.plan import Broker, Plan, read_plan
from meshwright.deploy.planner import plan
from meshwright.deploy.read import Conf, read_conf
from meshwright.deploy.restart import Change, Step, compare_confs, restarts_between
from meshwright.deploy.route import Line, Route
from meshwright.deploy.validate import validate
