"""What all tests share: their folder on the import path, and hypothesis without a clock."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from german_whist.engine import threads

# A first call may compile; how long an example takes says nothing about it.
settings.register_profile(
    "whist",
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("whist")

# Few games are shared out among threads as many are.
threads.LEAST = 1
