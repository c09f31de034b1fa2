"""The components of each topic's sub-overlay: one union-find for all rooms."""
