"""Things by name: registries that other packages add to, and objects as `package.module:object`.

Players, trainers and callbacks are each found through one `Registry`: by a name of
our own, by one that an entry point gives, or where a module has it.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from .suggestions import meant

_OWN = __name__.partition(".")[0] + "."


@dataclass(frozen=True)
class Entry:
    """A name, and what stands behind it."""

    name: str
    source: Any
    """The object itself, or where to import it from, as `package.module:object`."""
    about: str
    usage: str
    """The name with its parameters, as people write it."""
    endgame: str = ""
    """Of a player: who plays open endings, as far as its name tells."""

    @property
    def needs_more(self) -> bool:
        """Whether the name alone makes nothing: a path to load, or a player to answer is wanted."""
        needed = self.usage.partition("[")[0]
        return needed.endswith((":PATH", "=PLAYER")) or ":PATH," in needed


class Registry:
    """What can be named of one kind of thing; `group` is that of entry points."""

    def __init__(self, group: str, what: str) -> None:
        self.group, self.what = group, what
        self._own: dict[str, Entry] = {}

    def add(
        self,
        name: str,
        source: Any,
        about: str = "",
        usage: str | None = None,
        endgame: str = "",
    ) -> None:
        """Make `name` a name; one that is taken is refused."""
        if name in self._own:
            raise ValueError(f"the {self.what} name {name!r} is taken")
        self._own[name] = Entry(name, source, about, usage or name, endgame)

    def entries(self) -> dict[str, Entry]:
        """Every name, those of other packages included."""
        found = dict(self._own)
        for each in entry_points(group=self.group):
            found.setdefault(
                each.name, Entry(each.name, each.value, f"from {each.value}", each.name)
            )
        return found

    def find(self, text: str) -> Any:
        """The object behind a name, or what `package.module:object` names."""
        known = self.entries()
        if text in known:
            return loaded(known[text].source)
        if ":" in text:
            return named_object(text)
        own = f"{self.what}s of your own are named as module:object"
        raise ValueError(f"{text!r} is not a {self.what}{meant(text, known, more=own)}")


def loaded(source: Any) -> Any:
    """An entry's object, imported if need be."""
    return named_object(source) if isinstance(source, str) else source


@contextmanager
def _current_folder_first() -> Iterator[None]:
    """Modules of the current folder are found, as by `python -m`; later imports find them last.

    The script `german-whist` does not look there by itself. Worker processes do the same anew.
    """
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
        if here not in sys.path and "" not in sys.path:
            sys.path.append(here)


def named_object(source: str) -> object:
    """The object that `package.module:object` names."""
    module, _, name = source.partition(":")
    if not module or not name:
        raise ValueError(f"{source!r} names no object: write package.module:object")
    imported = _imported(module)
    if not hasattr(imported, name):
        raise ValueError(
            f"{source}: {module} has no {name!r}{meant(name, _made_in(imported), listed=False)}"
        )
    return getattr(imported, name)


def _made_in(module: object) -> list[str]:
    """What a module has of its own that can be called; what it imports is somebody else's."""
    found = vars(module).items()
    own = [name for name, each in found if getattr(each, "__module__", "") == module.__name__]  # type: ignore[attr-defined]
    return [name for name in own if not name.startswith("_") and callable(vars(module)[name])]


def _imported(module: str) -> object:
    if module.startswith(_OWN):
        return importlib.import_module(module)
    try:
        with _current_folder_first():
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"module {module} cannot be imported: {error}; modules are looked for in the current "
            "folder and where Python finds its packages"
        ) from error
    except (Exception, SystemExit) as error:
        raise ValueError(f"module {module} cannot be imported: {told_error(error)}") from error


def told_error(error: BaseException) -> str:
    """An error in one line: its kind, and what it says."""
    words = str(error).strip().splitlines()
    return type(error).__name__ + (f": {words[0][:300]}" if words else "")


def raised_at(error: BaseException) -> str:
    """Where an error was raised, as file:line; nothing where that is not known."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
