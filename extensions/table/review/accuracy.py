# pyright: strict
"""Mean cost and accuracy of each player's decisions over many hands, by stage and trick.

A decision's cost is the value of the best action minus that of the action played: exact in open
endings, before them estimated by a search from the view of the player to move.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import sqrt
from typing import Any

from msgspec import Struct

from german_whist.common.serialization import JsonStruct, data_frame
from german_whist.engine.records import GameRecord
from german_whist.evaluation.statistics import t_quantile

from .analysis import Analysis, AnalysisSettings, DecisionValues, analyze
from .hands import deal_of
from .replay import player_names


class Cost(Struct, frozen=True, kw_only=True):
    """The decisions of a player in a stage, or in one trick of it."""

    player: str
    stage: str
    trick: int | None
    """None for the whole stage."""
    decisions: int
    """Those with more than one legal action."""
    cost: float
    """Mean cost of a decision, in the unit of the analysis."""
    margin_of_error: float | None
    """Of the 95 % interval over deals; None if the player decided in one deal only."""
    mistakes: int
    """Decisions whose cost is beyond the noise."""
    accuracy: float | None
    """The share in percent of decisions that mattered and were no mistakes."""


class Accuracy(JsonStruct, frozen=True, kw_only=True):
    """Costs of all players' decisions."""

    unit: str
    search: str
    hands: int
    costs: list[Cost]

    def frame(self) -> Any:
        """A `pandas.DataFrame` with a row for each player, stage and trick."""
        return data_frame(self.to_json()["costs"])


def accuracy(
    records: Iterable[GameRecord],
    settings: AnalysisSettings | None = None,
    progress: Callable[[int], None] | None = None,
) -> Accuracy:
    """Analyze every hand, and average the cost of each player's decisions."""
    analyses: list[tuple[tuple[str, str], Analysis]] = []
    deals: list[Hashable] = []
    for number, record in enumerate(records, 1):
        analyses.append((player_names(record), analyze(record, settings)))
        deals.append(deal_of(record))
        if progress is not None:
            progress(number)
    if not analyses:
        raise ValueError("there are no hands to analyze")
    units = sorted({analysis.unit for _, analysis in analyses})
    if len(units) > 1:
        raise ValueError(
            f"these hands are valued by {' and by '.join(units)}, which cannot be added up: "
            "analyze hands of rules that pay alike"
        )
    players = dict.fromkeys(name for names, _ in analyses for name in names)
    costs: list[Cost] = []
    for player in players:
        for stage in ("foreplay", "endgame"):
            costs += _costs(player, stage, analyses, deals)
    search = analyses[0][1].search
    return Accuracy(unit=units[0], search=search, hands=len(analyses), costs=costs)


def _costs(
    player: str,
    stage: str,
    analyses: list[tuple[tuple[str, str], Analysis]],
    deals: Sequence[Hashable],
) -> Iterable[Cost]:
    # The two hands of a deal, with the seats exchanged, are one observation: they are alike.
    by_deal: dict[Hashable, list[DecisionValues]] = {deal: [] for deal in deals}
    for deal, (names, analysis) in zip(deals, analyses, strict=True):
        by_deal[deal] += [
            decision
            for decision in analysis.decisions
            if decision.stage == stage and names[decision.who] == player and len(decision.cards) > 1
        ]
    hands = list(by_deal.values())
    if any(hands):
        yield _cost(player, stage, None, hands)
    for trick in sorted({decision.trick for hand in hands for decision in hand}):
        of_trick = [[made for made in hand if made.trick == trick] for hand in hands]
        yield _cost(player, stage, trick, of_trick)


def _cost(player: str, stage: str, trick: int | None, hands: list[list[DecisionValues]]) -> Cost:
    decisions = [decision for hand in hands for decision in hand]
    mistakes = sum(decision.mistaken for decision in decisions)
    mattered = sum(decision.matters for decision in decisions)
    mean = sum(decision.cost for decision in decisions) / len(decisions)
    # Decisions of one deal are correlated: the interval is that of a ratio estimator over deals.
    residuals = [sum(decision.cost for decision in hand) - mean * len(hand) for hand in hands]
    n_hands = sum(map(bool, hands))
    variance = n_hands / max(1, n_hands - 1) * sum(residual**2 for residual in residuals)
    margin_of_error = t_quantile(n_hands - 1) * sqrt(variance) / len(decisions)
    return Cost(
        player=player,
        stage=stage,
        trick=trick,
        decisions=len(decisions),
        cost=round(mean, 4),
        margin_of_error=round(margin_of_error, 4) if n_hands > 1 else None,
        mistakes=mistakes,
        accuracy=round(100 * (1 - mistakes / mattered), 1) if mattered else None,
    )
