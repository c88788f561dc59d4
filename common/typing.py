"""An array of NumPy, where what it holds is told in words."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
"""Arrays by name, as files hold them."""
