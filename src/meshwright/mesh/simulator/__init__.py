"""A mesh in one process and in virtual time, with drawn delays and faults, and its oracle."""
