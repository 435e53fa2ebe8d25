"""What a server takes in memory, from the headers of its models and its arguments, before anything is loaded."""
