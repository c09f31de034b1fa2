"""Overlay -> Run: how messages travel, and what they cost."""
