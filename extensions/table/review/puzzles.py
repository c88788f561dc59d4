# pyright: strict
"""Puzzles: rated positions with one right card, generated from hands that agents play.

In an endgame puzzle exactly one card wins, or saves, the hand, by its exact values. The other
answers perfectly, and each later decision in which a card costs something belongs to it. In a
foreplay puzzle one card is best beyond the interval of every judge: where the networks play, the
thinker, and a search that shares only the policy with it, which samples hands by how likely they
explain the opponent's cards, and plays the stock out instead of asking a value network. The rating
is fitted to how often rule agents of known strength find all right cards.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from itertools import count, islice
from math import prod
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from german_whist.agents.costs import exact_payoffs
from german_whist.agents.player import Player
from german_whist.agents.registry import load_agent
from german_whist.agents.search.thinker import ThinkerAgent
from german_whist.engine.cards import action_word, text_of
from german_whist.engine.endgame import best_card_of
from german_whist.engine.game import Game
from german_whist.engine.records import GameRecord
from german_whist.engine.rules import Rules
from german_whist.engine.view import View

from ..rating import strengths
from .analysis import ActionValue, AnalysisSettings, Analyst, PositionValues
from .themes import theme_of

FILE = "puzzles.jsonl"
ENDGAME, FOREPLAY = "endgame", "foreplay"
_THINKER_JUDGES = (
    "thinker:64",
    "thinker:4096",
    "responder:2048,against=champion,by=champion,value=none",
)
_FLAT_MC_JUDGES = "flat-mc:200,voids,playout=counting", "flat-mc:2500,voids,playout=counting"
"""Searches that have to find a foreplay puzzle's card; the first screens positions."""
_PLAYERS = ("easy", "medium", "threshold", "counting")
_GRADERS = {
    ENDGAME: ("easy", "medium"),
    FOREPLAY: ("easy", "upcard-value", "threshold", "counting"),
}
_TRIALS = 12
"""How often each grader plays a position."""
_MIN_CARDS, _MAX_CARDS = 3, 9
_MIN_MARGIN = 6.0
"""Minimum value of a foreplay puzzle's right card above every other card, in the unit."""
_MARGINS_OF_ERROR = 2.0
"""The same margin in margins of error of the difference: four standard errors."""
_POOL, _BAND = 8, 100.0
"""One puzzle is chosen from this many candidates: that of the rarest rating band so far."""
_PRIOR_MEAN, _PRIOR_STD = 1000.0, 300.0
"""Of the puzzles' ratings."""


class Puzzle(Struct, omit_defaults=True):
    """A position, and the value of every action in it."""

    id: str
    kind: str
    rules: str
    deal: str
    dealer: int
    played: list[int]
    exact: bool
    unit: str
    values: list[tuple[int, float, float]]
    """For each action: its value, and the margin of error of its cost."""
    rating: float
    theme: str = ""
    """What the right card of an ending does; empty in the foreplay."""

    def position(self) -> Game:
        game = Game(self.rules)
        game.deal_cards(self.deal, self.dealer)
        for action in self.played:
            game.play(action)
        return game

    def position_values(self) -> PositionValues:
        best_value = max(value for _, value, _ in self.values)
        cards = [
            ActionValue(
                action=action,
                card=action_word(action),
                value=value,
                cost=round(best_value - value, 3),
                cost_margin_of_error=margin_of_error,
                margin_of_error=None if self.exact else margin_of_error,
            )
            for action, value, margin_of_error in self.values
        ]
        best = [card.action for card in cards if card.cost == 0]
        return PositionValues(exact=self.exact, unit=self.unit, best=best, cards=cards)


def play_to_decision(game: Game, seat: int, play: Callable[[int], object]) -> bool:
    """Play an open ending perfectly, by `play`, until some card of the seat costs something.

    Returns whether there is such a decision; otherwise the hand is over.
    """
    while not game.over:
        view = game.view()
        if view.seat == seat and len(set((exact_payoffs(view) or {}).values())) > 1:
            return True
        play(int(best_card_of(view)))
    return False


def position_before(record: GameRecord, n: int) -> Game:
    """The game of a record before decision `n`."""
    game, actions = record.start(), record.actions
    if not 0 <= n < len(actions):
        raise ValueError(f"decision is {n}: the hand has decisions 0 to {len(actions) - 1}")
    for action in actions[:n]:
        game.play(action)
    return game


# -- the set


def read_puzzles(lines: bytes) -> list[Puzzle]:
    """Puzzles from JSON lines."""
    try:
        return msgspec.json.Decoder(Puzzle).decode_lines(lines)
    except msgspec.DecodeError as error:
        raise ValueError(f"this is no file of puzzles: {error}") from None


@cache
def bundled_puzzles() -> tuple[Puzzle, ...]:
    """The puzzles of the package."""
    return tuple(read_puzzles((files(__package__ or "") / FILE).read_bytes()))


def all_puzzles(folder: Path) -> dict[str, Puzzle]:
    """The puzzles of the package and of a data folder, by id."""
    path = folder / FILE
    own = read_puzzles(path.read_bytes()) if path.exists() else []
    return {puzzle.id: puzzle for puzzle in (*bundled_puzzles(), *own)}


# -- generation


class _Candidate(NamedTuple):
    """A position that may become a puzzle."""

    game: Game
    values: PositionValues
    rating: float

    @property
    def band(self) -> int:
        return int(self.rating // _BAND)


def make_puzzles(rules: Rules, seed: int, endgames: int, foreplay: int) -> Iterator[Puzzle]:
    """Generate a number of puzzles of both kinds from the hands of a seed.

    Most positions are easy, and few lie between easy and hard. To cover all ratings, the
    candidate with the rarest rating so far is chosen from each pool.
    """
    for kind, left in ((ENDGAME, endgames), (FOREPLAY, foreplay)):
        candidates, band_counts = _candidates(kind, rules, seed), Counter[int]()
        while left:
            pool = sorted(
                islice(candidates, _POOL),
                key=lambda candidate: (band_counts[candidate.band], -candidate.rating),
            )
            confirmed = next(filter(None, map(_confirm, pool)), None)
            if confirmed is not None:
                band_counts[confirmed.band] += 1
                left -= 1
                yield _to_puzzle(kind, confirmed)


def _candidates(kind: str, rules: Rules, seed: int) -> Iterator[_Candidate]:
    analyst, *_ = _judges(rules)
    for number in count():
        rng = random.Random(f"{seed} {number}")
        names = rng.choice(_PLAYERS), rng.choice(_PLAYERS)
        players = [Player(load_agent(name, rules), rules, seed=seed) for name in names]
        game, positions = Game(rules, seed, number), list[tuple[Game, PositionValues]]()
        while not game.over:
            view = game.view()
            if (values := _screen(kind, analyst, view)) is not None:
                positions.append((game.clone(), values))
            game.play(players[game.turn or 0].choose(view, number))
        if positions:
            position, values = rng.choice(positions)
            yield _Candidate(position, values, _rating(kind, position, values.best[0]))


def _to_puzzle(kind: str, candidate: _Candidate) -> Puzzle:
    game, values = candidate.game, candidate.values
    deal, actions = text_of(game.cards_dealt), list(map(int, game.actions))
    digest = sha256(f"{game.rules.name} {deal} {game.dealer} {actions}".encode()).hexdigest()
    return Puzzle(
        id=digest[:12],
        kind=kind,
        rules=game.rules.name,
        deal=deal,
        dealer=game.dealer,
        played=actions,
        exact=values.exact,
        unit=values.unit,
        values=[
            (card.action, round(card.value or 0.0, 2), round(card.cost_margin_of_error, 2))
            for card in values.cards
        ],
        rating=candidate.rating,
        theme=_theme(kind, game, values.best[0]),
    )


def _screen(kind: str, analyst: Analyst, view: View) -> PositionValues | None:
    """The values of a position that may be a puzzle: one card is best, by far in the foreplay."""
    if view.endgame != (kind == ENDGAME) or len(view.legal()) < _MIN_CARDS:
        return None
    if kind == FOREPLAY:
        values = analyst.values(view)
        return values if _stands_out(values, 0.0) else None
    if len(view.hand) > _MAX_CARDS:
        return None
    values = analyst.values(view)
    return values if values.exact and len(values.best) == 1 else None


def _confirm(candidate: _Candidate) -> _Candidate | None:
    """A candidate whose card all judges find, the first included; exact values need none."""
    if candidate.values.exact:
        return candidate
    values = confirmed_values(candidate.game.view())
    if values is None or values.best[0] != candidate.values.best[0]:
        return None
    return candidate._replace(values=values)


def confirmed_values(view: View) -> PositionValues | None:
    """Values in a foreplay position, if every judge finds the same card best by far; else None."""
    found: list[PositionValues] = []
    for judge in _judges(view.rules)[1:]:
        values = judge.values(view)
        found.append(values)
        same = values.best[0] == found[0].best[0]
        if not same or not _stands_out(values, _MARGINS_OF_ERROR):
            return None
    return found[0]


@lru_cache(maxsize=1)  # they hold networks
def _judges(rules: Rules) -> list[Analyst]:
    names = _THINKER_JUDGES if ThinkerAgent.plays(rules) else _FLAT_MC_JUDGES
    return [Analyst(rules, AnalysisSettings(search=name, seed=1)) for name in names]


def _stands_out(values: PositionValues, margins_of_error: float) -> bool:
    return all(
        card.cost > max(_MIN_MARGIN, margins_of_error * card.cost_margin_of_error)
        for card in values.cards
        if card.action != values.best[0]
    )


# -- grading


def confirm(puzzle: Puzzle) -> Puzzle | None:
    """The puzzle with today's values; None if the judges do not agree on its card any more."""
    if puzzle.exact:
        return puzzle
    candidate = _Candidate(puzzle.position(), puzzle.position_values(), puzzle.rating)
    confirmed = _confirm(candidate)
    return None if confirmed is None else _to_puzzle(puzzle.kind, confirmed)


def regrade(puzzle: Puzzle) -> Puzzle:
    """The puzzle with its theme, and the rating by the current rule agents and ladder."""
    position, best = puzzle.position(), puzzle.position_values().best[0]
    rating, theme = _rating(puzzle.kind, position, best), _theme(puzzle.kind, position, best)
    return msgspec.structs.replace(puzzle, rating=rating, theme=theme)


def _theme(kind: str, game: Game, best: int) -> str:
    return theme_of(game.view(), best) if kind == ENDGAME else ""


def _rating(kind: str, game: Game, best: int) -> float:
    ratings, decisions = strengths(), _decisions(kind, game, best)
    by_chance = prod(len(good) / len(position.legal()) for position, good in decisions)
    results = [(ratings["random"][0], by_chance, _TRIALS)]
    for name in _GRADERS[kind]:
        agent = load_agent(name, game.rules)
        players = (Player(agent, game.rules, seed=seed) for seed in range(_TRIALS))
        solved = sum(
            all(player.choose(position.view(), 0) in good for position, good in decisions)
            for player in players
        )
        results.append((ratings[name][0], solved / _TRIALS, _TRIALS))
    return round(fit_rating(results))


def _decisions(kind: str, game: Game, best: int) -> list[tuple[Game, list[int]]]:
    """The decisions of a puzzle's best line, each with its right cards."""
    decisions = [(game.clone(), [best])]
    line, seat = game.clone(), game.turn or 0
    line.play(best)
    while kind == ENDGAME and play_to_decision(line, seat, line.play):
        payoffs = exact_payoffs(line.view()) or {}
        good = [card for card, payoff in payoffs.items() if payoff == max(payoffs.values())]
        decisions.append((line.clone(), good))
        line.play(int(best_card_of(line.view())))
    return decisions


def fit_rating(results: Sequence[tuple[float, float, int]]) -> float:
    """The maximum a posteriori Elo rating, given players' ratings, shares solved and trials.

    >>> round(fit_rating([(1000.0, 0.5, 100)]))
    1000
    >>> fit_rating([(1000.0, 0.1, 20)]) > 1150
    True
    """

    def slope(rating: float) -> float:
        """The derivative of the log posterior, with a normal prior; it falls with the rating."""
        log_likelihood_slope = sum(
            trials * (_solve_probability(player, rating) - share)
            for player, share, trials in results
        )
        return log_likelihood_slope / 173.7 - (rating - _PRIOR_MEAN) / _PRIOR_STD**2

    low, high = _PRIOR_MEAN - 1500.0, _PRIOR_MEAN + 1500.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low + high) / 2


def _solve_probability(player: float, puzzle: float) -> float:
    return 1 / (1 + 10 ** ((puzzle - player) / 400))
