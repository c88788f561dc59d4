# pyright: strict
"""Puzzles: positions with one right card, made from hands that agents play, and graded.

An ending has one card that wins, or saves, the hand, by its exact values. In the foreplay one
card is clearly best beyond the search's interval. The rating is the one at which the rule
players, whose strength is known, would do as well on it as they do.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ...agents.player import Player
from ...agents.registry import make_agent
from ...engine.cards import action_word, text_of
from ...engine.game import Game
from ...engine.records import GameRecord
from ...engine.rules import Rules
from ...engine.view import View
from ..strengths import strengths
from .analysis import ActionValue, AnalysisSettings, Analyst, PositionValues

FILE = "puzzles.jsonl"
ENDGAME, FOREPLAY = "endgame", "foreplay"
SCREEN, SEARCH = "flat-mc:200,voids,playout=counting", "flat-mc:2500,voids,playout=counting"
_PLAYERS = ("easy", "medium", "threshold", "counting")
_GRADERS = {ENDGAME: ("easy", "medium"), FOREPLAY: ("easy", "value", "threshold", "counting")}
_TRIES = 12
_LEAST_CARDS, _MOST_CARDS = 3, 9
_LEAST_GAIN = 6.0
"""What the right card of a foreplay puzzle is worth more than every other, in the unit."""
_CLEAR = 2.0
"""By how many half widths of the difference it has to be."""
_OF, _BAND = 8, 100.0
"""Of so many positions one is kept, whose rating, counted in such bands, is the rarest."""
_SPREAD = 300.0
"""How far puzzles lie apart before anything is known of one."""


class Puzzle(Struct, omit_defaults=True):
    """A position, and what every card in it is worth."""

    id: str
    kind: str
    rules: str
    deal: str
    dealer: int
    played: list[int]
    exact: bool
    unit: str
    values: list[tuple[int, float, float]]
    """Of each action: its value, and half the width of what it costs."""
    rating: float

    def position(self) -> Game:
        """The game as it stands when the question is asked."""
        game = Game(self.rules)
        game.deal_cards(self.deal, self.dealer)
        for action in self.played:
            game.play(action)
        return game

    def position_values(self) -> PositionValues:
        """What every card is worth."""
        most = max(value for _, value, _ in self.values)
        cards = [
            ActionValue(
                action=action,
                card=action_word(action),
                value=value,
                cost=round(most - value, 3),
                cost_half_width=width,
                half_width=None if self.exact else width,
            )
            for action, value, width in self.values
        ]
        best = [card.action for card in cards if card.cost == 0]
        return PositionValues(exact=self.exact, unit=self.unit, best=best, cards=cards)


def position_before(record: GameRecord, n: int) -> Game:
    """A hand as it stood before decision `n`."""
    game, actions = record.start(), record.actions
    if not 0 <= n < len(actions):
        raise ValueError(f"decision is {n}: the hand has decisions 0 to {len(actions) - 1}")
    for action in actions[:n]:
        game.play(action)
    return game


# -- the set


def read_puzzles(lines: bytes) -> list[Puzzle]:
    """Puzzles out of JSON lines; a file that holds anything else is refused."""
    try:
        return msgspec.json.Decoder(Puzzle).decode_lines(lines)
    except msgspec.DecodeError as error:
        raise ValueError(f"this is no file of puzzles: {error}") from None


@cache
def bundled_puzzles() -> tuple[Puzzle, ...]:
    """The puzzles that come with the package."""
    return tuple(read_puzzles((files(__package__ or "") / FILE).read_bytes()))


def all_puzzles(folder: Path) -> dict[str, Puzzle]:
    """The puzzles that come with the package, and those that were made in a data folder."""
    own = folder / FILE
    more = read_puzzles(own.read_bytes()) if own.exists() else []
    return {each.id: each for each in (*bundled_puzzles(), *more)}


# -- making them


class _Found(NamedTuple):
    """A position that may become a puzzle."""

    game: Game
    told: PositionValues
    rating: float

    @property
    def band(self) -> int:
        """Puzzles of about this rating."""
        return int(self.rating // _BAND)


def make_puzzles(rules: Rules, seed: int, endgames: int, foreplay: int) -> Iterator[Puzzle]:
    """So many of either kind, from hands of a seed, as they are found.

    Most positions are easy, and few lie between easy and hard. So that there are puzzles for
    everybody, of several positions the one is kept whose rating is the rarest so far.
    """
    for kind, left in ((ENDGAME, endgames), (FOREPLAY, foreplay)):
        maker = _Endings(rules) if kind == ENDGAME else _Foreplays(rules)
        positions, kept = _positions(kind, maker, rules, seed), Counter[int]()
        while left:
            several = list(islice(positions, _OF))
            several.sort(key=lambda each: (kept[each.band], -each.rating))
            found = next(filter(None, map(maker.sure, several)), None)
            if found is not None:
                kept[found.band] += 1
                left -= 1
                yield _puzzle(kind, found)


def _positions(
    kind: str, maker: _Endings | _Foreplays, rules: Rules, seed: int
) -> Iterator[_Found]:
    """Positions that may become puzzles, at most one of each hand."""
    for number in count():
        rng = random.Random(f"{seed} {number}")
        names = rng.choice(_PLAYERS), rng.choice(_PLAYERS)
        players = [Player(make_agent(name, rules), rules, seed=seed) for name in names]
        game, found = Game(rules, seed, number), list[tuple[Game, PositionValues]]()
        while not game.over:
            view = game.view(game.turn or 0)
            if view.endgame == (kind == ENDGAME) and (told := maker.puzzle(view)) is not None:
                found.append((game.clone(), told))
            game.play(players[game.turn or 0].choose(view, number))
        if found:
            position, told = rng.choice(found)
            yield _Found(position, told, _graded(kind, position, told.best[0]))


def _puzzle(kind: str, found: _Found) -> Puzzle:
    game, told = found.game, found.told
    deal, played = text_of(game.cards_dealt), list(map(int, game.actions))
    name = sha256(f"{game.rules.name} {deal} {game.dealer} {played}".encode()).hexdigest()[:12]
    return Puzzle(
        id=name,
        kind=kind,
        rules=game.rules.name,
        deal=deal,
        dealer=game.dealer,
        played=played,
        exact=told.exact,
        unit=told.unit,
        values=[
            (each.action, round(each.value or 0.0, 2), round(each.cost_half_width, 2))
            for each in told.cards
        ],
        rating=found.rating,
    )


class _Endings:
    """Endings in which one card alone wins or saves the hand."""

    def __init__(self, rules: Rules) -> None:
        self._analyst = Analyst(rules, AnalysisSettings(search=SCREEN))

    def puzzle(self, view: View) -> PositionValues | None:
        """What the cards are worth, if one of them stands alone."""
        if not _LEAST_CARDS <= len(view.hand) <= _MOST_CARDS or len(view.legal()) < _LEAST_CARDS:
            return None
        told = self._analyst.values(view)
        return told if told.exact and len(told.best) == 1 else None

    def sure(self, found: _Found) -> _Found:
        """The same: the values are exact."""
        return found


class _Foreplays:
    """Tricks for the stock with one card that is clearly best: a quick look, then a strong one."""

    def __init__(self, rules: Rules) -> None:
        self._screen = Analyst(rules, AnalysisSettings(search=SCREEN))
        self._strong = Analyst(rules, AnalysisSettings(search=SEARCH, seed=1))

    def puzzle(self, view: View) -> PositionValues | None:
        """What a quick search finds the cards worth, if one of them seems to be best."""
        if len(view.legal()) < _LEAST_CARDS:
            return None
        told = self._screen.values(view)
        return told if _stands_out(told, 0.0) else None

    def sure(self, found: _Found) -> _Found | None:
        """What a strong search finds, if it is the same card that is clearly best."""
        told = self._strong.values(found.game.view(found.game.turn or 0))
        same = told.best[0] == found.told.best[0]
        return found._replace(told=told) if same and _stands_out(told, _CLEAR) else None


def _stands_out(told: PositionValues, clear: float) -> bool:
    others = [each for each in told.cards if each.action != told.best[0]]
    return all(each.cost > max(_LEAST_GAIN, clear * each.cost_half_width) for each in others)


# -- grading


def regrade(puzzle: Puzzle) -> Puzzle:
    """The puzzle with the rating that today's rule players and their strengths give it."""
    rating = _graded(puzzle.kind, puzzle.position(), puzzle.position_values().best[0])
    return msgspec.structs.replace(puzzle, rating=rating)


def _graded(kind: str, game: Game, best: int) -> float:
    """The rating at which the rule players do on a position what they do on it."""
    known, view = strengths(), game.view(game.turn or 0)
    results: list[tuple[float, float, int]] = [(known["random"][0], 1 / len(view.legal()), _TRIES)]
    for name in _GRADERS[kind]:
        agent = make_agent(name, game.rules)
        players = (Player(agent, game.rules, seed=seed) for seed in range(_TRIES))
        found = [player.choose(view, 0) == best for player in players]
        results.append((known[name][0], sum(found) / _TRIES, _TRIES))
    return round(fit_rating(results))


def fit_rating(results: Sequence[tuple[float, float, int]], middle: float = 1000.0) -> float:
    """The rating of which players of known strength, share solved and tries tell the most.

    >>> round(fit_rating([(1000.0, 0.5, 100)]))
    1000
    >>> fit_rating([(1000.0, 0.1, 20)]) > 1150
    True
    """

    def slope(rating: float) -> float:
        """Of the log likelihood, with the spread of puzzles as a prior: falls with the rating."""
        expected = sum(
            tries * (_expected(player, rating) - share) for player, share, tries in results
        )
        return expected / 173.7 - (rating - middle) / _SPREAD**2

    low, high = middle - 1500.0, middle + 1500.0
    for _ in range(40):
        between = (low + high) / 2
        low, high = (between, high) if slope(between) > 0 else (low, between)
    return (low + high) / 2


def _expected(player: float, puzzle: float) -> float:
    """The share of puzzles of this rating that a player solves."""
    return 1 / (1 + 10 ** ((puzzle - player) / 400))
