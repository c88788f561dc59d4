"""Types that several packages share."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
"""Named arrays, as in a file."""
JsonObject = dict[str, Any]
"""Values by name, of the types that JSON and YAML have: the content of a file, or a part of it."""
