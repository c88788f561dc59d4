"""Agents that deceive: by learnt deals, by memory in a class, by false claims."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from attacks import cards_dealt, one_ply, set_of

from german_whist.agents.base import Agent, Array
from german_whist.agents.heuristic.threshold import ThresholdAgent
from german_whist.agents.perfect_endgame import EndgamePlayer
from german_whist.agents.registry import make_agent
from german_whist.engine.view import action_masks
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
        legal = action_masks(self.rules_array, views, self.rules.actions)
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
        legal = action_masks(self.rules_array, views, self.rules.actions)
        highest = legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)
        actions = np.where(views["my_draws"][:, 0] % 2 == 0, highest, legal.argmax(axis=1))
        self._endgame.improve(views, actions)
        return actions


class LearntDeals(ThresholdAgent):
    """Plays as `threshold`, and by one ply where it has the deal in a table of v1's public ones."""

    name = "learnt-deals"
    keeps_state = True

    def __init__(self, rules: Any = "classic", *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        seed, numbers = PROTOCOLS["v1"].seed, range(PROTOCOLS["v1"].hands // 2)
        deals = [cards_dealt(seed, number) for number in numbers]
        self.table = {set_of(deal[seat:26:2]): deal for deal in deals for seat in (0, 1)}
        self.deal_of: dict[int, tuple[int, ...] | None] = {}

    def act(self, views: Array, rng: Array, *, indices: Array) -> Array:  # type: ignore[override]
        actions = super().act(views, rng)
        for place, (view, index) in enumerate(zip(views, indices.tolist(), strict=True)):
            if not view["trick"]:
                self.deal_of[index] = self.table.get(int(view["hand"]))
            deal = self.deal_of[index]
            if deal is not None and view["stock_left"]:
                stock = deal[26 + 2 * int(view["trick"]) :]
                seen = int(view["hand"]) | int(view["played"][0]) | int(view["played"][1])
                actions[place] = one_ply(view, set_of(deal) & ~seen & ~set_of(stock), stock[1])
        return actions


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
