"""Loops that draw a picture."""
