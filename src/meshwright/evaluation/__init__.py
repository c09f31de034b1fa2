"""Overlay -> evidence: checkers that work from the edges alone."""
