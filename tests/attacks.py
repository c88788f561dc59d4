"""Attacks on what a player may not know: by its random streams, and by what it remembers.

The attackers play as `threshold` does where they find nothing, so whoever learns
nothing wins half against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from german_whist import Game
from german_whist.agents import agent_key, decision_streams, load_agent
from german_whist.agents.base import Agent, Array
from german_whist.agents.heuristic.threshold import ThresholdAgent
from german_whist.engine.cards import cards_of
from german_whist.engine.dtypes import SEATS
from german_whist.engine.rng import hash_with
from german_whist.evaluation import evaluate
from support import dealt

HAND = 13
Streams = Callable[[Array, Array], Array]


def set_of(cards: Iterable[int]) -> int:
    return sum(1 << int(card) for card in cards if card < 52)


@cache
def cards_dealt(seed: int, number: int) -> tuple[int, ...]:
    return tuple(int(card) for card in Game("classic", seed=seed, number=number).cards_dealt)


# -- one trick with open cards


def one_ply(view: Any, theirs: int, second: int) -> int:
    """The card that is best in this trick alone, against these cards and this one after the upcard.

    What winning takes is worth the upcard less `second`; a card played costs what it is worth.
    """
    trump = int(view["trump"])

    def worth(card: int) -> int:
        return card % 13 + (13 if card // 13 == trump else 0)

    prize = worth(int(view["upcards"][0])) - worth(second)

    def answers(hand: int, led: int) -> Sequence[int]:
        same = [card for card in cards_of(hand) if card // 13 == led // 13]
        return same or cards_of(hand)

    def wins(card: int, led: int) -> bool:
        return card > led if card // 13 == led // 13 else card // 13 == trump

    def answered(card: int, led: int) -> int:
        return (prize if wins(card, led) else -prize) - worth(card)

    def led_to(card: int) -> int:
        answer = max(answers(theirs, card), key=lambda each: answered(each, card))
        return (-prize if wins(answer, card) else prize) - worth(card)

    hand = int(view["hand"])
    if view["phase"] == 1:
        led = int(view["led"])
        return max(answers(hand, led), key=lambda card: answered(card, led))
    return max(cards_of(hand), key=led_to)


class Attacker(ThresholdAgent):
    """Plays as `threshold`, but by one ply where it takes a hand for the other's."""

    reads_tricks = True
    decisions: ClassVar[int]
    claims: ClassVar[list[tuple[int, int]]]
    """A hand as it was dealt, and what its player took for the other's."""

    def __init__(self, rules: Any = "classic", *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.name = type(self).__name__

    @classmethod
    def begin(cls) -> None:
        cls.decisions, cls.claims = 0, []

    @classmethod
    def right(cls, seed: int, pairs: int) -> int:
        """How many claims are right, as the deals of a seed tell."""
        others = {}
        for number in range(pairs):
            hands = [set_of(cards_dealt(seed, number)[at : 2 * HAND : 2]) for at in range(SEATS)]
            others |= {hands[0]: hands[1], hands[1]: hands[0]}
        return sum(others.get(mine) == theirs for mine, theirs in cls.claims)


# -- by the random streams


def chained_streams(seed: int) -> Streams:
    """Streams that can be run backwards: chained bijections of seed, number and decision."""
    key = np.uint64(hash_with(np.uint64(seed), np.uint64(AGENTS)))

    def streams(numbers: Array, views: Array) -> Array:
        codes = decision_codes(views)
        starts = [
            hash_with(np.uint64(hash_with(key, np.uint64(number))), np.uint64(code))
            for number, code in zip(numbers, codes, strict=True)
        ]
        return np.array(starts, np.uint64)

    return streams


def decision_codes(views: Array) -> Array:
    """What makes the decisions of one deal differ: seat, trick and phase."""
    seats, tricks, phases = (views[name].astype(np.uint64) for name in ("seat", "trick", "phase"))
    return 128 * seats + 4 * tricks + phases


STEP, MIX_A, MIX_B = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
AGENTS = 0x6167656E7473
UNDO_A, UNDO_B = (np.uint64(pow(each, -1, 1 << 64)) for each in (MIX_A, MIX_B))


def unmixed(x: Array) -> Array:
    """The numbers that `mixed` makes these of."""
    a, b, c = (np.array([each, 2 * each], np.uint64) for each in (31, 27, 30))
    x = (x ^ x >> a[0] ^ x >> a[1]) * UNDO_B
    x = (x ^ x >> b[0] ^ x >> b[1]) * UNDO_A
    return x ^ x >> c[0] ^ x >> c[1]


def unkeyed(values: Array, numbers: Array) -> Array:
    """The seeds of which `keyed` makes these values with these numbers."""
    return unmixed(unmixed(values) ^ (numbers + np.uint64(1)) * np.uint64(MIX_B)) - np.uint64(STEP)


NUMBERS = np.arange(500, dtype=np.uint64)
TYPED_SEEDS = range(30)


class StreamThief(Attacker):
    """Runs its streams backwards for many deals' numbers, and tries seeds that people type."""

    def act(self, views: Array, rng: Array) -> Array:
        actions = super().act(views, rng)
        for index in np.flatnonzero(views["stock_left"] > 0):
            view = views[index : index + 1]
            type(self).decisions += 1
            for seed, number in (*backwards(view, rng[index]), *forwards(view, rng[index])):
                actions[index] = self.knowing(view[0], cards_dealt(seed, number))
        return actions

    def knowing(self, view: Any, deal: tuple[int, ...]) -> int:
        """The card it plays when it takes this for the deal."""
        trick, place = int(view["trick"]), int(view["i_deal"])
        theirs = set_of(deal[1 - place : 2 * HAND : 2])
        drawn = set_of(view["my_draws"][:trick])
        held = int(view["hand"]) | int(view["played"][0])
        type(self).claims.append((held & ~drawn, theirs))
        stock = deal[2 * HAND :]
        theirs |= set_of(stock[: 2 * trick]) & ~drawn
        return one_ply(view, theirs & ~int(view["played"][1]), stock[2 * trick + 1])


def backwards(view: Array, start: np.uint64) -> list[tuple[int, int]]:
    """The seeds that people might use which chained bijections lead back to, and their numbers."""
    first = unkeyed(np.full(len(NUMBERS), start), np.repeat(decision_codes(view), len(NUMBERS)))
    seeds = unkeyed(unkeyed(first, NUMBERS), np.full(len(NUMBERS), np.uint64(AGENTS)))
    return [(int(seeds[number]), int(number)) for number in np.flatnonzero(seeds < 1 << 32)]


def forwards(view: Array, start: np.uint64) -> list[tuple[int, int]]:
    """The seeds that people type whose own key gives this stream, and the number of the deal."""
    if view["trick"][0]:
        return []
    views = np.repeat(view, len(NUMBERS))
    return [
        (seed, int(number))
        for seed in TYPED_SEEDS
        for number in np.flatnonzero(decision_streams(agent_key(seed), NUMBERS, views) == start)
    ]


# -- by memory


class Rememberer(Attacker):
    """Looks for the other half of its deal in the same call, and in all that it ever saw."""

    keeps_state = True

    def __init__(self, rules: Any = "classic", *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.games: list[tuple[int, int, int]] = []
        """Of each game: the first upcard, the hand dealt, and what the other was not dealt."""
        self.at: dict[int, int] = {}

    def reset(self, indices: Array) -> None:
        """New hands begin; what was seen of the old ones stays."""
        for index in indices.tolist():
            self.at.pop(index, None)

    def act(self, views: Array, rng: Array, indices: Array | None = None) -> Array:
        assert indices is not None
        actions = super().act(views, rng)
        foreplay = np.flatnonzero(views["stock_left"] > 0)
        for place in foreplay:
            self.remember(int(indices[place]), views[place])
        for place in foreplay:
            type(self).decisions += 1
            other = self.other_half(int(indices[place]))
            if other is not None:
                mine = self.games[self.at[int(indices[place])]][1]
                actions[place] = self.knowing(views[place], mine, self.games[other][1])
        return actions

    def other_half(self, index: int) -> int | None:
        """The game that fits best: it has the same upcard, and its player saw none of my cards."""
        upcards, hands, others = np.array(self.games, np.uint64).T
        here = self.at[index]
        fits = np.flatnonzero((upcards == upcards[here]) & (others & hands[here] == 0))
        return max(fits.tolist(), key=lambda each: int(others[each]).bit_count(), default=None)

    def remember(self, index: int, view: Any) -> None:
        if index not in self.at:
            self.at[index] = len(self.games)
            self.games.append((int(view["upcards"][0]), int(view["hand"]), int(view["hand"])))
        upcard, hand, other = self.games[self.at[index]]
        drawn = set_of(view["my_draws"]) | set_of(view["opponent_draws"])
        self.games[self.at[index]] = upcard, hand, other | drawn

    def knowing(self, view: Any, mine: int, theirs: int) -> int:
        """The card it plays when it takes this for the other's hand as it was dealt."""
        type(self).claims.append((mine, theirs))
        theirs = (theirs | int(view["opponent_known"])) & ~int(view["played"][1])
        return one_ply(view, theirs & ~int(view["hand"]) or int(view["unseen"]), 6)


# -- what they come to


def side_by_side(one: Agent, two: Agent, seed: int, pairs: int, streams: Streams) -> float:
    """Both seat-swapped games of every deal in the same calls; the fraction that `one` wins."""
    swapped = [dealt("classic", pairs, seed=seed) for _ in range(SEATS)]
    rewards, over = 0.0, np.zeros((SEATS, pairs), bool)
    while not over.all():
        for player, agent in enumerate((one, two)):
            where = [
                np.flatnonzero((games.batch.games["turn"] == player ^ half) & ~over[half])
                for half, games in enumerate(swapped)
            ]
            indices = np.concatenate([SEATS * each + half for half, each in enumerate(where)])
            if not len(indices):
                continue
            views = np.concatenate(
                [games.views(indices=each) for games, each in zip(swapped, where, strict=True)]
            )
            order = np.argsort(indices)
            rng = streams(indices[order].astype(np.uint64) // np.uint64(SEATS), views[order])
            told = {"indices": indices[order]} if agent.keeps_state else {}
            actions = np.empty(len(indices), np.int64)
            actions[order] = agent.act(views[order], rng, **told)
            parts = np.split(actions, [len(where[0])])
            for half, (games, each) in enumerate(zip(swapped, where, strict=True)):
                if len(each):
                    step = games.step(parts[half], each)
                    rewards += step.rewards[each, half].sum()
                    over[half] |= step.ended
    return 0.5 + rewards / (2 * SEATS * pairs)


def unprotected(kind: type[Attacker], seed: int, pairs: int) -> tuple[int, int, float]:
    """An attack where everything is open to it: claims that are right, decisions, wins."""
    kind.begin()
    rate = side_by_side(kind(), load_agent("threshold"), seed, pairs, chained_streams(seed))
    return kind.right(seed, pairs), kind.decisions, rate


def in_the_arena(
    kind: type[Attacker], seed: int, pairs: int, **options: Any
) -> tuple[int, int, Any]:
    """The same attack in the arena; `player` may be an object instead of the class."""
    player = options.pop("player", kind)
    kind.begin()
    others = ["threshold", "upcard-value"]  # the same deals with each of them
    found = evaluate(player, others, hands=SEATS * pairs, seed=seed, **options)
    return kind.right(seed, pairs), kind.decisions, found.pairings[0].win_rate
