"""Looks at a run that goes on, with the error that they cost; the race of settings."""
