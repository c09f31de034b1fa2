"""Real brokers on this machine: start a plan, prove it, compare it, stop it."""
