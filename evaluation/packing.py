"""Files and modules that agents need on other machines, packed here and unpacked there.

An agent's text contains paths and modules. Those below the working folder keep their name;
others get a new one, which replaces the old one in the agent's text.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from ..agents.checkpoints import CheckpointError, find_checkpoint, is_checkpoint, read_card
from ..agents.registry import AGENTS
from ..common.executors import LOCAL
from ..common.trust import check_trusted, check_trusted_class

T = TypeVar("T")

PackedFiles = dict[str, bytes]
"""Contents by relative path."""

MAX_BYTES = 1 << 30
_ELSEWHERE = "elsewhere"
_PACKAGE = __name__.partition(".")[0]
_PARTS = re.compile(r"[^=,:]+")
_MODULE = re.compile(r"(?<![\w./-])([A-Za-z_][\w.]*):([A-Za-z_]\w*)")
_PICKLE = re.compile(r"\bsb3:([^,]+),(?:[^,]*,)*trusted\b")


def pack(agents: Iterable[T], on: str) -> tuple[list[T | str], PackedFiles]:
    """The agents by their names on the workers, and the files that have to be there."""
    files: PackedFiles = {}
    if on == LOCAL:
        return [*agents], files
    names = [
        _pack_agent(agent, files) if isinstance(agent, (str, Path)) else agent for agent in agents
    ]
    size = sum(map(len, files.values()))
    if size > MAX_BYTES:
        raise ValueError(
            f"the agents' files come to {size / 1e9:.1f} GB, and at most {MAX_BYTES / 1e9:.1f} "
            "travel: put them on every machine, under paths of its own, or name smaller ones"
        )
    return names, files


def classes_in(text: str) -> list[tuple[str, str]]:
    """Modules and classes that the text of an agent names, also for agents within it."""
    return [found for found in _MODULE.findall(text) if AGENTS.get(found[0]) is None]


def files_below(folder: Path) -> PackedFiles:
    """All files in a folder and its subfolders."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in _files(folder)}


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def files_of_agent(agent: str) -> list[Path]:
    """The checkpoints and other files that the text of an agent of this package names."""
    paths: list[Path] = []
    for part in _PARTS.findall(agent):
        with suppress(OSError):
            if is_checkpoint(part) or Path(part).is_file():
                paths += _paths_of(part)[0]
    return paths


def networks_of_agent(agent: str) -> list[str]:
    """The classes of networks on the cards of the checkpoints that the text of an agent names."""
    return [*filter(None, map(_network_of, files_of_agent(agent)))]


def _pack_agent(agent: str | Path, files: PackedFiles) -> str:
    text = str(agent)
    # Workers of a cluster know nothing of the command.
    for path in _PICKLE.findall(text):
        check_trusted(f"sb3:{path}")
    for module, target in classes_in(text):
        check_trusted(f"{module}:{target}")
        _pack_module(module, files)
    return _PARTS.sub(lambda part: _pack_part(part[0], files), text)


def _pack_part(part: str, files: PackedFiles) -> str:
    """Pack the files that a part of an agent's text names; returns its name on the workers."""
    try:
        paths, base = _paths_of(part)
    except OSError:
        return part
    if not paths:
        return part
    for weights in paths if is_checkpoint(part) else []:
        if network := _network_of(weights):
            pack_network(network, files)
    if base.resolve().is_relative_to(Path.cwd()) and not base.is_absolute():
        target, name = base, part
    else:
        numbers = {path.split("/")[1] for path in files if path.startswith(f"{_ELSEWHERE}/")}
        target = Path(_ELSEWHERE, str(len(numbers)), base.name)
        name = target.as_posix()
    for path in paths:
        files[(target.parent / path.relative_to(base.parent)).as_posix()] = path.read_bytes()
    return name


def _paths_of(part: str) -> tuple[list[Path], Path]:
    """The files that a path stands for, none if it is no path; and the path."""
    path = Path(part)
    try:
        # A bundled checkpoint, which is no path, is in the workers' package as well.
        weights = find_checkpoint(part) if is_checkpoint(part) else None
    except (CheckpointError, ValueError):
        weights = None
    if weights is not None:
        # Of a run its last checkpoint plays.
        base = path if path.is_dir() else weights.with_name(path.name)
        return [weights], base
    if path.is_file():
        # A module imports those beside it.
        return sorted(path.parent.glob("*.py")) if path.suffix == ".py" else [path], path
    if path.is_dir() and "/" in part:
        return _files(path), path
    return sorted(path.parent.glob(f"{path.name}.*")) if "/" in part else [], path


def _network_of(weights: Path) -> str:
    """The class of a checkpoint's custom network; empty if its network is another."""
    try:
        return read_card(weights).network.module
    except CheckpointError:  # a network for searches, or one that its reader refuses
        return ""


def pack_network(name: str, files: PackedFiles) -> None:
    """Pack the source of a custom network's class.

    It keeps its name, which checkpoints hold too.
    """
    check_trusted_class(name)
    module = name.rpartition(":")[0]
    path = Path(module)
    if path.suffix != ".py":
        _pack_module(module, files)
    elif path.is_absolute() or not path.resolve().is_relative_to(Path.cwd()):
        raise ValueError(
            f"the network {name} has a path that other machines do not have: put its file below "
            "the current folder, and name it from there"
        )
    else:
        _pack_part(module, files)


def _pack_module(name: str, files: PackedFiles) -> None:
    """Pack a module that is not installed: its package, or the modules in its folder."""
    top = name.partition(".")[0]
    search_path = list(sys.path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return
    finally:
        sys.path[:] = search_path
    if spec is None or spec.origin is None or spec.origin in ("built-in", "frozen"):
        return
    origin = Path(spec.origin).resolve()
    installed = {Path(path).resolve() for path in sysconfig.get_paths().values()}
    if any(origin.is_relative_to(path) for path in installed) or top == _PACKAGE:
        return
    package = origin.name == "__init__.py"
    root = origin.parent.parent if package else origin.parent
    for path in origin.parent.rglob("*.py") if package else origin.parent.glob("*.py"):
        files[path.relative_to(root).as_posix()] = path.read_bytes()
