"""Loops over subscribers and the leaves in reach of them."""
