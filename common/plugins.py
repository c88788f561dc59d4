"""Plugin registries: built-in names, entry points, and `package.module:object` paths."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from .suggestions import suggest
from .trust import check_trusted

_ROOT = __name__.partition(".")[0] + "."


@dataclass(frozen=True)
class Entry:
    """A registered name and its object."""

    name: str
    source: object
    """The object, or its import path `package.module:object`."""
    about: str
    usage: str
    """The name with its parameters, for help texts."""
    note: str = ""
    """A remark beside `about`, for help texts."""
    origin: str = ""
    """Entry point and package that it comes from, for errors; empty if registered in code."""

    def load(self) -> Any:
        """The object, imported if its source is a path."""
        try:
            return load_source(self.source)
        except Exception as error:
            # Code of this package lacks an extra then, which whoever asks for it can name.
            own = str(self.source).startswith(_ROOT)
            if not self.origin or (own and isinstance(error, ImportError)):
                raise
            text = str(error) if isinstance(error, ValueError) else error_text(error)
            raise ValueError(f"{self.origin} cannot be loaded: {text}") from error

    def described(self) -> Entry:
        """The entry with a description; one of an entry point says it in its docstring."""
        if self.about:
            return self
        text = inspect.getdoc(self.load()) or f"from {self.source}"
        return replace(self, about=text.partition("\n")[0].rstrip("."))

    @property
    def needs_more(self) -> bool:
        """Whether the name needs arguments, such as a path to load."""
        return re.search("[A-Z]{2}", self.usage.partition("[")[0]) is not None


@cache
def _installed(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    # Reads a file of every installed package, which takes milliseconds.
    return tuple(entry_points(group=group))


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group."""
    return _installed(group, tuple(sys.path))


class Registry:
    """Registry of one kind of plugin; `group` is its entry point group."""

    def __init__(self, group: str, noun: str) -> None:
        self.group, self.noun = group, noun
        self._builtin: dict[str, Entry] = {}

    def add(
        self,
        name: str,
        source: object,
        about: str = "",
        usage: str | None = None,
        note: str = "",
    ) -> None:
        if name in self._builtin:
            raise ValueError(f"the {self.noun} name {name!r} is taken")
        self._builtin[name] = Entry(name, source, about, usage or name, note)

    def entries(self) -> dict[str, Entry]:
        """All entries, including those of entry points."""
        entries = dict(self._builtin)
        for point in installed(self.group):
            package = f" of the package {point.dist.name}" if point.dist else ""
            origin = f"the {self.noun} {point.name!r}{package} (entry point {point.value})"
            entry = Entry(point.name, point.value, "", point.name, origin=origin)
            entries.setdefault(point.name, entry)
        return entries

    def described(self) -> tuple[list[Entry], list[str]]:
        """All entries with their descriptions, for lists, and a sentence for each broken one.

        Entry points of a module stand in the order in which it defines them: an installation sorts
        them by name.
        """
        added, errors = [], []
        for name, entry in self.entries().items():
            if name not in self._builtin:
                try:
                    added.append(entry.described())
                except (ValueError, ImportError) as error:
                    errors.append(str(error))
        added.sort(key=_place_of_definition)
        return [*(entry.described() for entry in self._builtin.values()), *added], errors

    def get(self, name: str) -> Entry | None:
        """The entry of a name; entry points are read only for what is not registered."""
        return self._builtin.get(name) or self.entries().get(name)

    def find(self, text: str) -> Any:
        """The object registered under a name, or at `package.module:object`."""
        if (entry := self.get(text)) is not None:
            return entry.load()
        if ":" in text:
            check_trusted(text)
            return import_object(text)
        hint = f"{self.noun}s of your own are named as module:object"
        raise ValueError(f"{text!r} is not a {self.noun}{suggest(text, self.entries(), more=hint)}")


def _place_of_definition(entry: Entry) -> tuple[str, int]:
    module, _, name = str(entry.source).partition(":")
    names = list(vars(importlib.import_module(module)))
    return module, names.index(name) if name in names else len(names)


def load_source(source: object) -> Any:
    """The object of an entry, imported if its source is a path."""
    return import_object(source) if isinstance(source, str) else source


@contextmanager
def _folder_first(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        if folder not in sys.path and "" not in sys.path:
            sys.path.append(folder)


def import_object(source: str) -> object:
    module, _, name = source.rpartition(":")
    if not module or not name:
        raise ValueError(
            f"{source!r} names no object: write package.module:object, or file.py:object"
        )
    imported = _import_file(module) if module.endswith(".py") else _import_module(module)
    if not hasattr(imported, name):
        raise ValueError(
            f"{source}: {module} has no {name!r}"
            + suggest(name, _callables_of(imported), listed=False)
        )
    return getattr(imported, name)


def _callables_of(module: object) -> list[str]:
    members = vars(module).items()
    own = module.__name__  # type: ignore[attr-defined]
    own_names = [name for name, member in members if getattr(member, "__module__", "") == own]
    return [name for name in own_names if not name.startswith("_") and callable(vars(module)[name])]


def _import_file(path: str) -> object:
    """A file as a module, loaded once for each place that it lies at."""
    if not os.path.isfile(path):
        below = "" if os.path.isabs(path) else f" below {os.getcwd()}"
        raise ValueError(f"{path}: there is no such file{below}")
    return _loaded_file(os.path.abspath(path))


@cache
def _loaded_file(path: str) -> object:
    name = f"{Path(path).stem}_{sha256(path.encode()).hexdigest()[:8]}"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Data classes and pickles look for the module by its name.
    sys.modules[name] = module
    try:
        with _folder_first(str(Path(path).parent)):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ValueError(f"{path} cannot be imported: {error_text(error)}") from error
    return module


def _import_module(module: str) -> object:
    if module.startswith(_ROOT):
        return importlib.import_module(module)
    try:
        with _folder_first(os.getcwd()):
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"module {module} cannot be imported: {error}; modules are looked for in the current "
            "folder and where Python finds its packages"
        ) from error
    except (Exception, SystemExit) as error:
        raise ValueError(f"module {module} cannot be imported: {error_text(error)}") from error


def error_text(error: BaseException) -> str:
    """An exception in one line: type and message."""
    lines = str(error).strip().splitlines()
    return type(error).__name__ + (f": {lines[0][:300]}" if lines else "")


def is_own_error(error: BaseException) -> bool:
    """Whether an exception is of a kind that this package defines: its text is for users."""
    return type(error).__module__.startswith(_ROOT)


def error_location(error: BaseException) -> str:
    """Where an exception was raised, as file:line; empty if unknown."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


def foreign_traceback(error: BaseException) -> str:
    """An exception with its traceback, from the first line on that is neither ours nor torch's.

    Who wrote a trainer or a network looks for the line there; what called it is no help.
    """
    told = traceback.TracebackException.from_exception(error)
    # By modules: whoever works in a checkout of the package has files of their own in its folder.
    for place, (frame, _) in enumerate(traceback.walk_tb(error.__traceback__)):
        if not f"{frame.f_globals.get('__name__')}.".startswith((_ROOT, "torch.")):
            told.stack = traceback.StackSummary.from_list([*told.stack][place:])
            break
    return "".join(told.format()).rstrip()
