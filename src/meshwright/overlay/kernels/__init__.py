"""Loops of bounds, checks and the methods that are not greedy."""
