"""Settings of the tests of the library."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine is slow without anything being wrong.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
