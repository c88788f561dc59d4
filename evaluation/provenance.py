"""The machine that a result was measured on, in a line."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numba
import numpy as np

from ..engine.endgame import load_tablebase


def machine_text() -> str:
    """Processor, system, versions, and the size of the loaded endgame tablebase."""
    return ", ".join(
        (
            processor_and_cores(),
            platform.system(),
            f"Python {platform.python_version()}",
            f"NumPy {np.__version__}",
            f"Numba {numba.__version__}",
            f"endings of up to {load_tablebase().cards} cards from the table",
        )
    )


def processor_and_cores() -> str:
    return f"{processor()}, {os.cpu_count()} cores"


def processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
