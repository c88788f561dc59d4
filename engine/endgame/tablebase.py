"""A tablebase: exact values of endgames up to a number of cards, as compiled code reads them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .index import IndexScheme

BASE_CARDS = 10
"""Layers up to this one share an array and a file; each higher one has its own."""


class Tablebase(NamedTuple):
    """The layers of one kind of contract, for compiled code."""

    scheme: IndexScheme
    low: int
    """1 when both players want few tricks."""
    cards: int
    """Largest hand with tabled endgames; 0: none, all is searched."""
    starts: np.ndarray
    """First entry of each layer in `base`."""
    base: np.ndarray
    """Layers 0 to 10, or fewer."""
    eleven: np.ndarray
    twelve: np.ndarray
    thirteen: np.ndarray
