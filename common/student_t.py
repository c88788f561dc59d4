"""Student's t quantiles for 95 % intervals, without SciPy."""

from __future__ import annotations

import math

NORMAL_QUANTILE = 1.959963984540054


def quantile(observations: int) -> float:
    """97.5 % quantile of Student's t for the mean of `observations` values (Cornish–Fisher)."""
    if observations < 2:
        return math.inf
    df = observations - 1
    if df < 6:
        return (12.7062, 4.3027, 3.1824, 2.7764, 2.5706)[df - 1]
    z = NORMAL_QUANTILE
    return (
        z
        + (z**3 + z) / (4 * df)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * df**3)
    )
