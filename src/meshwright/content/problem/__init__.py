"""Problems of content-based assignment: subscribers with boxes, brokers in a tree, limits."""

from meshwright.content.problem.dataset import load_problem, write_problem
from meshwright.model.broker_tree import BrokerTree
from meshwright.model.density import Density
from meshwright.model.problem import Problem
