"""Kernels of the bounds."""
