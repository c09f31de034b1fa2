"""One registry of benchmarks: ``scripts/bench NAME``. They measure; tests do not."""
