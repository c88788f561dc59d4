"""Completion in the shells themselves: commands, options, agents, rule sets, presets, runs."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from german_whist.cli import all_commands, main

LINES = {
    "eval": "evaluate",
    "evaluate thresh": "threshold",
    "evaluate threshold --against count": "counting",
    "evaluate threshold --rules small-l": "small-last",
    "evaluate runs/q": "runs/quick-1",
    "train quic": "quick",
    "train --resume runs/q": "runs/quick-1",
    "compare runs/o": "runs/other",
    "ladder --conf": "--config",
    "ladder --config fam": "family",
    "tablebase bu": "build",
    "tablebase build --thr": "--threads",
}
"""What is typed after `german-whist`, and what its last word becomes."""

BASH = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_shtab_german_whist
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completion(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for run in ("quick-1", "other"):
        (tmp_path / "runs" / run).mkdir(parents=True)
    return tmp_path


def needs(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def output(words: list[str], folder: Path) -> list[str]:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_bash_completes_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs("bash")
    (folder / "script").write_text(completion("bash", capsys), encoding="utf-8")
    for line, expected in LINES.items():
        words = f"german-whist {line}"
        assert output(["bash", "-c", BASH.format(script="./script", words=words)], folder) == [
            expected
        ]
    first = BASH.format(script="./script", words="german-whist ''")
    assert {*output(["bash", "-c", first], folder)} == {*all_commands()}


def test_bash_quotes_folders_and_runs_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs("bash")
    script = completion("bash", capsys)
    (folder / "script").write_text(script, encoding="utf-8")
    names = ["$(touch broken)", "`touch broken`", "a b", '"', "*"]
    for name in names:
        (folder / "runs" / name).mkdir()
    for command in ("evaluate", "train --resume"):
        line = BASH.format(script="./script", words=f"german-whist {command} runs/")
        found = output(["bash", "-c", line], folder)
        assert {shlex.split(each)[0] for each in found} == {
            f"runs/{name}" for name in ("quick-1", "other", *names)
        }
    assert not (folder / "broken").exists()
    assert "_rules_COMPGEN=_german_whist_rules_files" in script


def test_fish_completes_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs("fish")
    (folder / "script").write_text(completion("fish", capsys), encoding="utf-8")
    for line, expected in LINES.items():
        code = f"source ./script; complete -C {shlex.quote(f'german-whist {line}')}"
        found = output(["fish", "--no-config", "-c", code], folder)
        assert [each.partition("\t")[0] for each in found] == [expected]


def test_zsh_completes_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs("zsh")
    (folder / "_german-whist").write_text(completion("zsh", capsys), encoding="utf-8")
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", HOME=str(folder))
        os.execvp("zsh", ["zsh", "-f", "-i"])
    try:
        setup = f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; PS1='RE''ADY> '\n"
        os.write(terminal, setup.encode())
        assert "READY> " in _read_until(terminal, "READY> ")
        for line, expected in LINES.items():
            completed = f"german-whist {' '.join([*line.split()[:-1], expected])} "
            os.write(terminal, f"german-whist {line}\t".encode())
            assert completed in _read_until(terminal, completed)
            os.write(terminal, b"\x15")  # clears the line
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def _read_until(terminal: int, text: str, seconds: float = 60) -> str:
    """What the terminal has shown, once it shows a text, or after some time."""
    shown, end = "", time.monotonic() + seconds
    while text not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            part = os.read(terminal, 1 << 16).decode(errors="replace")
            shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", part)
    return shown
