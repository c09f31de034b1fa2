"""The ground of all rooms: Spark session, progress, threads, compilation, random numbers."""
