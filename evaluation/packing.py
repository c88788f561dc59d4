"""What players need on other machines: their files and code, packed here and unpacked there.

A player is a text in which paths and modules stand. Whatever of them lies in this folder goes
under the same name; what lies elsewhere gets a name, which then stands in the player's text.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..agents.checkpoints.checkpoint import CheckpointError, find_checkpoint, is_checkpoint
from ..agents.registry import agent_names
from ..common.executors import LOCAL

Luggage = dict[str, bytes]
"""Contents by relative path."""

MOST_BYTES = 1 << 30
_ELSEWHERE = "elsewhere"
_PACKAGE = __name__.partition(".")[0]
_PARTS = re.compile(r"[^=,:]+")
_MODULE = re.compile(r"(?<![\w./-])([A-Za-z_][\w.]*):(?=[A-Za-z_])")


def packed(players: Iterable[Any], on: str) -> tuple[list[Any], Luggage]:
    """The players as they are called in workers there, and what has to be there for them."""
    luggage: Luggage = {}
    if on == LOCAL:
        return [*players], luggage
    found = [_packed(each, luggage) if isinstance(each, (str, Path)) else each for each in players]
    size = sum(map(len, luggage.values()))
    if size > MOST_BYTES:
        raise ValueError(
            f"the players' files come to {size / 1e9:.1f} GB, and at most {MOST_BYTES / 1e9:.1f} "
            "travel: put them on every machine, under paths of its own, or name smaller ones"
        )
    return found, luggage


def files_below(folder: Path) -> Luggage:
    """Everything in a folder."""
    found = sorted(each for each in folder.rglob("*") if each.is_file())
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in found}


def _packed(player: str | Path, luggage: Luggage) -> str:
    text = str(player)
    for module in _MODULE.findall(text):
        if module not in agent_names():
            _take_module(module, luggage)

    def elsewhere(part: re.Match[str]) -> str:
        return _taken(part[0], luggage)

    return _PARTS.sub(elsewhere, text)


def _taken(part: str, luggage: Luggage) -> str:
    """Pack the files that a part of a player's text names; the part as it is called there."""
    try:
        files, base = _files_of(part)
    except OSError:
        return part
    if not files:
        return part
    here = Path.cwd()
    if base.resolve().is_relative_to(here) and not base.is_absolute():
        top, told = base, part
    else:
        taken = {name.split("/")[1] for name in luggage if name.startswith(f"{_ELSEWHERE}/")}
        top = Path(_ELSEWHERE, str(len(taken)), base.name)
        told = top.as_posix()
    for file in files:
        inside = file.relative_to(base.parent)
        luggage[(top.parent / inside).as_posix()] = file.read_bytes()
    return told


def _files_of(part: str) -> tuple[list[Path], Path]:
    """The files that a path stands for, none if it is no path; and the path."""
    path = Path(part)
    try:
        # One that is named, and not a path, is in the package there as well.
        weights = find_checkpoint(part) if is_checkpoint(part) else None
    except (CheckpointError, ValueError):
        weights = None
    if weights is not None:
        if path.is_dir():  # a run: its last checkpoint is the one that plays
            return [weights, weights.with_suffix(".json")], path
        return [weights, weights.with_suffix(".json")], weights.with_name(path.name)
    if path.is_file():
        return [path], path
    if path.is_dir() and "/" in part:
        return [each for each in sorted(path.rglob("*")) if each.is_file()], path
    return sorted(path.parent.glob(f"{path.name}.*")) if "/" in part else [], path


def _take_module(name: str, luggage: Luggage) -> None:
    """Pack a module that is not installed: its package, or it and the files beside it."""
    top = name.partition(".")[0]
    before = list(sys.path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return
    finally:
        sys.path[:] = before
    if found is None or found.origin is None or found.origin in ("built-in", "frozen"):
        return
    origin = Path(found.origin).resolve()
    installed = {Path(each).resolve() for each in sysconfig.get_paths().values()}
    if any(origin.is_relative_to(each) for each in installed) or top == _PACKAGE:
        return
    package = origin.name == "__init__.py"
    home = origin.parent.parent if package else origin.parent
    files = origin.parent.rglob("*.py") if package else origin.parent.glob("*.py")
    for file in files:
        luggage[file.relative_to(home).as_posix()] = file.read_bytes()
