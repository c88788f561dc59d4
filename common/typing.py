"""Array types."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
"""Named arrays, as in a file."""
