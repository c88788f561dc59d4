"""Version and revision of the package, and the processor that it runs on."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .processor_time import helpers_end


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
        with helpers_end():
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


_digests: dict[str, tuple[object, str]] = {}
"""Modules by their names, with the digests of their files."""


def code_sha256(module: str) -> str:
    """SHA-256 of the file of an imported module, and of all files of its package if it is in one.

    Of the files as they were when it was first asked for, soon after the import: they can be edited
    while the module is in use. Empty for a module without a file, as `<stdin>` is none.
    """
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if file is None:
        return ""
    if module not in _digests or _digests[module][0] is not loaded:
        digest = _sha256_of_files(module, file) if os.path.isfile(file) else ""
        _digests[module] = loaded, digest
    return _digests[module][1]


def _sha256_of_files(module: str, file: str) -> str:
    package = getattr(sys.modules.get(module.partition(".")[0]), "__path__", ())
    files = {Path(file), *(path for folder in package for path in Path(folder).rglob("*.py"))}
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.name} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


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
