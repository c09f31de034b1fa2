"""The living mesh: agents beside brokers, and the planner that designs their overlay."""
