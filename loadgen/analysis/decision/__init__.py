"""What to run at an operating point, and for whom."""
