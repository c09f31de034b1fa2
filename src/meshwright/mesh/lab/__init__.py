"""A mesh on this machine: brokers, agents and planner under load, and faults on request."""
