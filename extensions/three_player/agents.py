"""Agents of the three-player game: functions of a view and a random stream, and their measurement.

An agent plays its own cards, and the dummy's if it is the declarer. The stream is a `uint64` in an
array, which `below` advances: keyed by deal, seat and card, so that results do not depend on the
order in which hands are played.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from german_whist.agents.base import Array, agent_key
from german_whist.common.suggestions import suggest
from german_whist.engine.cards import N_CARDS, cards_of
from german_whist.engine.checks import checked_count
from german_whist.engine.play import beats
from german_whist.engine.rng import SipKey, random_below, siphash
from german_whist.evaluation.statistics import Estimate, mean_of

from .game import DUMMY, PLAYERS, ThreeGame, ThreeView

ThreeAgent = Callable[[ThreeView, Array], int]
_QUEEN = 10
_SUIT = 0x1FFF
_ME = 0


def random_card(view: ThreeView, stream: Array) -> int:
    legal = cards_of(view.legal)
    return legal[random_below(stream, len(legal))]


def thrifty_card(view: ThreeView, stream: Array) -> int:
    """Win valuable tricks as cheaply as possible, and save trumps and high cards otherwise.

    Valuable are, for the stock, trumps, queens and better, and the eighth trick always, as it wins
    the dummy; then every trick. With the dummy it wins what it does not win itself, since the
    dummy's tricks count for no player.
    """
    legal = [int(card) for card in cards_of(view.legal)]
    cheapest = min(legal, key=lambda card: _strength(card, view))
    best = view.winning
    for_dummy = view.turn == DUMMY
    if best is None:
        return cheapest if for_dummy or not _worth_it(view) else _lead(legal, view)
    winning = [card for card in legal if beats(card, best, view.trump)]
    if not winning or not _worth_it(view) or (for_dummy and _has_it(view, best)):
        return cheapest
    return min(winning, key=lambda card: _strength(card, view))


def _strength(card: int, view: ThreeView) -> int:
    return card % 13 + (13 if card // 13 == view.trump else 0)


def _worth_it(view: ThreeView) -> bool:
    if view.draws_left <= 1:
        return True
    upcard = view.upcard.bit_length() - 1
    return upcard // 13 == view.trump or upcard % 13 >= _QUEEN


def _lead(legal: list[int], view: ThreeView) -> int:
    """The highest card without a higher one left in its suit, else the highest of all."""
    unseen = view.unseen | view.known[0] | view.known[1] | view.dummy
    masters = [card for card in legal if not unseen >> card & (1 << 13 - card % 13) - 1]
    return max(masters or legal, key=lambda card: _strength(card, view))


def _has_it(view: ThreeView, best: int) -> bool:
    """Whether the player wins the trick as it stands, or has a card left that would."""
    if view.trick[_ME]:
        return view.winner == _ME
    of_suit = view.hand & _SUIT << 13 * ((view.led or 0) // 13)
    return any(beats(card, best, view.trump) for card in cards_of(of_suit or view.hand))


AGENTS_OF_THREE: dict[str, ThreeAgent] = {"random": random_card, "thrifty": thrifty_card}


def agent_for_three(agent: object) -> ThreeAgent:
    """Agent by name, or a function."""
    if callable(agent):
        return agent  # pyright: ignore[reportReturnType]
    if not isinstance(agent, str) or agent not in AGENTS_OF_THREE:
        raise ValueError(
            f"there is no agent {agent!r} for three{suggest(str(agent), AGENTS_OF_THREE)}"
        )
    return AGENTS_OF_THREE[agent]


# -- playing


def three_stream(key: SipKey, game: ThreeGame) -> Array:
    """Random stream of the next card, by deal, seat and number of cards played."""
    place = N_CARDS * (game.turn or 0) + len(game.actions)
    return np.array([siphash(key, np.uint64(game.number), np.uint64(place))], np.uint64)


def play_hand(game: ThreeGame, players: Sequence[ThreeAgent], key: SipKey) -> ThreeGame:
    while (seat := game.mover) is not None:
        game.play(players[seat](game.view(seat), three_stream(key, game)))
    return game


def estimate_payoff(
    agent: object, opponents: object = "random", hands: int = 1000, seed: int = 1
) -> Estimate:
    """Mean payoff a hand against two of an opponent, every deal played once from each seat."""
    if checked_count(hands, "hands") < 2:
        raise ValueError(f"hands is {hands!r}: an interval takes two deals or more")
    key, own, opponent = agent_key(seed), agent_for_three(agent), agent_for_three(opponents)
    game, payoffs = ThreeGame(), np.zeros(hands)
    for number in range(hands):
        for seat in range(PLAYERS):
            game.deal(seed, number)
            players = [own if place == seat else opponent for place in range(PLAYERS)]
            payoffs[number] += play_hand(game, players, key).payoffs[seat] / PLAYERS
    return mean_of(payoffs)
