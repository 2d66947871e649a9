"""What every test of the workspace shares: how hard Hypothesis tries."""

import os

from hypothesis import HealthCheck, settings

# A deadline measures the machine, not the code: pytest-timeout bounds a test that hangs.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("fuzz", deadline=None, max_examples=5_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "default")
