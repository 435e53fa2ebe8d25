"""What a record says: requests, trials, whether they are valid, cells."""
