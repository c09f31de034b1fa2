"""Loops that build rings and fingers."""
