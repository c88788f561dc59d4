"""Tablebase files: damage is named and never believed, builds go on, processes share."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from german_whist.common.jit.compiler import machine_code_folder
from german_whist.engine.endgame import TablebaseError, load_tablebase, new_scratch, solve, store
from german_whist.engine.endgame import build as build_module
from german_whist.engine.endgame import load as opening_module
from german_whist.engine.endgame.load import available_tablebase, tablebase_of
from german_whist.engine.endgame.store import LayerFile, TablebaseKind, layer_files

SMALL = """
import os, sys
from german_whist.engine.endgame import store
from german_whist.engine.endgame.build import build
store.BASE_CARDS = 3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Empty cache folder in which layers above three have files of their own."""
    monkeypatch.setenv("GERMAN_WHIST_CACHE", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(machine_code_folder().parent))
    monkeypatch.setattr(store, "BASE_CARDS", 3)
    monkeypatch.setattr(opening_module, "_loaded", {})
    opening_module._available.cache_clear()
    yield tmp_path / "endings"
    opening_module._available.cache_clear()


@pytest.fixture
def base(folder):
    build_module.build(TablebaseKind(), 3)
    return LayerFile(TablebaseKind(), 0, 3).path


def spoil(path, at, change=1):
    data = bytearray(path.read_bytes())
    data[at] ^= change
    path.write_bytes(data)


def layer_sums(part):
    """The sums of the leaders' tricks in the layers of a file."""
    layers = part.layers(part.read())
    return [int((layer & 15).sum(dtype=int) + (layer >> 4).sum(dtype=int)) for _, layer in layers]


def test_files_hold_the_layers_and_are_read_only(folder):
    files = build_module.build(TablebaseKind(), 5, threads=2)
    parts = layer_files(TablebaseKind(), 5)
    names = [f"trumps-high-{cards}.endings" for cards in ("00-03", "04", "05")]
    assert [part.path.name for part in parts] == names
    assert [layer_sums(part) for part in parts] == [[0, 5, 74, 749], [6055], [43945]]
    assert sorted(p.name for p in folder.iterdir() if p.suffix != ".lock") == names
    with pytest.raises(ValueError, match="read-only"):
        files[0][0] = 1


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda path: spoil(path, -1), "its checksum is not that of trumps-high, layers 0 to 3"),
        (lambda path: spoil(path, -5), "its checksum"),
        (lambda path: spoil(path, 0), "its checksum"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "bytes instead of"),
        (lambda path: path.write_bytes(b""), "0 bytes instead of"),
        (lambda path: path.write_bytes(b"something else" * 1000), "14,000 bytes instead of"),
    ],
)
def test_a_spoilt_file_is_named_and_only_replaced_when_asked(base, harm, words, whist):
    whole = base.read_bytes()
    harm(base)
    for act in (
        LayerFile(TablebaseKind(), 0, 3).read,
        lambda: build_module.build(TablebaseKind(), 3),
    ):
        with pytest.raises(TablebaseError, match=words) as caught:
            act()
        assert str(base) in str(caught.value)
        assert "--rebuild" in str(caught.value)
    assert str(base) in whist("tablebase", "verify", "--cards", 3, status=2).err
    whist("tablebase", "build", "--cards", 3, "--rebuild")
    assert base.read_bytes() == whole


def test_damaged_default_file_is_rebuilt_with_a_note(base, monkeypatch, capsys):
    monkeypatch.setattr(opening_module, "DEFAULT_CARDS", 3)
    whole = base.read_bytes()
    spoil(base, 5, 16)
    load_tablebase()
    assert base.read_bytes() == whole
    note = capsys.readouterr().err
    assert f"{base} cannot be used: its checksum is not that of trumps-high, layers 0 to 3" in note
    assert "it is damaged; it is written anew" in note


def test_damaged_shipped_file_is_replaced_once_with_a_note(base, monkeypatch, capsys):
    whole = base.read_bytes()
    base.unlink()
    part = LayerFile(TablebaseKind(), 0, 3)
    shipped = base.parent / "shipped" / base.name
    shipped.parent.mkdir()
    shipped.write_bytes(whole[:-1])
    monkeypatch.setattr(opening_module, "_PACKAGE", shipped.parent)
    opening_module._base_layers(part)
    assert base.read_bytes() == whole
    note = capsys.readouterr().err
    assert f"{shipped} cannot be used: it has {len(whole) - 1:,} bytes instead of" in note
    assert f"{base} serves instead from now on; reinstall the package to mend it" in note
    monkeypatch.setattr(opening_module, "build", lambda *rest, **how: pytest.fail("built again"))
    opening_module._base_layers(part)
    assert capsys.readouterr().err == ""


def test_another_kind_or_format_is_not_read(base, monkeypatch):
    low = LayerFile(TablebaseKind(low=True), 0, 3)
    low.path.write_bytes(base.read_bytes())
    with pytest.raises(TablebaseError, match="is not that of trumps-low, layers 0 to 3"):
        low.read()
    monkeypatch.setattr(store, "FORMAT", 3)
    with pytest.raises(TablebaseError, match="layers 0 to 3 in format 3"):
        LayerFile(TablebaseKind(), 0, 3).read()


def test_a_killed_build_goes_on_where_it_stopped(folder):
    script = SMALL + (
        "import german_whist.engine.endgame.build as build_module\n"
        "original = build_module.fill_layer\n"
        "def fill_layer(kind, n, *rest, **how):\n"
        "    if n == 5: os._exit(9)\n"
        "    return original(kind, n, *rest, **how)\n"
        "build_module.fill_layer = fill_layer\n"
        "build(store.TablebaseKind(), 6)\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 9
    times = {path: path.stat().st_mtime_ns for path in folder.glob("*.endings")}
    assert len(times) == 2
    lines = []
    build_module.build(TablebaseKind(), 6, report=lines.append)
    parts = layer_files(TablebaseKind(), 6)
    assert [layer_sums(part)[-1] for part in parts] == [749, 6055, 43945, 291490]
    assert {path: path.stat().st_mtime_ns for path in times} == times
    found = [line.split(": ")[1].split(",")[0] for line in lines]
    assert found == 2 * ["there and sound"] + 2 * ["written"]


def test_two_processes_that_start_at_once_do_not_spoil_it(folder):
    script = SMALL + "build(store.TablebaseKind(), 6, report=print)\n"
    command = [sys.executable, "-c", script]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [worker.communicate(timeout=120)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert sum(output.count("written") for output in outputs) == 4
    assert sum(output.count("there and sound") for output in outputs) == 4
    sums = [layer_sums(part)[-1] for part in layer_files(TablebaseKind(), 6)]
    assert sums == [749, 6055, 43945, 291490]


def test_without_the_compiler_another_process_builds_them(folder, monkeypatch):
    run = subprocess.run
    few = f"from {opening_module.__name__} import __dict__ as module; module['DEFAULT_CARDS'] = 4;"

    def run_with_few_cards(command, **how):
        return run([*command[:2], few + command[2]], timeout=60, **how)

    monkeypatch.setattr(subprocess, "run", run_with_few_cards)
    monkeypatch.setattr(opening_module, "COMPILED", False)
    monkeypatch.setattr(opening_module, "DEFAULT_CARDS", 4)
    monkeypatch.setattr(store, "BASE_CARDS", 10)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.setattr(build_module, "fill_layer", lambda *rest, **how: pytest.fail("built here"))
    assert load_tablebase().cards == 4
    assert [path.name for path in folder.glob("*.endings")] == ["trumps-high-00-04.endings"]


def test_without_room_the_endings_are_kept_in_memory(folder, monkeypatch, capsys):
    room = SimpleNamespace(free=100)
    monkeypatch.setattr(build_module.shutil, "disk_usage", lambda path: room)
    monkeypatch.setattr(opening_module, "DEFAULT_CARDS", 3)
    with monkeypatch.context() as patch:
        patch.setattr(build_module, "compute", lambda *rest: pytest.fail("it began"))
        with pytest.raises(OSError, match="MB free, and the endings to build take"):
            build_module.build(TablebaseKind(), 6)
    tablebase = load_tablebase()
    assert tablebase.cards == 3
    assert "for this process only" in capsys.readouterr().err
    assert solve(tablebase, new_scratch(4), np.uint64(0b1001), np.uint64(0b0110), 0) == 1


def test_load_tablebase_skips_layers_that_cannot_be_mapped(folder, monkeypatch, capsys):
    monkeypatch.setattr(opening_module, "DEFAULT_CARDS", 3)
    build_module.build(TablebaseKind(), 5)

    read = LayerFile.read

    def full(part, *folder):
        if part.first == 5:
            raise OSError(12, "Cannot allocate memory")
        return read(part, *folder)

    monkeypatch.setattr(LayerFile, "read", full)
    assert load_tablebase().cards == 4
    assert "cannot be mapped" in capsys.readouterr().err
    monkeypatch.setattr(opening_module, "_loaded", {})
    monkeypatch.setattr(LayerFile, "read", read)
    assert load_tablebase().cards == 5


def test_shipped_layers_are_those_that_the_generator_writes(folder, monkeypatch):
    monkeypatch.setattr(store, "BASE_CARDS", 10)
    assert available_tablebase(TablebaseKind()).cards == opening_module.FIRST_CARDS
    assert not folder.exists()
    build_module.build(TablebaseKind(), opening_module.FIRST_CARDS)
    part = LayerFile(TablebaseKind(), 0, opening_module.FIRST_CARDS)
    assert (opening_module._PACKAGE / part.path.name).read_bytes() == part.path.read_bytes()


def test_agents_have_first_layers_until_all_are_there(folder, monkeypatch):
    monkeypatch.setattr(store, "BASE_CARDS", 10)
    monkeypatch.setattr(opening_module, "DEFAULT_CARDS", 5)
    monkeypatch.setattr(opening_module, "FIRST_CARDS", 3)
    assert available_tablebase(TablebaseKind()).cards == 3
    assert {path.name for path in folder.glob("*.endings")} == {"trumps-high-00-03.endings"}
    complete = load_tablebase()
    assert complete.cards == 5
    assert available_tablebase(TablebaseKind()) is complete
    # Another process finds the file.
    opening_module._loaded.clear()
    opening_module._available.cache_clear()
    assert available_tablebase(TablebaseKind()).cards == 5


def test_the_command_builds_verifies_and_describes(monkeypatch, whist):
    monkeypatch.setattr(store, "BASE_CARDS", 10)
    assert "nothing yet" in whist("tablebase", "info").out
    built = ""
    for options in ([], ["--no-trumps", "--low"]):
        words = "--cards", 5, *options
        built += whist("tablebase", "build", "--threads", 1, *words).out
        built += whist("tablebase", "verify", "--samples", 20, *words).out
    assert "43,945" in built
    assert built.count("no faults") == 2
    told = whist("tablebase", "info").out
    assert "notrumps-low-00-05.endings: notrumps-low, layers 0 to 5" in told
    assert "trumps-high-00-10.endings is not there" in whist("tablebase", "verify", status=2).err
    assert "cards is 14" in whist("tablebase", "build", "--cards", 14, status=2).err


def test_verify_finds_a_wrong_entry_behind_a_right_checksum(base, whist):
    part = LayerFile(TablebaseKind(), 0, 3)
    data = part.read().copy()
    data[-40] ^= 1
    part.write(data)
    told = whist("tablebase", "verify", "--cards", 3, "--samples", 1, status=1).out
    assert "749 is right" in told


def test_layers_above_the_base_are_read_too(folder):
    tablebase = tablebase_of(TablebaseKind(), 3, build_module.build(TablebaseKind(), 3))
    deep = tablebase._replace(cards=11, eleven=np.zeros(120_000_000, np.uint8))
    deep.eleven.flags.writeable = False
    hand, other_hand = np.uint64(0b1010101010101010101010), np.uint64(0b0101010101010101010101)
    assert solve(deep, new_scratch(4), hand, other_hand, 0) == 0
    assert solve(tablebase, new_scratch(4), hand, other_hand, 0) == 5
