"""Speaking to one server."""
