"""Loops that grow the trees of topics."""
