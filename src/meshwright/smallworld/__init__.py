"""Instance -> SmallWorld: nodes on a ring, and one finger per node and phase."""
