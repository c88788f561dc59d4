"""Journal of a run: every chunk that was played, in a file from which the run is resumed."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import numpy as np
from filelock import FileLock, Timeout

from ..common.files import CannotWrite
from ..common.typing import Array, JsonObject
from .chunk_player import Chunk, Task


class _Line(msgspec.Struct):
    task: Task
    chunk: Chunk


_LINES = msgspec.json.Decoder(_Line, dec_hook=lambda _, value: np.array(value))


class Journal:
    """A file of chunks, a line each, below a line that identifies the run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fault = ""
        """The first error of writing; nothing is written after it."""
        self._run: JsonObject | None = None
        self._chunks: dict[Task, Chunk] = {}
        # Held until the process ends, within which runs follow one another.
        self._lock = FileLock(path.with_name(f"{path.name}.lock"), is_singleton=True)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise ValueError(
                f"{path} is written by another process: wait for its end, or name another file"
            ) from None
        except OSError as error:
            raise CannotWrite.for_path(path, error) from error
        data = path.read_bytes() if path.exists() else b""
        # The process died while it wrote a line without an end.
        complete = data.rpartition(b"\n")[0]
        self._size = len(complete) + 1 if complete else 0
        try:
            first, *lines = complete.splitlines() or [data or b"null"]
            self._run = msgspec.json.decode(first, type=JsonObject | None)
            for line in map(_LINES.decode, lines):
                line.chunk.scores = line.chunk.scores.astype(np.float32)
                line.chunk.luck = line.chunk.luck.astype(np.float32)
                luck = (0,) if not line.chunk.luck.size else (line.task.pairs,)
                if (line.chunk.scores.shape, line.chunk.luck.shape) != ((line.task.pairs,), luck):
                    raise ValueError(f"{line.task} have scores of {line.chunk.scores.shape}")
                self._chunks[line.task] = line.chunk
        except (ValueError, TypeError) as error:  # also of bytes that are no text
            raise ValueError(
                f"{path} is no file that a run goes on from ({error}): name another"
            ) from None

    @property
    def key(self) -> str | None:
        return None if self._run is None else self._run.get("key")

    def begin(self, run: JsonObject) -> None:
        """Start or resume a run; a file of another run is refused."""
        run = msgspec.json.decode(msgspec.json.encode(run))
        stored = run if self._run is None else self._run
        for name, value in run.items():
            if stored.get(name) != value:
                raise ValueError(
                    f"{self.path} is of another run: {name} is {stored.get(name)!r} there and "
                    f"{value!r} here; name another file"
                )
        try:
            if not self._size:
                self.path.write_bytes(msgspec.json.encode(run) + b"\n")
            else:
                os.truncate(self.path, self._size)
        except OSError as error:
            raise CannotWrite.for_path(self.path, error) from error

    def pop(self, task: Task) -> Chunk | None:
        return self._chunks.pop(task, None)

    def add(self, task: Task, chunk: Chunk) -> None:
        """Append the result of a task. A full disk ends the file, not the run."""
        if self.fault:
            return
        line = msgspec.json.encode(_Line(task, chunk), enc_hook=Array.tolist)
        try:
            with self.path.open("ab") as file:
                file.write(line + b"\n")
        except OSError as error:
            self.fault = f"{error.strerror or error}"
