"""Random numbers for kernels of every room."""
