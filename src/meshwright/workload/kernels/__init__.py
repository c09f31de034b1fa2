"""Loops that draw synthetic workloads."""
