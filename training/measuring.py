"""How strong a checkpoint is: matches against yardsticks and against its own past."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..agents.base import CannotPlay
from ..agents.checkpoint import checkpoints_in, read_card, read_checkpoint
from ..agents.network import NetworkAgent
from ..agents.registry import make_agent
from ..engine.rules import Rules
from ..engine.streams import secret_of_seed
from .arena import evaluate
from .checkpoint import Measured
from .settings import Settings

# Deals of measurements have a seed of their own, far from those that people give to trainings.
# Their key follows from it, so that a resumed run measures as one that was not stopped.
MEASURING_SEED = 0x6D656173757265
MEASURING_KEY = secret_of_seed(MEASURING_SEED, "measuring").hex()
ITSELF = "itself"


def check_yardsticks(settings: Settings) -> None:
    """Refuse names of yardsticks that are no players; some may be unable to play these rules."""
    for name in dict.fromkeys((*settings.yardsticks, *settings.final_yardsticks)):
        try:
            make_agent(name, settings.options.rules)
        except CannotPlay:
            continue
        except ValueError as error:
            raise ValueError(f"yardsticks: {error}") from None


def measure(
    path: Path, rules: Rules, yardsticks: Iterable[str], hands: int, say: Callable[[str], None]
) -> list[Measured]:
    """Let a checkpoint play the yardsticks and its own past, on the same deals each time."""
    player = NetworkAgent(rules, read_checkpoint(path))
    opponents: list[tuple[str, Any]] = [(name, name) for name in dict.fromkeys(yardsticks)]
    past = past_of(path)
    if past is not None:
        name = f"{ITSELF}@{int(past.stem):,}"
        opponents.append((name, NetworkAgent(rules, read_checkpoint(past))))
    found = []
    for name, opponent in opponents:
        try:
            result = evaluate(
                player, opponent, rules, hands=hands, seed=MEASURING_SEED, key=MEASURING_KEY
            )
        except CannotPlay as error:
            say(str(error))
            continue
        pairing = result.pairings[0]
        found.append(
            Measured(
                decisions=int(path.stem),
                opponent=name,
                win_rate=pairing.win_rate.value,
                half_width=pairing.win_rate.half_width,
                margin=pairing.margin.value,
                hands=pairing.hands,
            )
        )
    return found


def past_of(path: Path) -> Path | None:
    """The checkpoint beside one that had trained about half as long."""
    trained = int(path.stem)
    earlier = [each for each in checkpoints_in(path.parent) if int(each.stem) < trained]
    return min(earlier, key=lambda each: abs(int(each.stem) - trained / 2), default=None)


def curve_of(opponent: str) -> str:
    """Which curve a measurement belongs to: all against one's own past are one."""
    return ITSELF if opponent.startswith(f"{ITSELF}@") else opponent


def strength_table(path: Path) -> str:
    """What a checkpoint was measured at, as lines of text."""
    measured = read_card(path).measured
    width = max([16, *(len(each.opponent) + 2 for each in measured)])
    lines = [f"{'against':<{width}}{'wins':>16}{'margin':>9}{'hands':>9}"]
    for each in measured:
        rate = f"{100 * each.win_rate:.1f} ± {100 * each.half_width:.1f} %"
        lines.append(f"{each.opponent:<{width}}{rate:>16}{each.margin:>+9.2f}{each.hands:>9,}")
    return "\n".join(lines)
