# pyright: strict
"""The command `german-whist`: finds the sub-command and hands over to its module.

A sub-command is a module of `german_whist.commands` with `add_arguments` and
`run`. Only the one that is asked for is imported, so `--help` answers at once.
Whatever goes wrong ends here, in a sentence; `--debug` shows its traceback.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType, ModuleType
from typing import Any, NoReturn

from . import __version__
from .common.console import DEBUG, lasting_streams, show_traceback
from .common.suggestions import suggest

GROUPS = {
    "play": {
        "table": "open a table in the browser: play, watch, replay",
        "play": "play against any player, in the terminal",
        "replay": "show a hand from a file of records, and the value of its decisions",
        "puzzles": "make puzzles for the table",
        "rules": "list the rule sets, or explain one in words",
    },
    "learn": {
        "train": "train a player by self-play",
        "expert-iteration": "train policy, value and belief networks on searched hands",
        "sweep": "search for hyperparameters",
        "compare": "compare runs: settings, learning curves, strength",
        "export": "write a checkpoint as ONNX",
    },
    "measure": {
        "agents": "list the players by name",
        "evaluate": "evaluate a player against others",
        "ladder": "rate players by a round-robin tournament",
        "benchmark": "compare algorithms on several games and seeds",
        "analyse": "compute what each player's decisions cost, over a file of records",
    },
    "research": {
        "endgame": "solve an endgame with both hands known, card by card",
        "tablebase": "build, verify or describe the endgame tablebase",
        "solve": "compute an equilibrium of a small deck",
        "exploitability": "compute a player's exact exploitability on a small deck",
        "best-response": "lower bound on a player's exploitability, by search and training",
    },
}
"""The commands and a line on each, in the groups of `--help`."""
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}
_DEBUG_OPTION = "--debug"
_FAULT, _MISUSE = 1, 2
_MOST_DIGITS = 40


class _Parser(argparse.ArgumentParser):
    """What cannot be understood is told in one sentence, as every other error is."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**options)
        self.parts: Any = None
        self.register("type", int, _whole_number)
        self.register("type", float, _number)
        self.add_argument(
            _DEBUG_OPTION, action="store_true", help="show a traceback of what goes wrong"
        )

    def error(self, message: str) -> NoReturn:
        raise ValueError(message.removeprefix("argument "))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            near = suggest(value, map(str, action.choices))
            raise argparse.ArgumentError(action, f"{value!r} is not known{near}")

    def add_subparsers(self, **options: Any) -> Any:
        self.parts = super().add_subparsers(**options)
        return self.parts

    def knows(self, word: str) -> bool:
        """Whether a word is one of its options, or the beginning of one."""
        return any(each.startswith(word.partition("=")[0]) for each in self.options)

    @property
    def options(self) -> list[str]:
        """Every option, those of its parts included."""
        found = list(self._option_string_actions)
        for part in self.parts.choices.values() if self.parts else ():
            found += part.options
        return found


def _whole_number(text: str) -> int:
    if len(text) <= _MOST_DIGITS:
        with suppress(ValueError):
            return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    raise argparse.ArgumentTypeError(
        f"{text[:_MOST_DIGITS] + '...'!r} is not a whole number of at most {_MOST_DIGITS} digits"
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, such as 0.01") from None


def _overview() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS)) + 2
    lines: list[str] = []
    for group, commands in GROUPS.items():
        lines += ["", f"{group}:"]
        lines += [f"  {name:<{width}}{about}" for name, about in commands.items()]
    parser = _Parser(
        prog="german-whist",
        description="German Whist for reinforcement learning.",
        usage="german-whist [--version] COMMAND ...",
        epilog="\n".join([*lines[1:], "", "german-whist COMMAND --help describes its options."]),
    )
    parser.add_argument("--version", action="version", version=f"german-whist {__version__}")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="what to do")
    return parser


def _command_of(words: list[str]) -> str:
    name: str | None = _overview().parse_args(words[:1]).command
    if name is None:
        raise ValueError(f"name a command: {', '.join(COMMANDS)}")
    if name not in COMMANDS:
        raise ValueError(f"{name!r} is not a command{suggest(name, COMMANDS)}")
    return name


def _parsed(parser: _Parser, words: list[str], module: ModuleType) -> argparse.Namespace:
    """The arguments, with options anywhere between them, except in commands of commands.

    No metavar may hold a %: this way of parsing reads it as a format.
    """
    if {"-h", "--help"}.intersection(words):
        return parser.parse_args(words)
    try:
        found, left = parser.parse_known_intermixed_args(words)
    except TypeError:
        found, left = parser.parse_known_args(words)
    except ValueError:
        # What is missing is often there, and misspelt.
        for word in words:
            if word.startswith("--") and not parser.knows(word):
                raise ValueError(_too_much(word, words, parser, module)) from None
        raise
    if left:
        raise ValueError(_too_much(left[0], words, parser, module))
    return found


def _too_much(word: str, words: list[str], parser: _Parser, module: ModuleType) -> str:
    """Say of a word that is left over what may have been meant."""
    if not word.startswith("-"):
        return f"{word!r} is a word too many: {parser.prog} --help tells what it takes"
    name, mark, value = word.partition("=")
    if not mark and word in words[:-1]:
        value = words[words.index(word) + 1]
    misplaced = getattr(module, "misplaced", None)
    if misplaced is not None and (told := misplaced(name, value)):
        return told
    near = suggest(name, parser.options, listed=False)
    return f"there is no option {name}" + (near or f": {parser.prog} --help lists them")


def parser_of(name: str) -> tuple[ModuleType, _Parser]:
    """The module of a command, and what reads its words."""
    module = importlib.import_module(f".commands.{name.replace('-', '_')}", __package__)
    parser = _Parser(prog=f"german-whist {name}", description=module.__doc__)
    module.add_arguments(parser)
    return module, parser


def parsed(name: str, words: list[str]) -> tuple[ModuleType, argparse.Namespace]:
    """The module of a command and its arguments; nothing is run."""
    module, parser = parser_of(name)
    return module, _parsed(parser, words, module)


def _carried_out(words: list[str], heard: list[int]) -> int:
    """Find the command and run it; what goes wrong is told in a sentence.

    `heard` are the signals so far. A compiler that one of them met swallows what it raised, and
    fails with something else.
    """
    title = "german-whist"
    try:
        name = _command_of(words)
        title = f"german-whist {name}"
        module, chosen = parsed(name, words[1:])
        return module.run(chosen) or 0
    except KeyboardInterrupt:
        show_traceback()
        print("stopped", file=sys.stderr)
        return 128 + (heard[-1] if heard else signal.SIGINT)
    except Exception as error:
        show_traceback()
        if heard:
            print(f"stopped ({error})", file=sys.stderr)
            return 128 + heard[-1]
        print(f"{title}: {_sentence(error)}", file=sys.stderr)
        return _MISUSE if isinstance(error, (ValueError, OSError)) else _FAULT


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "the memory of this machine is not enough for that"
    if isinstance(error, OSError) and str(error).startswith("[Errno"):
        from .common.files import remedy_for  # loads what help does not need

        told = ": ".join(str(each) for each in (error.filename, error.strerror) if each)
        return "; ".join(filter(None, [told, remedy_for(error)]))
    if isinstance(error, (ValueError, OSError)):
        return str(error)
    told = f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"{told}; this is a fault of the program, and {_DEBUG_OPTION} shows where"


@contextmanager
def _ending_as_by_ctrl_c() -> Generator[list[int]]:
    """Let SIGTERM end a command as Ctrl-C does, with what there is; gives the signals heard."""
    heard: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return

    def hear(number: int, _: FrameType | None) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    before = {signal.SIGTERM: signal.getsignal(signal.SIGTERM)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        before[signal.SIGINT] = signal.default_int_handler
    for each in before:
        signal.signal(each, hear)
    try:
        yield heard
    finally:
        for each, former in before.items():
            signal.signal(each, former)


@contextmanager
def _environment(name: str, value: str | None) -> Generator[None]:
    """Set a variable for a while, for this process and those that it starts."""
    before = os.environ.get(name)
    if value is not None:
        os.environ[name] = value
    try:
        yield
    finally:
        if value is not None:
            os.environ.pop(name)
            if before is not None:
                os.environ[name] = before


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one sub-command; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    words = [word for word in given if word != _DEBUG_OPTION]
    debug = "1" if len(words) < len(given) else None
    with _environment(DEBUG, debug), lasting_streams() as fault, _ending_as_by_ctrl_c() as heard:
        try:
            status = _carried_out(words, heard)
        except SystemExit as done:  # after help and version
            status = done.code if isinstance(done.code, int) else 0
        if error := fault():
            print(f"german-whist: what was told could not be written ({error.strerror}); "
                  "everything else was done", file=sys.stderr)  # fmt: skip
            status = status or _FAULT
        return status


if __name__ == "__main__":
    sys.exit(main())
