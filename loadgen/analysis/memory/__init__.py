"""What memory is taken, what is left, and what a prediction says."""
