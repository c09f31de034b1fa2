"""The greedy methods level by level: what Spark runs when one machine is not enough."""
