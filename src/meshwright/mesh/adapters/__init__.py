"""How an agent talks to its broker: one file for each kind of broker."""
