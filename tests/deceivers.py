"""Agents that deceive: by learnt deals, by memory in a class, by false claims."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from german_whist import Game
from german_whist.agents.base import Agent, Array
from german_whist.agents.perfect_endgame import EndgamePlayer
from german_whist.agents.registry import make_agent
from german_whist.engine.view import action_masks, legal_in_views
from german_whist.evaluation.protocol import PROTOCOLS


class Pretending(Agent):
    """Plays as `threshold`, and states the probabilities of `nash`."""

    name = "pretending"
    perfect_endgame = True  # type: ignore[assignment]

    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.plays, self.states = (make_agent(name, rules) for name in ("threshold", "nash"))

    def act(self, views: Array, rng: Array) -> Array:
        return self.plays.act(views, rng)

    def probabilities(self, views: Array) -> Array:
        return self.states.probabilities(views)  # type: ignore[attr-defined, no-any-return]


class Worst(Agent):
    """Plays the foreplay as `threshold`, claims perfect endings, and plays another card there."""

    name = "worst"
    perfect_endgame = True  # type: ignore[assignment]

    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.plays = make_agent("threshold", rules)

    def act(self, views: Array, rng: Array) -> Array:
        actions = self.plays.act(views, rng)
        legal = action_masks(self.record, views, self.rules.actions)
        highest = legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)
        other = np.where(actions == highest, legal.argmax(axis=1), highest)
        return np.where(views["stock_left"] == 0, other, actions)


class Honest(Worst):
    """Plays as `worst`, and does not claim perfect endings."""

    perfect_endgame = False  # type: ignore[assignment]


class Ordering(Agent):
    """Plays high or low cards by its first unseen draw, and claims not to read their order."""

    name = "ordering"
    reads_draws = False

    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self._endgame = EndgamePlayer(self.rules)

    def act(self, views: Array, rng: Array) -> Array:
        legal = action_masks(self.record, views, self.rules.actions)
        highest = legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)
        actions = np.where(views["my_draws"][:, 0] % 2 == 0, highest, legal.argmax(axis=1))
        self._endgame.improve(views, actions)
        return actions


def value_of(card: int, trump: int) -> int:
    return card % 13 + (13 if card // 13 == trump else 0)


def wins(card: int, led: int, trump: int) -> bool:
    """Whether a reply wins the trick."""
    return card > led if card // 13 == led // 13 else card // 13 == trump


class LearntDeals(Agent):
    """Has the public deals of v1 in a table: it knows the next card and the other hand."""

    name = "learnt-deals"
    keeps_state = True

    def __init__(self, rules: Any = "classic", *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self._endgame, protocol = EndgamePlayer(self.rules), PROTOCOLS["v1"]
        self.table: dict[int, list[int]] = {}
        for number in range(protocol.hands // 2):
            game = Game(rules, seed=protocol.seed, number=number)
            deal = [int(card) for card in game.record["deal"][0]]
            for seat in range(2):
                self.table[sum(1 << card for card in deal[seat:26:2])] = deal
        self.deal_of: dict[int, list[int] | None] = {}

    def act(self, views: Array, rng: Array, *, indices: Array) -> Array:  # type: ignore[override]
        legal, actions = np.zeros(len(views), np.uint64), np.zeros(len(views), np.int64)
        legal_in_views(self.record, views, legal)
        for place, (view, index) in enumerate(zip(views, indices.tolist(), strict=True)):
            if not view["trick"]:
                self.deal_of[index] = self.table.get(int(view["hand"]))
            cards = [card for card in range(52) if int(legal[place]) >> card & 1]
            actions[place] = self.choose(view, cards, self.deal_of[index])
        self._endgame.improve(views, actions)
        return actions

    def choose(self, view: Any, cards: list[int], deal: list[int] | None) -> int:
        trump, led, trick = int(view["trump"]), int(view["led"]), int(view["trick"])
        cards = sorted(cards, key=lambda card: value_of(card, trump))
        if deal is None or not view["stock_left"]:
            return cards[0]
        stock = deal[26 + 2 * trick :]
        wanted = value_of(stock[0], trump) > value_of(stock[1], trump)
        gone = int(view["played"][0]) | int(view["played"][1]) | int(view["hand"])
        other = [card for card in deal if not gone >> card & 1 and card not in stock]
        if led < 52:
            winners = [card for card in cards if wins(card, led, trump)]
        else:
            winners = [card for card in cards if self.stands(card, other, trump)]
        losers = [card for card in cards if card not in winners]
        return ((winners if wanted else losers) or cards)[0]

    @staticmethod
    def stands(led: int, other: list[int], trump: int) -> bool:
        """Whether no reply from the other hand wins the trick."""
        same = [card for card in other if card // 13 == led // 13]
        return not any(wins(card, led, trump) for card in same or other)


class Remembering(Agent):
    """Plays at random, or as `threshold` once its class has seen the first upcard before."""

    name = "remembering"
    keeps_state = True
    seen: ClassVar[set[int]] = set()

    def __init__(self, rules: Any = "classic", *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.plays = [make_agent(name, rules) for name in ("random", "threshold")]
        self.knows: dict[int, bool] = {}

    def act(self, views: Array, rng: Array, *, indices: Array) -> Array:  # type: ignore[override]
        first = np.flatnonzero(views["trick"] == 0)
        for place in first.tolist():
            self.knows[int(indices[place])] = int(views["upcards"][place, 0]) in self.seen
        self.seen.update(views["upcards"][first, 0].tolist())
        random, threshold = (agent.act(views, rng.copy()) for agent in self.plays)
        return np.where([self.knows[index] for index in indices.tolist()], threshold, random)
