"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# Timings are asserted nowhere. In a fresh clone the first text that is drawn builds Unicode tables for a second.
settings.register_profile("loadgen", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("loadgen")
