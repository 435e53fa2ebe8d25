"""What to run: pure data."""
