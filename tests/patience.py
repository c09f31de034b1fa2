"""How long a test waits for another process: a bound that only a failure reaches."""

SECONDS = 300.0  # two cores may run a JVM, a compiler and a browser beside it
