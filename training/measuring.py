"""How strong a checkpoint is: matches against yardsticks and against its own past."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ..agents.base import CannotPlay
from ..agents.checkpoint import checkpoints_in, read_card, read_checkpoint
from ..agents.network import NetworkAgent
from ..agents.registry import make_agent
from ..engine.processes import start_python
from ..engine.streams import secret_of_seed
from .arena import evaluate
from .checkpoint import Measured
from .settings import Settings

# Deals of measurements have a seed of their own, far from those that people give to trainings.
# Their key follows from it, so that a resumed run measures as one that was not stopped.
MEASURING_SEED = 0x6D656173757265
ITSELF = "itself"


def evaluation_seed(seed: int) -> int:
    """Seed of the deals on which a player that was trained with `seed` is evaluated.

    A training plays the deals of its own seed, from number 0 on, and so does an evaluation.
    """
    return MEASURING_SEED + 1 + seed


def check_yardsticks(settings: Settings) -> None:
    """Refuse names of yardsticks that are no players; some may be unable to play these rules."""
    for name in dict.fromkeys((*settings.yardsticks, *settings.final_yardsticks)):
        for options in settings.all_options:
            try:
                make_agent(name, options.rules)
            except CannotPlay:
                continue
            except ValueError as error:
                raise ValueError(f"yardsticks: {error}") from None


class Found(Struct):
    """What a checkpoint was measured at, and who could not be played."""

    measured: list[Measured]
    texts: list[str]


def measure(
    path: Path, yardsticks: Iterable[str], hands: int, *, seed: int = MEASURING_SEED,
    with_past: bool = True,
) -> Found:  # fmt: skip
    """Let a checkpoint play the yardsticks and its own past by each of its rule sets.

    It is on the same deals each time, those of the seed.
    """
    checkpoint, past = read_checkpoint(path), past_of(path) if with_past else None
    found = Found([], [])
    for rules in checkpoint.rules:
        player = NetworkAgent(rules, checkpoint)
        opponents: list[tuple[str, Any]] = [(name, name) for name in dict.fromkeys(yardsticks)]
        if past is not None:
            name = f"{ITSELF}@{int(past.stem):,}"
            opponents.append((name, NetworkAgent(rules, read_checkpoint(past))))
        title = rules.name if len(checkpoint.rules) > 1 else ""
        _measure(found, int(path.stem), player, opponents, hands, title, seed)
    return found


def _measure(
    found: Found, decisions: int, player: NetworkAgent, opponents: list[tuple[str, Any]],
    hands: int, title: str, seed: int,
) -> None:  # fmt: skip
    rules, key = player.rules, secret_of_seed(seed, "measuring").hex()
    for name, opponent in opponents:
        try:
            result = evaluate(player, opponent, rules, hands=hands, seed=seed, key=key)
        except CannotPlay as error:
            found.texts.append(str(error))
            continue
        pairing = result.pairings[0]
        found.measured.append(
            Measured(
                decisions=decisions,
                opponent=name,
                win_rate=pairing.win_rate.value,
                half_width=pairing.win_rate.half_width,
                margin=pairing.margin.value,
                hands=pairing.hands,
                rules=title,
            )
        )


def past_of(path: Path) -> Path | None:
    """The checkpoint beside one that had trained about half as long."""
    trained = int(path.stem)
    earlier = [each for each in checkpoints_in(path.parent) if int(each.stem) < trained]
    return min(earlier, key=lambda each: abs(int(each.stem) - trained / 2), default=None)


def curve_of(title: str) -> str:
    """Which curve a measurement belongs to by its title: all against one's own past are one."""
    if not title.startswith(f"{ITSELF}@"):
        return title
    _, mark, rules = title.partition(" ")
    return f"{ITSELF}{mark}{rules}"


def strength_table(path: Path) -> str:
    """What a checkpoint was measured at, as lines of text."""
    measured = read_card(path).measured
    width = max([16, *(len(each.title) + 2 for each in measured)])
    lines = [f"{'against':<{width}}{'wins':>16}{'margin':>9}{'hands':>9}"]
    for each in measured:
        rate = f"{100 * each.win_rate:.1f} ± {100 * each.half_width:.1f} %"
        lines.append(f"{each.title:<{width}}{rate:>16}{each.margin:>+9.2f}{each.hands:>9,}")
    return "\n".join(lines)


# -- beside the training


class Measuring:
    """Measurements in a process beside the training, one at a time, in the order they came.

    A process of its own for each, and not a worker that is spawned: no script has to guard itself.
    """

    def __init__(self) -> None:
        self._asked: deque[tuple[Path, tuple[str, ...], int]] = deque()
        self._process: subprocess.Popen[str] | None = None

    @property
    def waiting(self) -> list[int]:
        """What is still to be measured, by its decisions."""
        return [int(path.stem) for path, _, _ in self._asked]

    def ask(self, path: Path, yardsticks: Iterable[str], hands: int) -> None:
        """Measure a checkpoint, when all before it are."""
        self._asked.append((path, tuple(yardsticks), hands))
        self._begin()

    def _begin(self) -> None:
        if self._process is None and self._asked:
            path, yardsticks, hands = self._asked[0]
            words = [str(path), str(hands), *yardsticks]
            # Ctrl-C is for the training, which ends this.
            self._process = start_python(
                ["-m", __name__, *words],
                {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
                errors=subprocess.DEVNULL,
            )

    def finished(self, wait: bool = False) -> Iterator[tuple[Path, Found]]:
        """What is measured by now; with `wait` all that was asked for."""
        while self._process is not None and (wait or self._process.poll() is not None):
            told, _ = self._process.communicate()
            code, self._process = self._process.returncode, None
            path, yardsticks, hands = self._asked[0]
            # One that died, for want of memory perhaps, is measured here.
            found = (
                msgspec.json.decode(told.splitlines()[-1], type=Found)  # players may print
                if code == 0
                else measure(path, yardsticks, hands)
            )
            self._asked.popleft()
            self._begin()
            yield path, found

    def close(self) -> None:
        """Leave what is still to be measured."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def main(words: Sequence[str]) -> int:
    """`PATH HANDS YARDSTICK ...`: measure a checkpoint, and tell as JSON."""
    path, hands, *yardsticks = words
    found = measure(Path(path), yardsticks, int(hands))
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
