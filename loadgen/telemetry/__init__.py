"""What is watched meanwhile."""
