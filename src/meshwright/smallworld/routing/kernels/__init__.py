"""Loops that route publications."""
