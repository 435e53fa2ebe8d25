"""Measured figures: does what loadgen says agree with a known truth?"""
