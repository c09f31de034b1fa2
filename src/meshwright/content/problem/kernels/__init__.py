"""Loops that draw subscribers and find the leaves in reach of them."""
