# pyright: strict
"""The command `german-whist`, which imports the module of a sub-command and runs it.

A sub-command is a module of `german_whist.commands` with `add_arguments` and `run`. Entry points of
the group `german_whist.commands` bring more: each names a package that has a module a command,
`GROUPS` as below, and `PRESETS` if there are any: for an argument, the folder with its presets, for
completion. They are read only for what is no command of the core, so that those start fast.
Errors end here, in a sentence; `--debug` shows the traceback.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import os
import shlex
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from . import __version__
from .common.console import DEBUG, lasting_streams, show_traceback
from .common.markup import printable
from .common.signals import END_SIGNALS, FULL_DISK, SignalGuard
from .common.suggestions import suggest
from .common.trust import restricted_to

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS = {
    "play": {
        "rules": "list the rule sets, or explain one",
    },
    "learn": {
        "train": "train an agent by self-play",
        "sweep": "search for hyperparameters",
        "compare": "compare runs: settings, learning curves, strength",
        "export": "write a checkpoint as an ONNX file or a shareable folder",
        "dataset": "let agents play hands and store them as training data",
    },
    "measure": {
        "agents": "list the agents and their parameters",
        "evaluate": "measure an agent against others",
        "ladder": "rate agents in a round-robin tournament",
        "benchmark": "compare algorithms on several rule sets and seeds",
    },
    "set up": {
        "compile": "compile everything now, so that nothing compiles later",
        "completion": "print completion for bash, zsh or fish",
    },
    "research": {
        "endgame": "solve an endgame with both hands known",
        "tablebase": "build, verify or describe the endgame tablebase",
        "solve": "compute an equilibrium of a small deck",
        "exploitability": "compute an agent's exact exploitability on a small deck",
    },
}
"""Commands of the core and their descriptions, in the groups of `--help`."""
COMMANDS = {name: about for group in GROUPS.values() for name, about in group.items()}
ENTRY_POINTS = "german_whist.commands"
_DEBUG_OPTION = "--debug"
_FAILURE, _USAGE_ERROR = 1, 2
_MAX_DIGITS = 40


class _Parser(argparse.ArgumentParser):
    """Parser whose errors are `ValueError`s of one sentence, as all others."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**options)
        self.subparsers: Any = None
        self.register("type", int, _whole_number)
        self.register("type", float, _number)
        self.register("type", "natural", partial(_at_least, 0))
        self.register("type", "positive", partial(_at_least, 1))
        self.add_argument(_DEBUG_OPTION, action="store_true", help="show the traceback of an error")

    def error(self, message: str) -> NoReturn:
        raise ValueError(message.removeprefix("argument "))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            near = suggest(value, map(str, action.choices))
            raise argparse.ArgumentError(action, f"{value!r} is not known{near}")

    def add_subparsers(self, **options: Any) -> Any:
        self.subparsers = super().add_subparsers(**options)
        return self.subparsers

    def knows(self, word: str) -> bool:
        return any(option.startswith(word.partition("=")[0]) for option in self.options)

    @property
    def options(self) -> list[str]:
        options = list(self._option_string_actions)
        for parser in self.subparsers.choices.values() if self.subparsers else ():
            options += parser.options
        return options


def _whole_number(text: str) -> int:
    if len(text) <= _MAX_DIGITS:
        with suppress(ValueError):
            return int(text)
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    raise argparse.ArgumentTypeError(
        f"{text[:_MAX_DIGITS] + '...'!r} is not a whole number of at most {_MAX_DIGITS} digits"
    )


def _at_least(minimum: int, text: str) -> int:
    if (number := _whole_number(text)) < minimum:
        raise argparse.ArgumentTypeError(f"{number} is too small: give at least {minimum}")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, such as 0.01") from None


def added_packages() -> list[ModuleType]:
    """The packages that bring commands by entry points."""
    from .common.plugins import installed  # the commands of the core do without

    return [_imported(point) for point in installed(ENTRY_POINTS)]


def _imported(point: EntryPoint) -> ModuleType:
    try:
        return importlib.import_module(point.value)
    except Exception as error:
        raise ValueError(
            f"the commands of {point.name!r} cannot be imported from {point.value} "
            f"({type(error).__name__}: {error}): install the package that brings them again, or "
            "remove it"
        ) from error


def all_groups() -> dict[str, dict[str, str]]:
    """All commands and their descriptions by group, those of entry points included."""
    groups = dict(GROUPS)
    for package in added_packages():
        for group, commands in package.GROUPS.items():
            groups[group] = {**groups.get(group, {}), **commands}
    return groups


def all_commands() -> dict[str, str]:
    """All commands and their descriptions, those of entry points included."""
    return {name: about for group in all_groups().values() for name, about in group.items()}


def _package_of(command: str) -> str:
    if command in COMMANDS:
        return f"{__package__}.commands"
    return next(
        package.__name__
        for package in added_packages()
        if any(command in commands for commands in package.GROUPS.values())
    )


def _overview() -> argparse.ArgumentParser:
    groups = all_groups()
    width = max(len(name) for commands in groups.values() for name in commands) + 2
    lines: list[str] = []
    for group, commands in groups.items():
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
    if words and words[0] in COMMANDS:
        return words[0]
    name: str | None = _overview().parse_args(words[:1]).command
    commands = all_commands()
    if name is None:
        raise ValueError(f"name a command: {', '.join(commands)}")
    if name not in commands:
        raise ValueError(f"{name!r} is not a command{suggest(name, commands)}")
    return name


def _parsed(parser: _Parser, words: list[str], module: ModuleType) -> argparse.Namespace:
    """Parse words, with options anywhere between the arguments unless there are sub-parsers.

    `parse_known_intermixed_args` reads a % in a metavar as a format, so none may have one.
    """
    if {"-h", "--help"}.intersection(words):
        return parser.parse_args(words)
    try:
        arguments, unknown = parser.parse_known_intermixed_args(words)
    except TypeError:
        arguments, unknown = parser.parse_known_args(words)
    except ValueError:
        # An argument that is missing is often there, but misspelt.
        for word in words:
            if word.startswith("--") and not parser.knows(word):
                raise ValueError(_unknown_word(word, words, parser, module)) from None
        raise
    if unknown:
        raise ValueError(_unknown_word(unknown[0], words, parser, module))
    return arguments


def _unknown_word(word: str, words: list[str], parser: _Parser, module: ModuleType) -> str:
    if not word.startswith("-"):
        return f"{word!r} is a word too many: {parser.prog} --help tells what it takes"
    name, mark, value = word.partition("=")
    if not mark and word in words[:-1]:
        value = words[words.index(word) + 1]
    misplaced = getattr(module, "misplaced", None)
    if misplaced is not None and (message := misplaced(name, value)):
        return message
    near = suggest(name, parser.options, listed=False)
    return f"there is no option {name}" + (near or f": {parser.prog} --help lists them")


def _module_of(name: str) -> ModuleType:
    return importlib.import_module(f"{_package_of(name)}.{name.replace('-', '_')}")


def parser_of(name: str) -> tuple[ModuleType, _Parser]:
    module = _module_of(name)
    parser = _Parser(prog=f"german-whist {name}", description=module.__doc__)
    module.add_arguments(parser)
    return module, parser


def _whole_parser() -> argparse.ArgumentParser:
    """The parser of all commands, which only shells need."""
    parser = _Parser(prog="german-whist")
    commands = parser.add_subparsers()
    for name, about in all_commands().items():
        _module_of(name).add_arguments(commands.add_parser(name, help=about))
    return parser


def parsed(name: str, words: list[str]) -> tuple[ModuleType, argparse.Namespace]:
    """The module of a sub-command and its arguments, with the command as `typed`."""
    module, parser = parser_of(name)
    arguments = _parsed(parser, words, module)
    arguments.typed = shlex.join(["german-whist", name, *words])
    arguments.whole_parser, arguments.added_packages = _whole_parser, added_packages
    return module, arguments


def _run(words: list[str], signals: SignalGuard) -> int:
    """Run a command and print its error as a sentence; returns the exit status.

    `signals` has the last one received: numba's compiler replaces a KeyboardInterrupt raised in it
    by an error of its own.
    """
    title = "german-whist"
    try:
        name = _command_of(words)
        title = f"german-whist {name}"
        module, arguments = parsed(name, words[1:])
        return module.run(arguments) or 0
    except KeyboardInterrupt:
        show_traceback()
        print("stopped", file=sys.stderr)
        return 128 + (signals.received or signal.SIGINT)
    except Exception as error:
        told = isinstance(error, (ValueError, OSError, MemoryError))
        show_traceback(is_fault=not (told or signals.received))
        if signals.received:
            print(printable(f"stopped ({error})"), file=sys.stderr)
            return 128 + signals.received
        print(printable(f"{title}: {_sentence(error)}"), file=sys.stderr)
        return _status_of(error)


def _status_of(error: Exception) -> int:
    if not isinstance(error, (ValueError, OSError)):
        return _FAILURE
    from .common.files import is_full_disk  # not needed by --help

    return FULL_DISK if is_full_disk(error) else _USAGE_ERROR


def _sentence(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "the memory of this machine is not enough for that"
    if isinstance(error, OSError) and str(error).startswith("[Errno"):
        from .common.files import remedy_for  # not needed by --help

        message = ": ".join(str(part) for part in (error.filename, error.strerror) if part)
        return "; ".join(filter(None, [message, remedy_for(error)]))
    if isinstance(error, (ValueError, OSError)):
        return str(error)
    message = f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"{message}; this is a fault of the program, or of your own code that it runs"


@contextmanager
def _debug_variable(on: bool) -> Generator[None]:
    before = os.environ.get(DEBUG, "")
    os.environ[DEBUG] = "1" if on else before
    try:
        yield
    finally:
        os.environ[DEBUG] = before


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one sub-command; returns the exit status."""
    # The end of Python goes through all objects several times: numba's take it most of a second.
    atexit.register(gc.freeze)
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    words = [word for word in arguments if word != _DEBUG_OPTION]
    # A program that calls this may handle Ctrl-C by itself.
    handled = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    signals = SignalGuard(set(END_SIGNALS) - ({signal.SIGINT} if handled else set()))
    with (
        _debug_variable(len(words) < len(arguments)),
        restricted_to(arguments),
        lasting_streams() as write_error,
        signals,
        signals.immediate(),
    ):
        try:
            status = _run(words, signals)
        except SystemExit as ended:  # after help and version
            status = ended.code if isinstance(ended.code, int) else 0
        if error := write_error():
            print(
                f"german-whist: the output could not be written ({error.strerror}); "
                "everything else was done",
                file=sys.stderr,
            )
            status = status or _FAILURE
        return status


if __name__ == "__main__":
    sys.exit(main())
