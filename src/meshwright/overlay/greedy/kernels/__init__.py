"""Kernels of the greedy engine."""
