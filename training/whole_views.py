"""The walk by whole views: every deal of a very small deck, played in every way, level by level.

What a player may know (its view) is its information set. It takes any player and any rules, and
is what `exploit` does where there is no public tree, or a player errs in endings or remembers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..agents.asking import answer_of
from ..agents.base import Agent, agent_key, decision_streams
from ..engine.arrays import Array
from ..engine.bits import ONE, lowest
from ..engine.compiled import jit
from ..engine.deals import all_deals, count_deals
from ..engine.play import legal, pay, play, row, set_up
from ..engine.rules import Rules
from ..engine.state import GAME, OVER, VIEW
from ..engine.streams import keyed
from ..engine.view import write_views

MOST_LEAVES = 4_000_000
_NOBODY = -1


# -- how large a tree is


def leaves(rules: Rules) -> int:
    """At most so many ways there are to deal and play a hand, for one dealer."""
    foreplay = (rules.hand**2 * (2 if rules.choice else 1)) ** rules.foreplay_tricks
    foreplay *= 4 if rules.exchange else 1
    return count_deals(rules) * foreplay * math.factorial(rules.hand) ** 2


def check_size(rules: Rules) -> None:
    """Refuse a deck whose tree is too large to walk."""
    size = leaves(rules)
    if size > MOST_LEAVES:
        raise ValueError(
            f"the rules {rules.name} can be dealt and played in up to {size:.3g} ways, and at most "
            f"{MOST_LEAVES:,} are walked: 2 suits of 4 ranks with hands of 2, or 3 cards of 8 "
            "with a stock of 2, are small enough"
        )


# -- the tree


@jit
def _begin(rules: np.ndarray, games: np.ndarray, dealer: int) -> None:
    for index in range(len(games)):
        set_up(row(rules, 0), row(games, index), dealer)


@jit
def _look(rules: np.ndarray, games: np.ndarray, cards: np.ndarray, pays: np.ndarray) -> None:
    """The legal actions in every game, and what seat 0 was paid where none is left."""
    for index in range(len(games)):
        game = row(games, index)
        cards[index] = legal(row(rules, 0), game)
        pays[index] = pay(row(rules, 0), game, 0) if game.phase == OVER else 0


@jit
def _expand(
    rules: np.ndarray, cards: np.ndarray, children: np.ndarray, actions: np.ndarray
) -> None:
    """Play every legal action of every game; `children` holds copies of the games."""
    place = 0
    for left in cards:
        while left:
            actions[place] = lowest(left)
            play(row(rules, 0), row(children, place), actions[place])
            left &= left - ONE
            place += 1


@jit
def _hashes(words: np.ndarray, out: np.ndarray) -> None:
    for index in range(len(words)):
        key = np.uint64(0)
        for word in words[index]:
            key = keyed(key, word)
        out[index] = key


@dataclass
class Level:
    """All situations after so many decisions."""

    parents: Array
    """The situation of the level before that each one comes from."""
    actions: Array
    """And the action that led to it."""
    movers: Array
    """The seat to move, -1 where the hand is over."""
    pays: Array
    """What seat 0 was paid, where the hand is over."""
    sets: Array
    """The information set of the seat to move, by its place in `views`."""
    views: Array


@dataclass
class Tree:
    """Every deal by one dealer, played in every way."""

    rules: Rules
    dealer: int
    deals: int = 0
    levels: list[Level] = field(default_factory=list)

    @classmethod
    def of(cls, rules: Rules, dealer: int) -> Tree:
        """The whole tree; refused if it is too large."""
        check_size(rules)
        record = rules.record()
        deals = all_deals(rules)
        games = np.zeros(len(deals), GAME)
        games["deal"][:, : deals.shape[1]] = deals
        _begin(record, games, dealer)
        tree = cls(rules, dealer, len(deals))
        parents, actions = np.zeros(len(games), np.int64), np.zeros(len(games), np.int64)
        while len(games):
            cards, pays = np.zeros(len(games), np.uint64), np.zeros(len(games))
            _look(record, games, cards, pays)
            tree.levels.append(_level(record, games, pays, parents, actions))
            parents = np.repeat(np.arange(len(games)), np.bitwise_count(cards))
            games = games[parents]
            actions = np.zeros(len(games), np.int64)
            _expand(record, cards, games, actions)
        return tree


def _level(record: Array, games: Array, pays: Array, parents: Array, actions: Array) -> Level:
    over = games["phase"] == OVER
    playing = np.flatnonzero(~over)
    views = np.zeros(len(playing), VIEW)
    write_views(record, games[playing], games["turn"][playing], views)
    words = views.view(np.uint64).reshape(len(views), VIEW.itemsize // 8)
    keys = np.zeros(len(views), np.uint64)
    _hashes(words, keys)
    _, firsts, sets = np.unique(keys, return_index=True, return_inverse=True)
    assert (words[firsts][sets] == words).all(), "two views have one key"
    everywhere = np.full(len(games), _NOBODY, np.int64)
    everywhere[playing] = sets
    movers = np.where(over, _NOBODY, games["turn"].astype(np.int64))
    return Level(parents, actions, movers, pays, everywhere, views[firsts])


# -- strategies


@dataclass
class Past:
    """What the owner of each information set decided before it, level by level."""

    levels: list[Level]
    sets: list[Array]
    """At each earlier level its information set, -1 where another was to move."""
    actions: list[Array]
    """And what it played there, to get here."""

    @classmethod
    def of(cls, tree: Tree, depth: int) -> Past:
        """The past of all information sets of a level."""
        here = tree.levels[depth]
        playing = np.flatnonzero(here.movers != _NOBODY)
        _, firsts = np.unique(here.sets[playing], return_index=True)
        # Whoever has seen the same has decided the same, so any situation tells it.
        at = playing[firsts]
        owners = here.movers[at]
        past = cls([], [], [])
        for before in range(depth - 1, -1, -1):
            level, after = tree.levels[before], tree.levels[before + 1]
            actions, at = after.actions[at], after.parents[at]
            past.levels.insert(0, level)
            past.sets.insert(0, np.where(level.movers[at] == owners, level.sets[at], _NOBODY))
            past.actions.insert(0, actions)
        return past


def probabilities(agent: Agent, views: Array, samples: int = 0, past: Past | None = None) -> Array:
    """With what probability an agent plays each action in each view.

    An agent that knows its own says them (`probabilities`). Of others it is asked
    whether they always play the same; those that do not are refused, or with
    `samples` asked so many times. One that remembers is led through the `past` of
    each view first, and counts where it would have come to it by itself.
    """
    known = getattr(agent, "probabilities", None)
    if known is not None:
        return np.asarray(known(views), np.float64)
    answers = [_answer(agent, views, number, past) for number in range(max(3, samples))]
    draws = np.stack([drawn for drawn, _ in answers])
    counts = np.stack([came for _, came in answers])
    counts[:, ~counts.any(axis=0)] = True
    first = draws[counts.argmax(axis=0), np.arange(len(views))]
    if not samples and (draws != first)[counts].any():
        raise ValueError(
            f"{agent.name} draws its actions, and does not say with what probabilities: give "
            "--samples to estimate them"
        )
    found = np.zeros((len(views), agent.rules.actions))
    for draw, came in zip(draws, counts, strict=True):
        found[came, draw[came]] += 1
    return found / found.sum(axis=1, keepdims=True)


def _answer(agent: Agent, views: Array, number: int, past: Past | None) -> tuple[Array, Array]:
    """What it plays in each view, and in which it would have come to by itself."""
    everywhere, key = np.arange(len(views)), agent_key(number)
    came = np.ones(len(views), np.bool_)

    def asked(seen: Array, where: Array) -> Array:
        rng = decision_streams(key, where, seen)
        return answer_of(agent, seen, rng, where)

    if agent.keeps_state:
        if past is None:
            raise ValueError(f"{agent.name} remembers: views alone do not tell what it plays")
        agent.reset(everywhere.copy())
        for level, sets, actions in zip(past.levels, past.sets, past.actions, strict=True):
            where = np.flatnonzero(sets != _NOBODY)
            came[where] &= asked(level.views[sets[where]], where) == actions[where]
    return asked(views, everywhere), came


Strategy = list[Array]


def strategy(agent: Agent, tree: Tree, samples: int = 0) -> Strategy:
    """What an agent plays in every information set of a tree, level by level."""
    return [
        probabilities(
            agent, level.views, samples, Past.of(tree, depth) if agent.keeps_state else None
        )
        for depth, level in enumerate(tree.levels)
    ]


# -- walking


def value(tree: Tree, first: Strategy, second: Strategy) -> float:
    """What seat 0 is paid on average when it plays one strategy and seat 1 the other."""
    return float(_values(tree, (first, second))[0].mean())


def best_response(tree: Tree, seat: int, other: Strategy) -> float:
    """The most that a seat can be paid on average against a strategy in the other seat."""
    plays = (None, other) if seat == 0 else (other, None)
    found = float(_values(tree, plays)[0].mean())
    return found if seat == 0 else -found


def _values(tree: Tree, plays: tuple[Strategy | None, Strategy | None]) -> list[Array]:
    """What seat 0 is paid from every situation on; a seat without a strategy responds best."""
    levels = tree.levels
    weights = [np.full(tree.deals, 1.0 / tree.deals)]
    edges: list[Array] = []
    for depth in range(1, len(levels)):
        level, before = levels[depth], levels[depth - 1]
        movers, sets = before.movers[level.parents], before.sets[level.parents]
        edge = np.ones(len(level.parents))
        for seat, play_of in enumerate(plays):
            if play_of is not None:
                here = movers == seat
                edge[here] = play_of[depth - 1][sets[here], level.actions[here]]
        edges.append(edge)
        weights.append(weights[-1][level.parents] * edge)
    values = [levels[-1].pays]
    for depth in range(len(levels) - 2, -1, -1):
        after, here = levels[depth + 1], levels[depth]
        share = edges[depth].copy()
        for seat, play_of in enumerate(plays):
            if play_of is None:
                sign = 1.0 if seat == 0 else -1.0
                worth = sign * weights[depth + 1] * values[-1]
                _respond(here, after, seat, worth, tree.rules.actions, share)
        paid = np.bincount(after.parents, share * values[-1], len(here.movers))
        values.append(np.where(here.movers == _NOBODY, here.pays, paid))
    return values[::-1]


def _respond(
    here: Level, after: Level, seat: int, worth: Array, actions: int, share: Array
) -> None:
    """Give all of a seat's share to the action that is worth most in its information set."""
    mine = here.movers[after.parents] == seat
    if not mine.any():
        return
    cells = here.sets[after.parents[mine]] * actions + after.actions[mine]
    size = len(here.views) * actions
    total = np.bincount(cells, worth[mine], size)
    total[np.bincount(cells, minlength=size) == 0] = -np.inf
    best = total.reshape(-1, actions).argmax(axis=1)
    share[mine] = after.actions[mine] == best[here.sets[after.parents[mine]]]
