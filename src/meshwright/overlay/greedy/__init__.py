"""The greedy engine, in two orders of edges: by key in this process, by level on Spark."""
