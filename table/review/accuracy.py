# pyright: strict
"""What each player's decisions cost on average, over many hands: its accuracy, stage by stage.

A decision's cost is what the best action would have paid more: exactly in open endings, before
them as a search estimates it from the view of the player to move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import sqrt
from typing import Any

from msgspec import Struct

from ...common.serialization import Told, frame_of
from ...common.student_t import quantile
from ...engine.records import GameRecord
from .analysis import Analysis, AnalysisSettings, DecisionValues, analyse
from .replay import player_names


class Cost(Struct, frozen=True, kw_only=True):
    """The decisions of a player in a stage, or in one trick of it."""

    player: str
    stage: str
    trick: int | None
    """None for the whole stage."""
    decisions: int
    """Those in which there was a choice."""
    cost: float
    """On average, in the unit of the analysis."""
    half_width: float | None
    """Of its 95 % interval over hands; none where it decided in one hand alone."""
    mistakes: int
    """Decisions that surely cost something."""
    accuracy: float | None
    """The share in per cent of decisions that mattered and were no mistakes."""


class Accuracy(Told, frozen=True, kw_only=True):
    """What the decisions of all players cost."""

    unit: str
    search: str
    hands: int
    costs: list[Cost]

    def frame(self) -> Any:
        """A row for each player, stage and trick, as a `pandas.DataFrame`."""
        return frame_of(self.to_json()["costs"])


def accuracy(
    records: Iterable[GameRecord],
    settings: AnalysisSettings | None = None,
    progress: Callable[[int], None] | None = None,
) -> Accuracy:
    """Analyse every hand, and add up what each player's decisions cost."""
    found: list[tuple[tuple[str, str], Analysis]] = []
    for number, record in enumerate(records, 1):
        found.append((player_names(record), analyse(record, settings)))
        if progress is not None:
            progress(number)
    if not found:
        raise ValueError("there are no hands to analyse")
    units = sorted({each.unit for _, each in found})
    if len(units) > 1:
        raise ValueError(
            f"these hands are valued by {' and by '.join(units)}, which cannot be added up: "
            "analyse hands of rules that pay alike"
        )
    players = list(dict.fromkeys(name for names, _ in found for name in names))
    costs: list[Cost] = []
    for player in players:
        for stage in ("foreplay", "endgame"):
            costs += _costs(player, stage, found)
    return Accuracy(unit=units[0], search=found[0][1].search, hands=len(found), costs=costs)


def _costs(
    player: str, stage: str, found: list[tuple[tuple[str, str], Analysis]]
) -> Iterable[Cost]:
    hands = [
        (
            [each for each in analysis.decisions if _is_of(each, player, names, stage)],
            {each.n for each in analysis.mistakes},
        )
        for names, analysis in found
    ]
    tricks = sorted({each.trick for decisions, _ in hands for each in decisions})
    for trick in (None, *tricks):
        some = [
            ([each for each in decisions if trick in (None, each.trick)], mistakes)
            for decisions, mistakes in hands
        ]
        if any(decisions for decisions, _ in some):
            yield _cost(player, stage, trick, some)


def _is_of(decision: DecisionValues, player: str, names: tuple[str, str], stage: str) -> bool:
    chosen = decision.stage == stage and names[decision.who] == player
    return chosen and len(decision.cards) > 1


def _cost(
    player: str, stage: str, trick: int | None, hands: list[tuple[list[DecisionValues], set[int]]]
) -> Cost:
    every = [each for decisions, _ in hands for each in decisions]
    mistakes = sum(each.n in wrong for decisions, wrong in hands for each in decisions)
    mattered = sum(each.matters for each in every)
    mean = sum(each.cost for each in every) / len(every)
    # Decisions of one hand are not independent: the interval is that of a ratio over hands.
    apart = [sum(each.cost for each in some) - mean * len(some) for some, _ in hands]
    count = sum(bool(some) for some, _ in hands)
    variance = count / max(1, count - 1) * sum(each**2 for each in apart)
    reach = quantile(count) * sqrt(variance) / len(every)
    return Cost(
        player=player,
        stage=stage,
        trick=trick,
        decisions=len(every),
        cost=round(mean, 4),
        half_width=round(reach, 4) if count > 1 else None,
        mistakes=mistakes,
        accuracy=round(100 * (1 - mistakes / mattered), 1) if mattered else None,
    )
