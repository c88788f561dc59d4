# pyright: strict, reportUnsupportedDunderAll=false, reportMissingTypeStubs=false
# pyright: reportUnknownMemberType=false
"""German Whist for reinforcement learning: engine, environments, agents, training, a table.

Importing the package registers its environments with Gymnasium and PettingZoo. Public names
are loaded at first use, so neither numba nor torch is imported before it is needed; they are
listed in `__init__.pyi`.
"""

from __future__ import annotations

from .common.lazy import attach_stub
from .registration import register_environments

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
__all__ += ["__version__"]

register_environments()
