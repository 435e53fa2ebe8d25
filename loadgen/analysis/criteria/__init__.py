"""Figures held against limits, and one run against another."""
