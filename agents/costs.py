"""What actions cost: exactly in open endings and on solved decks, elsewhere by a search's estimate.

The cost of an action is the expected payoff of the best one less its own, in what the rules pay.
On a solved deck both players go on by the equilibrium, and the opponent has played by it so far: a
cost there is a regret against `nash`. Costs follow from a view, so that they tell nothing hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, permutations
from math import comb, factorial
from typing import NamedTuple

import numpy as np

from ..common.typing import Array
from ..engine.checks import IllegalAction
from ..engine.dtypes import GAME, LEAD, VIEW
from ..engine.endgame import NotOpenError, moves_of, race_moves_of
from ..engine.endgame.game_values import best_tricks
from ..engine.game import Game
from ..engine.play import payoff_of_tricks, row
from ..engine.rules import Rules, RulesLike, load_rules
from ..engine.view import View, checked_view, write_views
from ..solvers.game_tree import play_each_action, write_legal_actions
from .base import view_array
from .registry import load_agent
from .search.base import SearchAgent
from .search.ismcts import IsmctsAgent
from .tabular.nash import NashAgent

EXACT, EQUILIBRIUM, ESTIMATED = "exact", "equilibrium", "estimated"
MAX_DEALS = 3000
"""Deals that agree with a view of a solved deck, at most; with more it has no costs."""


class ActionCosts(NamedTuple):
    """The cost of each legal action of a view."""

    source: str
    """`exact`, `equilibrium` or `estimated`."""
    costs: dict[int, float]
    margins_of_error: dict[int, float]
    """Half of the 95 % interval of each estimated cost; empty otherwise."""


class CostModel:
    """Says what each legal action costs: how much less it gains than the best action.

    >>> from german_whist import Game
    >>> costs = CostModel("classic", search="flat-mc:100,voids").of(Game(seed=1).view())
    >>> costs.source, min(costs.costs.values())
    ('estimated', 0.0)

    - `rules`: the rule set, `"classic"` by default.
    - `search`: `None` (default): only costs that are known exactly. A search with a number of
      samples, such as `"flat-mc:500,voids"`: it estimates the others.

    `of(view)` returns the costs, in the payoff of the hand, or None where they are unknown.
    """

    def __init__(self, rules: RulesLike = "classic", search: str | None = None) -> None:
        self.rules: Rules = load_rules(rules)
        self._nash = NashAgent(self.rules) if NashAgent.plays(self.rules) else None
        self._search: SearchAgent | None = None
        if search is not None:
            agent = load_agent(search, self.rules) if isinstance(search, str) else None
            if (
                not isinstance(agent, SearchAgent)
                or isinstance(agent, IsmctsAgent)
                or agent.budget.seconds
            ):
                raise ValueError(
                    f"{search!r} is not a search that tries every card with a number of samples: "
                    "estimate costs by flat-mc:N"
                )
            self._search = agent

    def of(self, view: View) -> ActionCosts | None:
        """The costs for the player to move; None where they are unknown."""
        view_array(checked_view(view), self.rules)  # refuses other rules
        exact = exact_payoffs(view)
        if exact is not None:
            return ActionCosts(EXACT, _costs(exact), {})
        if self._nash is not None and (payoffs := self._equilibrium_payoffs(view)):
            return ActionCosts(EQUILIBRIUM, _costs(payoffs), {})
        if len(view.legal()) == 1:
            return ActionCosts(EXACT, {view.legal()[0]: 0.0}, {})
        estimates = None if self._search is None else self._search.estimates(view)
        if estimates is None:
            return None
        best = estimates.actions[int(np.argmax(estimates.means))]
        costs, margins = (
            dict(zip(estimates.actions, column.tolist(), strict=True))
            for column in estimates.costs(best)
        )
        return ActionCosts(ESTIMATED, costs, margins)

    # -- solved decks

    def _equilibrium_payoffs(self, view: View) -> dict[int, float]:
        """Expected payoff of each legal action; none if too many deals agree with the view."""
        games, weights = self._possible_games(view)
        if not len(games):
            return {}
        parents, actions, children = self._successors(games)
        values = self._values(children) * (-1 if view.seat else 1) * weights[parents]
        return {
            action: float(values[actions == action].sum() / weights.sum())
            for action in view.legal()
        }

    def _possible_games(self, view: View) -> tuple[Array, Array]:
        """The games that agree with a view, weighted by how the opponent plays in them."""
        played = _played_actions(view)
        games: list[Array] = []
        decisions: list[tuple[int, Array, int]] = []  # of the opponent: the game, and the action
        for deal in _possible_deals(view):
            game = Game(self.rules)
            game.deal_cards(deal, view.seat if view.i_deal else 1 - view.seat)
            own: list[tuple[int, Array, int]] = []
            try:
                for action in played:
                    if game.turn != view.seat:
                        own.append((len(games), game.array.copy(), action))
                    game.play(action)
            except IllegalAction:
                continue
            games.append(game.array.copy())
            decisions += own
        weights = np.ones(len(games))
        if decisions:
            indices, records, actions = zip(*decisions, strict=True)
            probs = self._probabilities(np.concatenate(records))
            np.multiply.at(weights, list(indices), probs[np.arange(len(actions)), list(actions)])
        # What the equilibrium never plays tells nothing of the deal.
        weights = weights if weights.any() else np.ones(len(games))
        return np.concatenate([np.zeros(0, GAME), *games]), weights

    def _probabilities(self, games: Array) -> Array:
        assert self._nash is not None
        views = np.zeros(len(games), VIEW)
        write_views(self.rules.array(), games, games["turn"], views)
        return self._nash.probabilities(views)

    def _successors(self, games: Array) -> tuple[Array, Array, Array]:
        """The parent of each successor, the action that leads to it, and the successor."""
        legal = np.zeros(len(games), np.uint64)
        write_legal_actions(self.rules.array(), games, legal, np.zeros(len(games)))
        parents = np.repeat(np.arange(len(games)), np.bitwise_count(legal))
        children, actions = games[parents], np.zeros(len(parents), np.int64)
        play_each_action(self.rules.array(), legal, children, actions)
        return parents, actions, children

    def _values(self, games: Array) -> Array:
        """Seat 0's expected payoff where both players go on by the equilibrium."""
        if not len(games):
            return np.zeros(0)
        if (games["drawn"][0] == self.rules.stock_cards) and games["phase"][0] == LEAD:
            return self._ending_payoffs(games)
        parents, actions, children = self._successors(games)
        probs = self._probabilities(games)[parents, actions]
        return np.bincount(parents, probs * self._values(children), len(games))

    def _ending_payoffs(self, games: Array) -> Array:
        hand, record = self.rules.hand, row(self.rules.array(), 0)
        best = best_tricks(games)
        first = np.where(games["turn"] == 0, best, hand - best)
        tricks = games["tricks"].astype(np.int64) + np.stack([first, hand - first], axis=1)
        return np.array(
            [
                payoff_of_tricks(record, int(low), own, other)
                for low, (own, other) in zip(games["low"], tricks.tolist(), strict=True)
            ],
            np.float64,
        )


def exact_payoffs(view: View) -> dict[int, int] | None:
    """What each legal card of an open ending pays with perfect play; None in other views."""
    rules = view.rules
    low_race = rules.race is not None and rules.contract != "high"
    if view.phase == "choose" or low_race or not rules.more_tricks_pay:
        return None
    try:
        if rules.race is not None:
            return {int(card): paid for card, paid in race_moves_of(view).items()}
        tricks = moves_of(view)
    except NotOpenError:
        return None
    record, (own, other), left = row(rules.array(), 0), view.counting_tricks, len(view.hand)
    return {
        int(card): int(payoff_of_tricks(record, int(view.low), own + count, other + left - count))
        for card, count in tricks.items()
    }


def _costs(payoffs: Mapping[int, float]) -> dict[int, float]:
    best = max(payoffs.values())
    return {action: float(best - payoff) for action, payoff in payoffs.items()}


def _played_actions(view: View) -> list[int]:
    cards = [(trick.led, trick.followed) for trick in view.tricks()]
    return [int(card) for pair in cards for card in pair if card is not None]


def _possible_deals(view: View) -> Iterator[list[int]]:
    """Every deal, in dealing order, that the view's player cannot rule out by its own cards.

    Of rules with one upcard at each trick, which its winner takes.
    """
    rules, tricks = view.rules, list(view.tricks())
    draws = [trick.my_draw for trick in tricks if trick.my_draw is not None]
    own_hand = sorted({*view.hand, *view.played_by_me} - {*draws})
    stock: list[int | None] = [None] * rules.stock_cards
    for number, own in enumerate(draws):
        other = tricks[number].opponent_draw
        stock[2 * number : 2 * number + 2] = [own, other] if other is None else [other, own]
    if view.upcards:
        stock[2 * len(draws)] = view.upcards[0]
    known = {*own_hand, *stock}
    unknown = [card for card in rules.deck if card not in known]
    free = [place for place, card in enumerate(stock) if card is None]
    if comb(len(unknown), rules.hand) * factorial(len(free)) > MAX_DEALS:
        return
    for other_hand in combinations(unknown, rules.hand):
        hands = (other_hand, own_hand) if view.i_deal else (own_hand, other_hand)
        dealt = [int(card) for pair in zip(*hands, strict=True) for card in pair]
        rest = [card for card in unknown if card not in other_hand]
        for order in permutations(rest):
            filled = dict(zip(free, order, strict=True))
            yield dealt + [filled.get(place, card) for place, card in enumerate(stock)]  # type: ignore[misc]
