"""The naive greedy loop that paper 3 compares with, compiled."""
