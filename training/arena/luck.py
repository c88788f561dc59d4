# pyright: reportArgumentType=false, reportReturnType=false
# Numba has one integer where annotations see `int` and `np.int64`.
"""How lucky a player was with the stock, so that it can be taken out of what a hand came to.

After a trick for the stock its loser draws a card that nobody has seen, and another is turned
up; any two of those that are left are as likely. What sees both hands says what the position is
worth with these two, and with every other two in their place. The mean less what came is how
unlucky the winner was: nothing on average, whoever plays and however wrong that word is. A
result with it added has the mean that it had, and a smaller spread: the corrections for chance
of AIVAT (Burch, Schmid, Moravčík, Morrill and Bowling 2018, arXiv:1612.06915). The luck of the
deal itself is gone already, since every deal is played twice.

The word is that of the network of worth. Where one or two tricks for the stock are left it is
mixed with what comes of it when both go on by the champion's network, weighed by its
probabilities, to exact endings. How they are mixed was fitted once, on 200 deals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...agents.checkpoint import read_checkpoint
from ...agents.layers import Layers, Rows, new_rows, pass_rows
from ...agents.network import PolicyNet, policy_net
from ...agents.replies import Desk, ask_in_game, new_desk
from ...agents.shipped import WORTH, champion_for
from ...agents.worth import MOST_PLACES, OUTCOMES, read_worth, write_places
from ...engine.bits import NO_CARDS, ONE, bit, lowest, nth_lowest
from ...engine.compiled import inlined, jit
from ...engine.endgame import Scratch, Tables, solve
from ...engine.play import Record, legal, pay_for, play, row, stock_left
from ...engine.rules import Match, Rules
from ...engine.state import GAME, LEAD

FIGURES = 3
"""What luck is told of: the score in halves of a win, the margin, and the points."""
PARTS = 1 << 14
"""Luck is counted in whole parts of so much, as sums of them do not depend on their order."""

_OF_NETWORK, _OF_PLAY = 0.9, 0.45
_LATE = 4
"""So many cards in the stock, or fewer, are played on with."""
_UNLIKELY = 0.05
"""What is played less often is not looked at where hands are played on."""


class Judge(NamedTuple):
    """Who says what a position is worth, and room for it."""

    worth: Layers
    rows: Rows
    policy: PolicyNet
    desk: Desk
    known: Tables
    scratch: Scratch
    pays: np.ndarray
    """`(FIGURES, OUTCOMES)`: what each number of tricks in the ending comes to."""
    games: np.ndarray
    """A game for each level of playing on."""
    chances: np.ndarray
    """And how likely each action is there."""
    worths: np.ndarray
    """`(3, FIGURES)`: of a case, of what came, and the sum of all."""


def networks_for(rules: Rules) -> tuple[Layers, PolicyNet]:
    """The networks of worth and of the champion, where they know these rules."""
    return read_worth(WORTH, rules), policy_net(read_checkpoint(champion_for(rules)))


def check_luck(rules: Rules, match: Match | None) -> None:
    """Refuse what nobody here can tell the luck of."""
    if match is not None:
        raise ValueError(
            f"without_luck: luck is told of single hands, and not of {match}: leave one out"
        )
    try:
        networks_for(rules)
    except ValueError as error:
        raise ValueError(
            f"without_luck: nothing says what a position of {rules.name} is worth ({error}): "
            "leave it out, or play classic"
        ) from None


def new_judge(rules: Rules, known: Tables, scratch: Scratch) -> Judge:
    """A judge of the games of a rule set, with its tables of endings."""
    worth, policy = networks_for(rules)
    record, tricks = rules.record()[0], rules.hand
    pays = np.zeros((FIGURES, OUTCOMES))
    for taken in range(tricks + 1):
        paid = pay_for(record, 0, taken, tricks - taken)
        pays[:, taken] = 1 + np.sign(paid), 2 * taken - tricks, paid
    unseen = max(rules.stock_cards - 1, 2)
    return Judge(
        worth, new_rows(worth, unseen * (unseen - 1), MOST_PLACES), policy, new_desk(policy),
        known, scratch, pays, np.zeros(5, GAME), np.zeros((4, policy.sizes[-1])),
        np.zeros((3, FIGURES)),
    )  # fmt: skip


@inlined
def _add_network(judge: Any, index: int, case: np.ndarray) -> None:
    """Add what the network of worth said of one of its rows to the leader's figures."""
    out = judge.rows.out[index]
    top, total = np.float64(out[0]), 0.0
    for tricks in range(1, OUTCOMES):
        top = max(top, np.float64(out[tricks]))
    for tricks in range(OUTCOMES):
        total += np.exp(out[tricks] - top)
    for tricks in range(OUTCOMES):
        share = _OF_NETWORK * np.exp(out[tricks] - top) / total
        for figure in range(FIGURES):
            case[figure] += share * judge.pays[figure, tricks]


@jit
def _two_of(cards: np.uint64, size: int, number: int) -> tuple[np.uint64, np.uint64]:
    """Two of so many cards, each way to draw one after the other by its number."""
    first = bit(nth_lowest(cards, number // (size - 1)))
    return first, bit(nth_lowest(cards ^ first, number % (size - 1)))


# -- playing on


@jit
def _likely(rules: Record, game: Record, judge: Judge, chances: np.ndarray) -> None:
    """How likely the champion's network plays each action, without what it hardly ever plays."""
    cards = legal(rules, game)
    chances[:] = 0.0
    if cards & (cards - ONE) == NO_CARDS:
        chances[lowest(cards)] = 1.0
        return
    ask_in_game(rules, game, judge.policy, judge.desk)
    logits = judge.desk.logits
    top, total = np.float64(logits[0]), 0.0
    for action in range(1, len(logits)):
        top = max(top, np.float64(logits[action]))
    for action in range(len(logits)):
        chances[action] = np.exp(logits[action] - top)
        total += chances[action]
    kept = 0.0
    for action in range(len(logits)):
        chances[action] /= total
        if chances[action] < _UNLIKELY:
            chances[action] = 0.0
        kept += chances[action]
    for action in range(len(logits)):
        chances[action] /= kept


@jit
def _last_trick(
    rules: Record, level: int, seat: int, weight: float, judge: Judge, case: np.ndarray
) -> None:
    """Play the last trick for the stock from a level's game on, to exact endings."""
    games = judge.games
    leads, replies = judge.chances[level], judge.chances[level + 1]
    _likely(rules, row(games, level), judge, leads)
    for lead in range(len(leads)):
        if leads[lead] == 0.0:
            continue
        games[level + 1] = games[level]
        play(rules, row(games, level + 1), lead)
        _likely(rules, row(games, level + 1), judge, replies)
        for reply in range(len(replies)):
            if replies[reply] == 0.0:
                continue
            games[level + 2] = games[level + 1]
            ending = row(games, level + 2)
            play(rules, ending, reply)
            leader = np.int64(ending.leader)
            taken = solve(
                judge.known, judge.scratch, ending.hand[leader], ending.hand[1 - leader],
                np.int64(ending.trump),
            )  # fmt: skip
            if leader != seat:
                taken = np.int64(rules.hand) - taken
            share = weight * leads[lead] * replies[reply]
            for figure in range(FIGURES):
                case[figure] += share * judge.pays[figure, taken]


@jit
def _last_two_tricks(
    rules: Record, seat: int, rest: np.uint64, judge: Judge, case: np.ndarray
) -> None:
    """The same from before the last trick but one, in the order in which `rest` may lie."""
    games = judge.games
    base = 2 * np.int64(rules.hand) + np.int64(games[0]["drawn"])
    leads, replies = judge.chances[0], judge.chances[1]
    _likely(rules, row(games, 0), judge, leads)
    for lead in range(len(leads)):
        if leads[lead] == 0.0:
            continue
        games[1] = games[0]
        play(rules, row(games, 1), lead)
        _likely(rules, row(games, 1), judge, replies)
        for reply in range(len(replies)):
            if replies[reply] == 0.0:
                continue
            for number in range(6):
                first, second = _two_of(rest, 3, number)
                games[2] = games[1]
                game = row(games, 2)
                game.deal[base + 1] = lowest(first)
                game.deal[base + 2] = lowest(second)
                game.deal[base + 3] = lowest(rest ^ first ^ second)
                play(rules, game, reply)
                weight = _OF_PLAY * leads[lead] * replies[reply] / 6
                _last_trick(rules, 2, seat, weight, judge, case)


# -- luck


@jit
def _add_luck(
    rules: Record, games: np.ndarray, index: int, seat: int, judge: Judge, luck: np.ndarray
) -> None:
    """Add how lucky a seat was with the two cards that the last trick brought from the stock."""
    game = row(games, index)
    winner, left = np.int64(game.leader), stock_left(rules, game)
    base = 2 * np.int64(rules.hand) + np.int64(game.drawn)
    drawn, up = bit(np.int64(game.deal[base - 1])), bit(np.int64(game.deal[base]))
    unseen = drawn
    for place in range(left):
        unseen |= bit(np.int64(game.deal[base + place]))
    mine, theirs = game.hand[winner], game.hand[1 - winner] & ~drawn
    size = left + 1
    count = size * (size - 1)
    for number in range(count):
        first, second = _two_of(unseen, size, number)
        judge.rows.counts[number] = write_places(
            mine, theirs | first, second, unseen ^ first ^ second, game.known[winner],
            game.known[1 - winner], np.int64(game.trump), np.int64(game.trick),
            judge.rows.places[number],
        )  # fmt: skip
    pass_rows(judge.worth, judge.rows, count)
    case, came, total = judge.worths[0], judge.worths[1], judge.worths[2]
    total[:] = 0.0
    for number in range(count):
        first, second = _two_of(unseen, size, number)
        case[:] = 0.0
        _add_network(judge, number, case)
        if left <= _LATE:
            judge.games[0] = games[index]
            other = row(judge.games, 0)
            other.hand[1 - winner] = theirs | first
            other.deal[base] = lowest(second)
            rest = unseen ^ first ^ second
            if left == 2:
                other.deal[base + 1] = lowest(rest)
                _last_trick(rules, 0, winner, _OF_PLAY, judge, case)
            else:
                _last_two_tricks(rules, winner, rest, judge, case)
        total += case
        if first == drawn and second == up:
            came[:] = case
    sign = 1.0 if winner == seat else -1.0
    for figure in range(FIGURES):
        luck[figure] += sign * (came[figure] - total[figure] / count)


@jit
def add_luck(
    rules: np.ndarray, games: np.ndarray, seats: np.ndarray, places: np.ndarray, judge: Judge,
    luck: np.ndarray,
) -> None:  # fmt: skip
    """Add player one's luck in those of the games at `places` that stand before a new trick."""
    first = row(rules, 0)
    for index in places:
        game = row(games, index)
        if game.phase == LEAD and stock_left(first, game) > 0:
            _add_luck(first, games, index, np.int64(seats[index]), judge, luck[index])
