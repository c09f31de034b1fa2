"""Sources -> workload: ingest, generate, sample, and the statistics of the result."""
