"""Evaluation of checkpoints: matches against opponents and earlier checkpoints."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from ...agents.base import CannotPlay
from ...agents.checkpoints.checkpoint import checkpoints_in, read_card, read_checkpoint
from ...agents.networks.policy import NetworkAgent
from ...agents.registry import make_agent
from ...engine.rng import secret_of_seed
from ...evaluation import evaluate
from ..checkpoint import Measured
from ..settings import Settings

# Deals of measurements have a seed of their own, far from those that people give to trainings.
# Their key follows from it, so that a resumed run measures as one that was not stopped.
MEASURING_SEED = 0x6D656173757265
ITSELF = "itself"


def evaluation_seed(seed: int) -> int:
    """Seed of the deals on which a player that was trained with `seed` is evaluated.

    A training plays the deals of its own seed, from number 0 on, and so does an evaluation.
    """
    return MEASURING_SEED + 1 + seed


def check_eval_opponents(settings: Settings) -> None:
    """Refuse unknown opponents; a known one may be unable to play these rules."""
    for name in dict.fromkeys((*settings.eval_opponents, *settings.final_eval_opponents)):
        for options in settings.all_options:
            try:
                make_agent(name, options.rules)
            except CannotPlay:
                continue
            except ValueError as error:
                raise ValueError(f"eval_opponents: {error}") from None


class Found(Struct):
    """What a checkpoint was measured at, and who could not be played."""

    measured: list[Measured]
    texts: list[str]


def measure(
    path: Path, opponents: Iterable[str], hands: int, *, seed: int = MEASURING_SEED,
    with_past: bool = True,
) -> Found:  # fmt: skip
    """Evaluate a checkpoint against opponents and its own past, in each of its rule sets.

    Every evaluation plays the same deals, those of the seed.
    """
    checkpoint, past = read_checkpoint(path), past_of(path) if with_past else None
    key = secret_of_seed(seed, "measuring").hex()
    found = Found([], [])
    for rules in checkpoint.rules:
        player = NetworkAgent(rules, checkpoint)
        players: list[tuple[str, Any]] = [(name, name) for name in dict.fromkeys(opponents)]
        if past is not None:
            name = f"{ITSELF}@{int(past.stem):,}"
            players.append((name, NetworkAgent(rules, read_checkpoint(past))))
        for name, opponent in players:
            try:
                result = evaluate(player, opponent, rules, hands=hands, seed=seed, key=key)
            except CannotPlay as error:
                found.texts.append(str(error))
                continue
            if result.signal:  # what was played by then is no measurement
                raise KeyboardInterrupt
            pairing = result.pairings[0]
            found.measured.append(
                Measured(
                    decisions=int(path.stem),
                    opponent=name,
                    win_rate=pairing.win_rate.value,
                    half_width=pairing.win_rate.half_width,
                    margin=pairing.margin.value,
                    hands=pairing.hands,
                    rules=rules.name if len(checkpoint.rules) > 1 else "",
                )
            )
    return found


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
