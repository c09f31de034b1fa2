"""Loops over subscribers, boxes and leaves that several methods share."""
