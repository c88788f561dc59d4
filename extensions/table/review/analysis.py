# pyright: strict
"""Values of every decision of a hand, and the cost of its mistakes.

Open endings are solved: their values are exact, by what the rules pay. Before them a search
estimates every legal action from the view of the player to move, with half of a 95 % interval:
the thinker where its networks play the rules, else flat Monte Carlo. Where a network plays the
rules, its action probabilities are added.

The thinker's estimates are held against the card that the champion's network would play: another
card is the best one only where it is better beyond the noise. The highest of several estimates is
often the luckiest, and to play it would lose (docs/develop/agents.md has the measurements).

Values are for the player to move. Where a hand is only won or lost, and in races, they are win
probabilities in percent, a tie counting half; otherwise what the hand pays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from german_whist.agents.base import CannotPlay
from german_whist.agents.costs import exact_payoffs
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.agents.registry import check_agent_names, load_agent
from german_whist.agents.search.base import Estimates, SearchAgent
from german_whist.agents.search.champion import LAST
from german_whist.agents.search.thinker import ThinkerAgent
from german_whist.engine.cards import KEEP, TAKE_BLIND, TAKE_HIDDEN, Card, action_word
from german_whist.engine.dtypes import SEATS, VIEW
from german_whist.engine.endgame import moves_of
from german_whist.engine.records import GameRecord
from german_whist.engine.rules import Rules
from german_whist.engine.view import View

from ..text.labels import label
from ..text.words import action_symbol, join_words, percent
from .replay import player_names, substituted

WIN, PAY = "win %", "pay"
CHAMPION = "champion"
THINKER, FLAT_MC = "thinker:256", "flat-mc:2500,voids,playout=counting"
"""Searches of the analysis: where the bundled networks play the rules, and elsewhere."""
SHRINKAGE = {"thinker:256": 0.62}
"""What a card gains in play for each point that a search charges for the other one.

The best of several estimates is often the luckiest, so differences between estimates are too
large. All gains over all charges in the first 2,000 hands of `benchmarks/analyst.py`; 1 where not
measured.
"""
# A cost in the foreplay counts as a mistake beyond this many margins of error: of some three
# hundred comparisons in a hand, one in twenty would exceed one margin of error by chance.
SURE = 1.5
# Costs are printed in whole percents and in tenths; one that would be printed as 0 is no mistake.
_MIN_COST = {WIN: 0.5, PAY: 0.05}
_MISTAKE_LABELS = {
    TAKE_HIDDEN: "mistakes.took",
    KEEP: "mistakes.kept",
    TAKE_BLIND: "mistakes.exchanged",
}


class AnalysisStopped(RuntimeError):
    """The `stop` event of an analysis was set."""


@dataclass(frozen=True)
class AnalysisSettings:
    """Search, network and seed; equal settings and records give equal analyses."""

    search: str | None = None
    """A search agent by name, its budget a number of samples per decision.

    None: the thinker where its networks play the rules, else flat Monte Carlo.
    """
    network: str | None = None
    """A network by name or path; None: the champion where it plays the rules."""
    seed: int = 0


class ActionValue(Struct, omit_defaults=True, kw_only=True):
    """The value of an action for the player to move."""

    action: int
    card: str
    value: float | None
    """In the unit of the analysis; None for a forced action, which is not searched."""
    cost: float
    margin_of_error: float | None = None
    """Half of the 95 % interval of an estimated value."""
    cost_margin_of_error: float = 0.0
    tricks: int | None = None
    """Tricks still to be won, in an exact ending."""
    probability: float | None = None
    """The network's probability of the action."""


class PositionValues(Struct, kw_only=True):
    """The values of all legal actions in one position."""

    exact: bool
    unit: str
    best: list[int]
    cards: list[ActionValue]
    samples: int | None = None


class DecisionValues(PositionValues, kw_only=True):
    """A decision of a hand: the action played, and its cost."""

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
        least = _MIN_COST[self.unit]
        return any(card.cost > max(SURE * card.cost_margin_of_error, least) for card in self.cards)

    @property
    def mistaken(self) -> bool:
        return self.sure and self.cost > _MIN_COST[self.unit]


class Mistake(Struct):
    """A decision whose cost is beyond the noise."""

    n: int
    who: int
    cost: float
    text: str


class StoryPoint(Struct):
    """Seat 0's expected value before a trick."""

    n: int
    trick: int
    expected: float
    exact: bool


class SeatTotals(Struct):
    """One player's decisions that mattered, the mistakes among them, and their cost."""

    mattered: int
    mistakes: int
    cost: float
    accuracy: float | None
    """The percentage of decisions that mattered and were no mistakes."""


class Analysis(Struct):
    """The values of every decision of a hand."""

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
        # Exact race values give only the winner, so a race is valued by win or loss throughout.
        self.rules = (
            rules if rules.race is None else replace(rules, pay="win", book=None, slam_pay=None)
        )
        self.unit = WIN if self.rules.pay == "win" else PAY
        check_agent_names(filter(None, [self.settings.search, self.settings.network]))
        self.search = _load_search(self.settings.search or default_search(rules), self.rules)
        name, champion = self.settings.network, _champion(rules)
        self.network = champion if name is None else _load_network(name, rules)
        self._policy = champion if isinstance(self.search, ThinkerAgent) else None
        self.shrinkage = SHRINKAGE.get(self.search.name, 1.0)

    def value_of_payoff(self, payoff: float) -> float:
        return round(50 + 50 * payoff if self.unit == WIN else payoff, 3) + 0.0

    def decision(self, view: View, action: int, n: int = 0) -> DecisionValues:
        """The values of all legal actions, and the cost of the action played."""
        values = self.values(view)
        chosen = next(card for card in values.cards if card.action == action)
        return DecisionValues(
            n=n,
            who=view.seat,
            stage="endgame" if view.endgame else "foreplay",
            trick=view.trick + 1,
            action=int(action),
            cost=chosen.cost,
            sure=chosen.cost > SURE * chosen.cost_margin_of_error,
            **asdict(values),
        )

    def values(self, view: View) -> PositionValues:
        """The values of all legal actions: exact where possible, otherwise estimated."""
        view = View(self.rules, view.array)
        exact, samples = self._exact(view), None
        if exact is not None:
            cards = exact
        elif (estimates := self.search.estimates(view, self.settings.seed)) is not None:
            samples = estimates.samples
            cards = self._estimated(view, estimates)
        else:
            probs = self._probabilities(view)
            cards = [
                _action_value(action, value=None, cost=0.0, probability=probs.get(action))
                for action in view.legal()
            ]
        # The card that costs are measured from comes first: its own has no margin of error.
        free = sorted(
            (card for card in cards if card.cost == 0),
            key=lambda card: card.cost_margin_of_error > 0,
        )
        return PositionValues(
            exact=exact is not None,
            unit=self.unit,
            best=[card.action for card in free],
            cards=cards,
            samples=samples,
        )

    def _exact(self, view: View) -> list[ActionValue] | None:
        payoffs = exact_payoffs(view)
        if payoffs is None:
            return None
        moves = {} if view.rules.race is not None else moves_of(view)
        tricks = {int(card): count for card, count in moves.items()}
        best = max(payoffs.values())
        return [
            _action_value(
                action,
                value=self.value_of_payoff(payoff),
                cost=self._payoff_difference(best - payoff),
                tricks=tricks.get(action),
            )
            for action, payoff in payoffs.items()
        ]

    def _estimated(self, view: View, estimates: Estimates) -> list[ActionValue]:
        means, margins_of_error = estimates.means, estimates.margins_of_error
        best = self._best_estimated(view, estimates)
        costs, cost_margins_of_error = estimates.costs(best)
        best_mean = float(means[estimates.actions.index(best)])
        costs, cost_margins_of_error = (
            self.shrinkage * costs,
            self.shrinkage * cost_margins_of_error,
        )
        probs = self._probabilities(view)
        return [
            _action_value(
                action,
                value=self.value_of_payoff(
                    best_mean + self.shrinkage * (float(means[k]) - best_mean)
                ),
                margin_of_error=self._payoff_difference(float(margins_of_error[k])),
                cost=self._payoff_difference(max(0.0, float(costs[k]))),
                cost_margin_of_error=self._payoff_difference(float(cost_margins_of_error[k])),
                probability=probs.get(action),
            )
            for k, action in enumerate(estimates.actions)
        ]

    def _best_estimated(self, view: View, estimates: Estimates) -> int:
        """The card that the policy would play, or one that is better beyond the noise.

        The highest estimate without a policy, and in the last tricks for the stock, where the
        champion searches as well and leaves are exact.
        """
        if self._policy is None or view.stock_left <= 2 * LAST:
            return estimates.actions[int(np.argmax(estimates.means))]
        probs = self._policy.network_probabilities(np.array(view.array, VIEW))[0]
        likeliest = max(estimates.actions, key=lambda action: float(probs[action]))
        costs, margins_of_error = estimates.costs(likeliest)
        least = np.maximum(SURE * margins_of_error, _MIN_COST[self.unit] / self._unit_scale)
        gains = np.where(-costs > least, -costs, 0.0)
        return estimates.actions[int(np.argmax(gains))] if gains.any() else likeliest

    def _payoff_difference(self, difference: float) -> float:
        return round(self._unit_scale * difference, 3) + 0.0

    @property
    def _unit_scale(self) -> float:
        """A payoff of 1 in the unit."""
        return 50.0 if self.unit == WIN else 1.0

    def _probabilities(self, view: View) -> dict[int, float]:
        if self.network is None:
            return {}
        probs = self.network.network_probabilities(np.array(view.array, VIEW))[0]
        return {action: round(float(probs[action]), 4) for action in view.legal()}


def analyze(
    record: GameRecord,
    settings: AnalysisSettings | None = None,
    progress: Callable[[float], None] | None = None,
    stop: Event | None = None,
) -> Analysis:
    """Analyze a whole hand.

    `progress` receives the finished fraction, from 0 to 1; setting `stop` raises
    `AnalysisStopped` after the current decision.
    """
    analyst = Analyst(record.rules, settings)
    game, actions = record.start(), record.actions
    decisions: list[DecisionValues] = []
    stakes: list[tuple[str, Card | None]] = []
    for n, action in enumerate(actions):
        if stop is not None and stop.is_set():
            raise AnalysisStopped(f"the analysis was stopped after {n} of {len(actions)} decisions")
        view = game.view()
        decisions.append(analyst.decision(view, action, n))
        stakes.append(_stake(view))
        game.play(action)
        if progress is not None:
            progress((n + 1) / len(actions))
    # What an agent played in the person's place is no mistake of the person's.
    played_by_others = substituted(record)
    own = [decision for decision in decisions if decision.n not in played_by_others]
    mistakes = _mistakes(own, stakes, player_names(record))
    turning_point = (
        label("mistakes.turning_point", text=mistakes[0].text)
        if mistakes
        else label("mistakes.none")
    )
    return Analysis(
        unit=analyst.unit,
        search=analyst.search.name,
        network=None if analyst.network is None else analyst.network.name,
        decisions=decisions,
        mistakes=mistakes,
        totals=[_seat_totals(own, mistakes, seat) for seat in range(SEATS)],
        turning_point=turning_point,
        story=_story(analyst, decisions, record),
    )


# -- mistakes and the story


def _mistakes(
    decisions: list[DecisionValues], stakes: list[tuple[str, Card | None]], names: tuple[str, str]
) -> list[Mistake]:
    mistakes = [
        Mistake(
            decision.n,
            decision.who,
            decision.cost,
            _mistake_text(decision, stakes[decision.n], names),
        )
        for decision in decisions
        if decision.mistaken
    ]
    return sorted(mistakes, key=lambda mistake: (-mistake.cost, mistake.n))


def _seat_totals(decisions: list[DecisionValues], mistakes: list[Mistake], seat: int) -> SeatTotals:
    mattered = sum(decision.matters for decision in decisions if decision.who == seat)
    costs = [mistake.cost for mistake in mistakes if mistake.who == seat]
    accuracy = round(100 * (1 - len(costs) / mattered), 1) if mattered else None
    return SeatTotals(mattered, len(costs), round(sum(costs), 3), accuracy)


def _stake(view: View) -> tuple[str, Card | None]:
    """What a card is played for: the label of its sentence, and the card led or the upcard."""
    if view.phase == "follow":
        return "mistakes.followed", view.led
    if view.phase == "lead":
        faced = view.upcards[0] if view.upcards else None
        return "mistakes.led_for" if faced else "mistakes.led", faced
    return "mistakes.chose", None


def _mistake_text(
    decision: DecisionValues, stake: tuple[str, Card | None], names: tuple[str, str]
) -> str:
    key, card = stake
    cards = join_words(list(map(action_symbol, decision.best[:3])), "or")
    if decision.unit == PAY:
        unit = "mistakes.pays" if decision.exact else "mistakes.pays_about"
        pay = f"{decision.cost:.3g}" if decision.exact else f"{decision.cost:.2g}"
        better = label(unit, cards=cards, pay=pay)
    elif decision.exact:
        best_value = max(card.value or 0.0 for card in decision.cards)
        better = label("mistakes.wins" if best_value == 100 else "mistakes.ties", cards=cards)
    else:
        better = label("mistakes.wins_rate", cards=cards, rate=percent(decision.cost))
    return label(
        _MISTAKE_LABELS.get(decision.action, key),
        stake="" if card is None else card.symbol,
        trick=decision.trick,
        name=names[decision.who],
        card=action_symbol(decision.action),
        better=better,
    )


def _story(
    analyst: Analyst, decisions: list[DecisionValues], record: GameRecord
) -> list[StoryPoint]:
    """Seat 0's expected value at its first free decision of each trick, then the result.

    Only one seat's views are used: each seat knows its own cards best, so values from both views
    in turn would jump between two expectations.
    """
    story: list[StoryPoint] = []
    for decision in decisions:
        value = next(card.value for card in decision.cards if card.action == decision.best[0])
        new_trick = not story or story[-1].trick < decision.trick
        if value is not None and new_trick and decision.who == 0:
            story.append(StoryPoint(decision.n, decision.trick, value, decision.exact))
    payoff = record.payoffs[0]
    if analyst.unit == WIN:
        payoff = (payoff > 0) - (payoff < 0)
    result = analyst.value_of_payoff(payoff)
    return [*story, StoryPoint(len(decisions), len(record.tricks) + 1, result, True)]


def _action_value(action: int, **fields: Any) -> ActionValue:
    return ActionValue(action=int(action), card=action_word(action), **fields)


def default_search(rules: Rules) -> str:
    """The search of an analysis that names none."""
    return THINKER if ThinkerAgent.plays(rules) else FLAT_MC


def _load_search(name: str, rules: Rules) -> SearchAgent:
    agent = load_agent(name, rules)
    # A time budget would make the values depend on the machine.
    if not isinstance(agent, SearchAgent) or agent.budget.seconds:
        raise ValueError(
            f"{name} is not a search with a number of samples: value decisions by flat-mc:N"
        )
    return agent


def _champion(rules: Rules) -> NetworkAgent | None:
    """The champion, if it plays the rules."""
    try:
        return _load_network(CHAMPION, rules)
    except CannotPlay:
        return None


def _load_network(name: str, rules: Rules) -> NetworkAgent:
    agent = load_agent(name, rules)
    if not isinstance(agent, NetworkAgent):
        raise ValueError(f"{name} is not a network: it has no action probabilities")
    return agent
