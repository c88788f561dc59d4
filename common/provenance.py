"""Version and revision of the package, and the processor that it runs on."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def package_version() -> str:
    try:
        return version("german-whist")
    except PackageNotFoundError:
        return "unknown"


def revision() -> str | None:
    """Git revision of the code, with `-dirty` if it has changes; None outside a checkout.

    A package that is installed within another repository, as in its virtual environment, has none.
    """
    package = Path(__file__).resolve().parents[1]
    top = _git(package, "rev-parse --show-toplevel")
    if top is None or Path(top).resolve() != package:
        return None
    return _git(package, "describe --always --dirty --abbrev=12 --exclude=*")


def _git(folder: Path, words: str) -> str | None:
    """What git prints in a folder; None if it fails or prints nothing."""
    try:
        result = subprocess.run(
            ["git", *words.split()],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip() or None


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
