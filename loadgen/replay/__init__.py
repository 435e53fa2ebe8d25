"""Playing sessions on servers."""
