# pyright: strict, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportPrivateUsage=false
"""Print a script that completes commands, options and names in a shell.

  german-whist completion bash > ~/.local/share/bash-completion/completions/german-whist
  german-whist completion zsh > ~/.zfunc/_german-whist
  german-whist completion fish > ~/.config/fish/completions/german-whist.fish

Each line writes the script to the place where that shell looks for it. For zsh, put
`fpath=(~/.zfunc $fpath)` before `compinit` in ~/.zshrc. The script completes agents, rule sets,
presets, and the runs in the current folder. Write it again after you install a package that brings
more of them.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from ..common.settings import PresetFiles

SHELLS = "bash", "zsh", "fish"


class _Names(NamedTuple):
    """What an argument is completed with."""

    name: str
    words: list[str]
    has_runs: bool = False
    has_files: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="shell to complete for: bash, zsh or fish")


def run(arguments: argparse.Namespace) -> int:
    import shtab  # not needed by --help

    parser: argparse.ArgumentParser = arguments.whole_parser()
    _complete_names(parser, arguments.added_packages())
    print(shtab.complete(parser, arguments.shell))
    return 0


def _complete_names(parser: argparse.ArgumentParser, added_packages: list[ModuleType]) -> None:
    """Say for each argument what it is completed with, where shtab looks for it."""
    names = {each.name: _functions(each) for each in _all_names(added_packages)}
    for action in _arguments_of(parser):
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        if metavar == "RUN":
            complete: Any = names["runs"]
        elif (kind := _NAMES_OF.get(action.dest, action.dest)) in names:
            complete = names[kind]
        elif "FILE" in metavar or "." in metavar:
            complete = "file"
        elif "FOLDER" in metavar:
            complete = "directory"
        else:
            continue
        action.complete = complete  # type: ignore[attr-defined]


_NAMES_OF = {
    "agent": "agents",
    "agents": "agents",
    "against": "agents",
    "anchor": "agents",
    "benchmarks": "benchmarks",
    "checkpoint": "agents",
    "config": "ladders",
    "network": "agents",
    "opponent": "agents",
    "preset": "presets",
    "rules": "rules",
    "runs": "runs",
    "search": "agents",
}
"""The names that an argument takes, by its `dest`."""


def _all_names(added_packages: list[ModuleType]) -> Iterator[_Names]:
    from ..agents import agent_names
    from ..engine.rules import named_rules

    yield _Names("agents", [*agent_names()], has_runs=True)
    yield _Names("rules", [*named_rules()], has_files=True)
    yield _Names("runs", [], has_runs=True)
    for name, folder in (
        ("presets", "train"),
        ("benchmarks", "benchmark"),
        ("ladders", "arena"),
    ):
        yield _Names(name, PresetFiles(folder, name).names(), has_files=True)
    for package in added_packages:
        for argument, folder in getattr(package, "PRESETS", {}).items():
            yield _Names(argument, PresetFiles(folder, argument).names(), has_files=True)


def _arguments_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from _arguments_of(subparser)
        elif action.nargs != 0 and action.choices is None:
            yield action


def _functions(names: _Names) -> dict[str, Any]:
    """A function of each shell that lists these names, and the runs and files that are there."""
    # Of a function with `_files` in its name, the script for bash quotes what it inserts.
    function = f"_german_whist_{names.name}{'_files' if names.has_files else ''}"
    words = shlex.join(names.words)
    # By no `compgen -W`, which runs the commands in its words, as a folder's name may have them.
    listed = """[[ $name == "$1"* ]] && printf '%s\\n' "$name"\n"""
    bash = f"for name in {words}; do {listed}done\n"
    zsh = f"compadd -- {words}\n" if words else ""
    fish = f"printf '%s\\n' {words}\n" if words else ""
    if names.has_runs:
        bash += (
            'for run in runs/*/; do [ -d "$run" ] || continue\n'
            f'printf -v name %q "${{run%/}}"\n{listed}done\n'
        )
        zsh += "runs=(runs/*(N/)); compadd -a runs\n"
        fish += "for run in runs/*/; string trim --right --chars=/ $run; end\n"
    if names.has_files:
        bash += 'compgen -f -- "$1"\n'
        zsh += "_files\n"
        fish += "__fish_complete_path (commandline -ct)\n"
    return {
        "bash": function,
        "zsh": function,
        "fish": f"({function})",
        "preamble": {
            "bash": f"{function}() {{\nlocal name run\n{bash}}}",
            "zsh": f"{function}() {{\nlocal -a runs\n{zsh}}}",
            "fish": f"function {function}\n{fish}end",
        },
    }
