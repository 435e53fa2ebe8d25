"""What happened: facts only, append-only."""
