"""The environment tests' own helpers on the import path, and no windows on the screen."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "hide")
sys.path.insert(0, str(Path(__file__).parent))
