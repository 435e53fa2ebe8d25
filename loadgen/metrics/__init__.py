"""What monitoring sees: the run as Prometheus metrics, live, pushed, and as files."""
