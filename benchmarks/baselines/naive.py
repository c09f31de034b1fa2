"""The methods of the papers without an index, which the experiments of paper 3 time too."""

from meshwright.experiments.naive_greedy import edges

__all__ = ["edges"]
