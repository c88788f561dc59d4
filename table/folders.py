# pyright: strict
"""Where what people play is kept."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def data_folder() -> Path:
    """The folder that `GERMAN_WHIST_DATA` names, or the user's data folder."""
    wanted = os.environ.get("GERMAN_WHIST_DATA")
    return Path(wanted) if wanted else Path(platformdirs.user_data_dir("german-whist"))
