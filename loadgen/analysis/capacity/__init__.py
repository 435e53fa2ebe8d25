"""How many agents a server carries within limits, how many servers that takes, and what a task costs there."""
