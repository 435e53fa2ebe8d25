"""What agents do: sessions, turns, waits."""
