"""Loops of SLP over subscribers and boxes."""
