"""What an agent or a planner keeps on disk: records in segment files."""
