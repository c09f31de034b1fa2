"""A plan on real brokers of this machine: start, verify, compare, redeploy, stop."""
