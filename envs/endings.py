"""What an ending is worth with best play, for episodes that end with the foreplay."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.rules import Rules


def best_tricks(rules: Rules, games: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The tricks that the player to lead takes of the rest of each hand, both playing perfectly."""
    raise NotImplementedError("endings")
