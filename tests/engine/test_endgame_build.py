"""Disks that are full, read-only or not there: one sentence, no leavings, and play goes on."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from german_whist.common.files import CannotWrite, atomic_write, cache_folder, check_writable
from german_whist.common.jit.compiler import COMPILED, machine_code_folder
from german_whist.engine import play
from german_whist.engine.endgame import load as opening
from german_whist.engine.endgame.load import load_tablebase
from german_whist.engine.records import append_records
from support import random_hand

compiled_only = pytest.mark.skipif(not COMPILED, reason="the compiler is off")

# A small function of the package, compiled in a moment.
SMALL = """\
import numpy
from german_whist.engine.play import suit_of
print(suit_of(numpy.int64(14)))
"""


@contextmanager
def a_disk_of(size: int) -> Iterator[None]:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs to mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "size=64k") as folder:
        yield folder


def compiled_with(cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GERMAN_WHIST_CACHE": str(cache)}
    environment.pop("NUMBA_CACHE_DIR", None)
    return subprocess.run(
        [sys.executable, "-c", SMALL], env=environment, capture_output=True, text=True, check=True
    )


def write(path: Path, data: bytes = b"x") -> None:
    with atomic_write(path) as file:
        file.write(data)


def refused_words(path: Path) -> str:
    """Why a path is refused, alike before anything is done and when it is written."""
    words = set()
    for deed in (check_writable, write):
        with pytest.raises(CannotWrite) as caught:
            deed(path)
        words.add(str(caught.value))
    return words.pop() if len(words) == 1 else str(words)


def test_folders_and_files_in_each_others_place_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "a" / "b.json"
    assert refused_words(path) == (
        f"{path} cannot be written (Not a directory): a file stands where a folder is needed, "
        "so name a path elsewhere"
    )
    assert "it is a folder, so name a file in it" in refused_words(tmp_path)


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_file_that_can_not_grow_leaves_nothing(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    write(path, b"old")
    with a_disk_of(5), pytest.raises(CannotWrite) as caught:
        write(path, b"x" * size)
    assert str(caught.value).startswith(f"{path} cannot be written (File too large): allow")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_full_disk_asks_for_room(small_disk: Path) -> None:
    path = small_disk / "a.bin"
    with pytest.raises(CannotWrite) as caught:
        write(path, b"x" * 100_000)
    assert caught.value.errno == errno.ENOSPC
    assert str(caught.value) == (
        f"{path} cannot be written (No space left on device): make room on that disk, or name a "
        "path elsewhere"
    )
    assert os.listdir(small_disk) == []


def test_errors_about_other_files_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, atomic_write(tmp_path / "a"):
        (tmp_path / "b").read_text()
    assert caught.value.filename == str(tmp_path / "b")


def test_records_that_can_not_be_added_are_told_with_their_file(tmp_path: Path) -> None:
    records = [random_hand()]
    path = tmp_path / "hands.jsonl"
    with a_disk_of(5), pytest.raises(CannotWrite, match=r"hands\.jsonl cannot be written"):
        append_records(path, records)
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match="a file stands where a folder is needed"):
        append_records(tmp_path / "file" / "hands.jsonl", records)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_forbidden_path_asks_for_another(number: int, tmp_path: Path, monkeypatch: Any) -> None:
    def refuse(name: object, *_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), name)

    path = tmp_path / "a.json"
    monkeypatch.setattr(os, "open", refuse)
    assert refused_words(path) == (
        f"{path} cannot be written ({os.strerror(number)}): name a path that you may write"
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the small function in it, where numba was told to keep code elsewhere."""
    cache = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "InTreeCacheLocator")
        done = compiled_with(cache)
    assert (done.stdout, done.stderr) == ("1\n", "")
    # Not there, where old code would be found.
    assert [*(cache / "compiled").glob("engine-*/play.suit_of-*.code")]
    assert not [*Path(play.__file__).parent.rglob("*.nb[ci]")]
    return cache


@compiled_only
def test_functions_are_compiled_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    run = compiled_with(tmp_path / "file" / "cache")
    assert run.stdout == "1\n"
    assert run.stderr.count("cannot be kept") == 1
    assert f"{tmp_path / 'file' / 'cache' / 'compiled'}" in run.stderr
    assert "(Not a directory): everything works" in run.stderr
    assert "Traceback" not in run.stderr


@compiled_only
def test_a_cache_on_a_full_disk_is_no_error(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(bytes(64 * 1024 - 8192))
    done = compiled_with(small_disk)
    assert done.stdout == "1\n"
    assert "(No space left on device): everything works" in done.stderr


@compiled_only
def test_a_cache_that_may_only_be_read_serves(kept: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=8m") as folder:
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        done = compiled_with(folder)
        assert (done.stdout, done.stderr) == ("1\n", "")


@compiled_only
def test_damaged_machine_code_is_compiled_anew_and_mended(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    (code,) = tmp_path.rglob("*.code")
    before = code.read_bytes()
    harmed = bytearray(before)
    # Where the instructions lie, which pickle and numba take as they are.
    start = max(before.find(b"\x7fELF"), 0) + 64
    for place in range(start, start + 20):
        harmed[place] ^= 0xFF
    code.write_bytes(harmed)
    assert compiled_with(tmp_path).stdout == "1\n"
    assert len(code.read_bytes()) == len(before)
    assert code.read_bytes() != harmed


def test_a_spare_cache_is_one_that_nobody_else_can_fill(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").touch()
    usual = tmp_path / "file" / "cache"
    monkeypatch.delenv("GERMAN_WHIST_CACHE", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda _: str(usual))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    spare = cache_folder()
    assert spare.parent == tmp_path
    assert spare.stat().st_mode & 0o777 == 0o700
    spare.chmod(0o777)
    assert cache_folder() == usual
    spare.rmdir()
    spare.symlink_to(tmp_path)
    assert cache_folder() == usual


def test_endings_that_are_not_kept_serve_too(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(machine_code_folder().parent))
    monkeypatch.setenv("GERMAN_WHIST_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(opening, "_loaded", {})
    monkeypatch.setattr(opening, "DEFAULT_CARDS", 3)
    assert load_tablebase().cards == 3
    message = capsys.readouterr().err
    assert f"german-whist: {tmp_path / 'file' / 'endings'} cannot be written" in message
    assert "for this process only" in message
