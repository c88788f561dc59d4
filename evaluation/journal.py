"""A file of the chunks that a run has played, from which the same run goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..common.files import CanNotWrite
from ..common.typing import Array
from .match import Chunk
from .workers import Task


class _Line(msgspec.Struct):
    task: Task
    chunk: Chunk


_LINES = msgspec.json.Decoder(_Line, dec_hook=lambda _, value: np.array(value))


class Journal:
    """Chunks in a file, a line each, below a line that says what run they are of."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fault = ""
        """What kept it from being written."""
        self._run: dict[str, Any] | None = None
        self._chunks: dict[Task, Chunk] = {}
        data = path.read_bytes() if path.exists() else b""
        # A line without an end was being written when its process died.
        whole = data.rpartition(b"\n")[0]
        self._size = len(whole) + 1
        try:
            first, *lines = whole.splitlines() or [data or b"null"]
            self._run = msgspec.json.decode(first, type=dict[str, Any] | None)
            for line in map(_LINES.decode, lines):
                line.chunk.scores = line.chunk.scores.astype(np.float32)
                self._chunks[line.task] = line.chunk
        except msgspec.MsgspecError as error:
            raise ValueError(
                f"{path} is no file that a run goes on from ({error}): name another"
            ) from None

    @property
    def key(self) -> str | None:
        """The key of its run; None where nothing is in it."""
        return None if self._run is None else self._run.get("key")

    def begin(self, run: dict[str, Any]) -> None:
        """Go on with a run, which has to be the one that it is of."""
        run = msgspec.json.decode(msgspec.json.encode(run))
        before = run if self._run is None else self._run
        for name, value in run.items():
            if (there := before.get(name)) != value:
                raise ValueError(
                    f"{self.path} is of another run: {name} is {there!r} there and {value!r} here; "
                    "name another file"
                )
        try:
            if self._run is None:
                self.path.write_bytes(msgspec.json.encode(run) + b"\n")
            else:
                os.truncate(self.path, self._size)
        except OSError as error:
            raise CanNotWrite.at(self.path, error) from error

    def take(self, task: Task) -> Chunk | None:
        """What a task came to, if it was played before."""
        return self._chunks.pop(task, None)

    def add(self, task: Task, chunk: Chunk) -> None:
        """Keep what a task came to. A full disk costs the file, and not the run."""
        if self.fault:
            return
        line = msgspec.json.encode(_Line(task, chunk), enc_hook=Array.tolist)
        try:
            with self.path.open("ab") as file:
                file.write(line + b"\n")
        except OSError as error:
            self.fault = f"{error.strerror or error}"
