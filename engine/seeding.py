"""Checks of seeds, seats and counts, and random seeds."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np


def checked_seed(value: object, name: str = "seed") -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} is {value!r}: it has to be a whole number")
    if not 0 <= int(value) < 2**64:
        raise ValueError(f"{name} is {value}: it has to be from 0 to 2**64 - 1")
    return int(value)


def fresh_seed() -> int:
    return secrets.randbits(63)


def checked_seat(value: object, allowed: tuple[object, ...] = (0, 1), name: str = "seat") -> Any:
    """Validate a seat number, or another value of `allowed`."""
    if isinstance(value, (bool, np.bool_, float)) or value not in allowed:
        *shown, last = map(repr, allowed)
        raise ValueError(f"{name} is {value!r}: it has to be {', '.join(shown)} or {last}")
    return value


def checked_count(value: object, name: str) -> int:
    """Validate a positive number of games, determinizations or threads."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} is {value!r}: it has to be a number from 1")
    return int(value)
