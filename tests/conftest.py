"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# 40 examples: the suite has six minutes, and a new parser is tried with thousands once.
# Timings are asserted nowhere. In a fresh clone the first text that is drawn builds Unicode tables for a second.
settings.register_profile("loadgen", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loadgen")
