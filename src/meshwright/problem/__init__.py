"""Problems of content-based assignment: subscribers with boxes, brokers in a tree, limits."""

from meshwright.problem.dataset import load_problem, write_problem
from meshwright.problem.density import Density
from meshwright.problem.problem import Problem
from meshwright.problem.tree import BrokerTree

__all__ = ["BrokerTree", "Density", "Problem", "load_problem", "write_problem"]
