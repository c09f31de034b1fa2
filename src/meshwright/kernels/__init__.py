"""Array kernels that several stages share: Numba over plain arrays, no objects."""
