"""What a line of `pip install` brings: found among this Python's packages, or linked elsewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGE = "german-whist"
# Jupyter shows a notebook, and its cells run without it.
ABSENT = {"notebook"}


def install_line(text: str) -> str:
    """The first `pip install` of a text, in backquotes or on a line of its own."""
    (line, *_) = re.findall(r"^pip install .*|(?<=`)pip install [^`]*", text, re.MULTILINE)
    return line


def requirements_of(line: str) -> list[Requirement]:
    """Requirements of a `pip install`; a dot is this package."""
    _, _, *words = shlex.split(line)
    return [Requirement(re.sub(r"^\.(?=\[|$)", PACKAGE, word)) for word in words]


def brought_by(wanted: Iterable[Requirement], package: Distribution) -> list[Distribution]:
    """Distributions that pip installs for requirements, beside `package`, this one."""
    found: dict[str, Distribution] = {}
    left, seen = [*wanted], set[str]()
    while left:
        requirement = left.pop()
        if str(requirement) in seen or requirement.name in ABSENT:
            continue
        seen.add(str(requirement))
        name = canonicalize_name(requirement.name)
        found[name] = package if name == PACKAGE else distribution(name)
        extras = ["", *requirement.extras]
        for text in found[name].requires or []:
            needed = Requirement(text)
            marker = needed.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
                needed.marker = None
                left.append(needed)
    return [each for each in found.values() if each is not package]


def entries(found: Distribution) -> set[str]:
    """Files and folders of a distribution at the top of the folder of packages."""
    parts = (path.parts[0] for path in found.files or [])
    return {name for name in parts if name not in ("..", "__pycache__")}


def show_only(brought: Iterable[Distribution], folder: Path) -> None:
    """Link distributions of this Python into another's folder of packages, and no others."""
    for link in folder.iterdir():
        if link.is_symlink():
            link.unlink()
    for each in brought:
        for name in entries(each):
            link = folder / name
            if not link.exists():
                link.symlink_to(Path(str(each.locate_file(name))))
