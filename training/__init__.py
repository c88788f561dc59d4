"""Learning and measuring: trainers, callbacks, runs and experiments."""

from __future__ import annotations

import os

from ..common.lazy import attach_stub

# Before torch loads: by default waiting threads spin, which slows everything down many times on
# busy cores.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
