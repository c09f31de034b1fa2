"""Random numbers and bit sets for kernels of every room."""
