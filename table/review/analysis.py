# pyright: strict
"""What each decision of a hand was worth, and what the mistakes in it cost.

An open ending is solved: its values are exact, by what the rules pay. Before that a search
estimates every legal card from the view of the player to move alone, as its `act` would, with
half of a 95 % interval. Where a network plays the rules, its probabilities stand beside that.

PositionValues are for the player to move. Where a hand is only won or lost, and in races, they are
chances to win in per cent, a tie half; else what the hand pays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from ...agents.base import CannotPlay
from ...agents.networks.policy import NetworkAgent
from ...agents.registry import make_agent
from ...agents.search.base import Estimates, SearchAgent
from ...engine.cards import KEEP, TAKE_BLIND, TAKE_HIDDEN, action_word
from ...engine.dtypes import SEATS, VIEW
from ...engine.endgame import NotOpenError, moves_of, race_moves_of
from ...engine.play import pay_for, row
from ...engine.records import GameRecord
from ...engine.rules import Rules
from ...engine.view import View
from ..text.labels import say
from ..text.words import action_symbol, join_words, percent
from .replay import player_names

WIN, PAY = "win %", "pay"
CHAMPION = "champion"
# A cost in the foreplay is called a mistake beyond so many half widths: of some three hundred
# comparisons in a hand, one in twenty would go beyond one half width by luck.
SURE = 1.5
# Costs are told in whole per cents and in tenths; what would be told as nothing is no mistake.
_LEAST = {WIN: 0.5, PAY: 0.05}


class AnalysisStopped(RuntimeError):
    """Somebody asked for the analysis to stop."""


@dataclass(frozen=True)
class AnalysisSettings:
    """How to analyse; the same settings and record give the same analysis."""

    search: str = "flat-mc:2500,voids,playout=counting"
    """A search by name, its budget a number of samples a decision."""
    network: str | None = None
    """A network by name or path; None for the champion where it plays the rules."""
    seed: int = 0


class ActionValue(Struct, omit_defaults=True, kw_only=True):
    """What a card is worth to the player to move."""

    action: int
    card: str
    value: float | None
    """In the unit of the analysis; None where there was no choice, so nothing was searched."""
    cost: float
    half_width: float | None = None
    """Half of the value's 95 % interval, where it is estimated."""
    cost_half_width: float = 0.0
    tricks: int | None = None
    """The tricks of those left that an exact ending comes to."""
    probability: float | None = None
    """The network's."""


class PositionValues(Struct, kw_only=True):
    """What each legal action is worth, in one position."""

    exact: bool
    unit: str
    best: list[int]
    cards: list[ActionValue]
    worlds: int | None = None


class DecisionValues(PositionValues, kw_only=True):
    """A decision of a hand: what was played, and what that cost."""

    n: int = 0
    who: int
    stage: str
    trick: int
    action: int
    cost: float
    sure: bool
    """Whether the cost is beyond the noise."""

    @property
    def matters(self) -> bool:
        """Whether some card would surely have cost something."""
        least = _LEAST[self.unit]
        return any(card.cost > max(SURE * card.cost_half_width, least) for card in self.cards)


class Mistake(Struct):
    """A decision that surely cost something."""

    n: int
    who: int
    cost: float
    text: str


class StoryPoint(Struct):
    """What seat 0 could expect before a trick."""

    n: int
    trick: int
    expected: float
    exact: bool


class SeatTotals(Struct):
    """One player's decisions: those that mattered, the mistakes among them, and what they cost."""

    mattered: int
    mistakes: int
    cost: float
    accuracy: float | None
    """The share in per cent of decisions that mattered and were no mistakes."""


class Analysis(Struct):
    """What every decision of a hand was worth."""

    unit: str
    search: str
    network: str | None
    decisions: list[DecisionValues]
    mistakes: list[Mistake]
    totals: list[SeatTotals]
    turning_point: str
    story: list[StoryPoint]
    ready: bool = True
    done: float = 1.0


class Analyst:
    """Values the decisions of one rule set, each from the view of the player to move."""

    def __init__(self, rules: Rules, settings: AnalysisSettings | None = None) -> None:
        self.settings = settings or AnalysisSettings()
        # Of a race only who wins it is known exactly, and so all of it is valued by that.
        self.rules = (
            rules if rules.race is None else replace(rules, pay="win", book=None, slam_pay=None)
        )
        self.unit = WIN if self.rules.pay == "win" else PAY
        self.search = _search(self.settings.search, self.rules)
        self.network = _network(self.settings.network, rules)

    def worth(self, paid: float) -> float:
        """A pay in the unit of the analysis."""
        return round(50 + 50 * paid if self.unit == WIN else paid, 3) + 0.0

    def cost(self, less: float) -> float:
        """A difference of pays in the unit of the analysis."""
        return round(50 * less if self.unit == WIN else less, 3) + 0.0

    def decision(self, view: View, played: int, n: int = 0) -> DecisionValues:
        """What each legal action is worth to the player to move, and what the one played cost."""
        told = self.values(view)
        chosen = next(card for card in told.cards if card.action == played)
        return DecisionValues(
            n=n,
            who=view.seat,
            stage="endgame" if view.endgame else "foreplay",
            trick=view.trick + 1,
            action=int(played),
            cost=chosen.cost,
            sure=chosen.cost > SURE * chosen.cost_half_width,
            **asdict(told),
        )

    def values(self, view: View) -> PositionValues:
        """What each legal action is worth to the player to move: exact, or what a search finds."""
        view = View(self.rules, view.record)
        exact, worlds = self._exact(view), None
        if exact is not None:
            cards = exact
        elif (found := self.search.estimates(view, self.settings.seed)) is not None:
            worlds = found.worlds
            cards = self._estimated(found, self._shares(view))
        else:
            shares = self._shares(view)
            cards = [
                _worth(action, value=None, cost=0.0, probability=shares.get(action))
                for action in view.legal()
            ]
        best = [card.action for card in cards if card.cost == 0]
        return PositionValues(
            exact=exact is not None, unit=self.unit, best=best, cards=cards, worlds=worlds
        )

    # -- exact

    def _exact(self, view: View) -> list[ActionValue] | None:
        """Each card of an open ending by what it pays; None where there is no such value."""
        rules = view.rules
        if view.phase == "choose" or (rules.race is not None and rules.contract != "high"):
            return None
        try:
            if rules.race is not None:
                paid = {int(card): end for card, end in race_moves_of(view).items()}
                return self._from_exact(paid, {})
            tricks = {int(card): more for card, more in moves_of(view).items()}
        except NotOpenError:
            return None
        record, (mine, others), left = row(rules.record(), 0), view.counting_tricks, len(view.hand)
        paid = {
            card: int(pay_for(record, int(view.low), mine + more, others + left - more))
            for card, more in tricks.items()
        }
        return self._from_exact(paid, tricks)

    def _from_exact(self, paid: dict[int, int], tricks: dict[int, int]) -> list[ActionValue]:
        most = max(paid.values())
        return [
            _worth(
                action,
                value=self.worth(each),
                cost=self.cost(most - each),
                tricks=tricks.get(action),
            )
            for action, each in paid.items()
        ]

    # -- estimated

    def _estimated(self, found: Estimates, shares: dict[int, float]) -> list[ActionValue]:
        means, widths = found.means, found.half_widths
        costs, apart = found.costs(found.actions[int(np.argmax(means))])
        return [
            _worth(
                action,
                value=self.worth(float(means[place])),
                half_width=self.cost(float(widths[place])),
                cost=self.cost(float(costs[place])),
                cost_half_width=self.cost(float(apart[place])),
                probability=shares.get(action),
            )
            for place, action in enumerate(found.actions)
        ]

    def _shares(self, view: View) -> dict[int, float]:
        """The network's probabilities, by action."""
        if self.network is None:
            return {}
        shares = self.network.likelihoods(np.array(view.record, VIEW))[0]
        return {each: round(float(shares[each]), 4) for each in view.legal()}


def analyse(
    record: GameRecord,
    settings: AnalysisSettings | None = None,
    progress: Callable[[float], None] | None = None,
    stop: Event | None = None,
) -> Analysis:
    """The analysis of a whole hand.

    `progress` is told from 0 to 1 how much is done; setting `stop` ends it with
    `AnalysisStopped` after the decision under way.
    """
    analyst = Analyst(record.rules, settings)
    game, actions = record.start(), record.actions
    decisions: list[DecisionValues] = []
    for n, action in enumerate(actions):
        if stop is not None and stop.is_set():
            raise AnalysisStopped(f"the analysis was stopped after {n} of {len(actions)} decisions")
        decisions.append(analyst.decision(game.view(game.turn or 0), action, n))
        game.play(action)
        if progress is not None:
            progress((n + 1) / len(actions))
    mistakes = _mistakes(decisions, player_names(record))
    return Analysis(
        unit=analyst.unit,
        search=analyst.search.name,
        network=None if analyst.network is None else analyst.network.name,
        decisions=decisions,
        mistakes=mistakes,
        totals=[_totals(decisions, mistakes, seat) for seat in range(SEATS)],
        turning_point=_turning_point(mistakes),
        story=_story(analyst, decisions, record),
    )


# -- mistakes and the story


def _mistakes(decisions: list[DecisionValues], names: tuple[str, str]) -> list[Mistake]:
    """The decisions that surely cost what can be told, the dearest first."""
    found = [each for each in decisions if each.sure and each.cost > _LEAST[each.unit]]
    found.sort(key=lambda each: (-each.cost, each.n))
    return [Mistake(each.n, each.who, each.cost, _mistake_text(each, names)) for each in found]


def _totals(decisions: list[DecisionValues], mistakes: list[Mistake], who: int) -> SeatTotals:
    mattered = sum(each.matters for each in decisions if each.who == who)
    made = [each.cost for each in mistakes if each.who == who]
    accuracy = round(100 * (1 - len(made) / mattered), 1) if mattered else None
    return SeatTotals(mattered, len(made), round(sum(made), 3), accuracy)


def _mistake_text(decision: DecisionValues, names: tuple[str, str]) -> str:
    cards = join_words(list(map(action_symbol, decision.best[:3])), "or")
    about = "" if decision.exact else "_about"
    if decision.unit == PAY:
        better = say(
            f"mistakes.pays{about}",
            cards=cards,
            pay=f"{decision.cost:.3g}" if decision.exact else f"{decision.cost:.2g}",
        )
    elif decision.exact:
        before = max(card.value or 0.0 for card in decision.cards)
        better = say("mistakes.wins" if before == 100 else "mistakes.ties", cards=cards)
    else:
        better = say("mistakes.wins_share", cards=cards, share=percent(decision.cost))
    return say(
        _MISTAKES.get(decision.action, "mistakes.chose"),
        trick=decision.trick,
        name=names[decision.who],
        card=action_symbol(decision.action),
        better=better,
    )


_MISTAKES = {
    TAKE_HIDDEN: "mistakes.took",
    KEEP: "mistakes.kept",
    TAKE_BLIND: "mistakes.exchanged",
}


def _turning_point(mistakes: list[Mistake]) -> str:
    """The dearest mistake of a hand, if there was one."""
    return (
        say("mistakes.turning_point", text=mistakes[0].text) if mistakes else say("mistakes.none")
    )


def _story(
    analyst: Analyst, decisions: list[DecisionValues], record: GameRecord
) -> list[StoryPoint]:
    """What seat 0 could expect at each trick, by its own view where it had a choice; then the end.

    Both views in turn would tell of two hopes, not of one hand: each knows its own cards best.
    """
    story: list[StoryPoint] = []
    for each in decisions:
        values = [card.value for card in each.cards if card.value is not None]
        new = not story or story[-1].trick < each.trick
        if values and new and each.who == 0:
            story.append(StoryPoint(each.n, each.trick, max(values), each.exact))
    paid = record.pays[0]
    if analyst.unit == WIN:
        paid = (paid > 0) - (paid < 0)
    end = StoryPoint(len(decisions), len(record.tricks) + 1, analyst.worth(paid), True)
    return [*story, end]


# -- who is asked


def _worth(action: int, **told: Any) -> ActionValue:
    return ActionValue(action=int(action), card=action_word(action), **told)


def _search(name: str, rules: Rules) -> SearchAgent:
    agent = make_agent(name, rules)
    if not isinstance(agent, SearchAgent) or agent.budget.seconds:
        raise ValueError(f"{name} is no search by number: decisions are valued by flat-mc:N")
    return agent


def _network(name: str | None, rules: Rules) -> NetworkAgent | None:
    """The network of this name; without a name the champion, if it plays the rules."""
    try:
        agent = make_agent(name or CHAMPION, rules)
    except CannotPlay:
        if name is not None:
            raise
        return None
    if not isinstance(agent, NetworkAgent):
        raise ValueError(f"{name or CHAMPION} is no network, so it has no probabilities to tell")
    return agent
