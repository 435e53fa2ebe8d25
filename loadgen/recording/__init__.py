"""Recording: the requests of real agents, passed on to their server and kept as sessions that can be played."""
