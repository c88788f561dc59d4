"""Seeds of environments: given ones checked, others drawn from the system."""

from __future__ import annotations

import secrets

import numpy as np


def checked_seed(value: object, name: str = "seed") -> int:
    """A seed or a deal's number as the engine takes it."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} is {value!r}: it has to be a whole number")
    if not 0 <= int(value) < 2**64:
        raise ValueError(f"{name} is {value}: it has to be from 0 to 2**64 - 1")
    return int(value)


def fresh_seed() -> int:
    """A seed that nobody chose."""
    return secrets.randbits(63)
