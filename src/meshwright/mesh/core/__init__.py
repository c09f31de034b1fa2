"""The protocol without I/O: an agent, the planner, and the log that both hold."""
