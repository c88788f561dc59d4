# pyright: strict
"""The file room: cache and data folders, atomic writing, and YAML."""

from __future__ import annotations

import getpass
import os
import secrets
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import platformdirs
import yaml

_APPLICATION = "german-whist"


def cache_folder() -> Path:
    """Where compiled code and tablebases are kept: `GERMAN_WHIST_CACHE` or the user's cache."""
    wanted = os.environ.get("GERMAN_WHIST_CACHE")
    folder = Path(wanted) if wanted else Path(platformdirs.user_cache_dir(_APPLICATION))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    if wanted:
        raise OSError(
            f"GERMAN_WHIST_CACHE is {wanted!r}, which can not be written; name another folder"
        )
    fallback = Path(tempfile.gettempdir()) / f"{_APPLICATION}-{getpass.getuser()}"
    fallback.mkdir(parents=True, exist_ok=True)
    return fallback


@contextmanager
def written_whole(path: Path, mode: str = "wb") -> Generator[IO[Any], None, None]:
    """Write to a temporary name beside `path` and rename at the end: never half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    # Not by `tempfile`, whose files nobody else may read: the usual permissions are wanted.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(descriptor, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _kind(content: object) -> str:
    if content is None:
        return "nothing"
    return "a list" if isinstance(content, list) else f"only {content!r}"


class _OnceLoader(yaml.SafeLoader):
    """YAML as `safe_load` reads it, but no name may stand twice in a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in cast(list[tuple[yaml.ScalarNode, yaml.Node]], node.value)]
        for name in names:
            if names.count(name) > 1:
                raise yaml.YAMLError(f"{name!r} stands there twice")
        return super().construct_mapping(node, deep)


def read_yaml_mapping(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; anything else is refused with the file's name."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _OnceLoader)
    except OSError as error:
        raise ValueError(f"{path}: can not be read ({error.strerror or error})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = " ".join(str(error).split())
        raise ValueError(f"{path}: is not valid YAML: {where}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected lines of 'name: value', found {_kind(content)}")
    mapping = cast("dict[Any, Any]", content)
    if not all(isinstance(key, str) for key in mapping):
        raise ValueError(f"{path}: every name before a colon has to be a word")
    return mapping
