# pyright: strict
"""HTTP handlers of puzzles and exercises: a position, an answer, and its continuation.

A position is the view of the player to move, so it contains only what that player may know;
the values of the cards follow after the answer.

Starlette runs handlers that are not `async` in a thread.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, NamedTuple

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from german_whist.engine.checks import IllegalAction
from german_whist.engine.endgame import NotOpenError, best_card_of
from german_whist.engine.game import Game
from german_whist.engine.view import View

from ..rating import Rating
from ..review.analysis import SURE, WIN, ActionValue, PositionValues
from ..review.hints import hint_reason, position_values
from ..review.puzzles import (
    ENDGAME,
    Puzzle,
    all_puzzles,
    play_to_decision,
    position_before,
)
from ..review.replay import player_names
from ..review.themes import ending_reason
from ..text import words
from ..text.labels import YOU, begin, label
from .messages import Refused, VisibleState, describe_view, visible_fields
from .requests import AnswerRequest, Services, json_response, read_request

_POOL = 12
"""A puzzle is drawn from this many with the ratings nearest to the player's."""
_PUZZLE_DEVIATION = 60.0
_MAX_HISTORY = 50
_LEAST_IN_THEME = 10
"""A theme with fewer puzzles is not offered."""
_DAY_STRIDE = 7919
"""A prime: puzzles of successive days are unlike each other, and none comes twice in a round."""


class Problem(VisibleState, kw_only=True):
    """A position with a question."""

    id: str
    kind: str
    rules_title: str
    names: tuple[str, str]
    question: str
    rating: float | None


class AnswerResult(Struct):
    """The value of an answer, and of every other card.

    If the puzzle goes on after a right card, `steps` are the positions up to the next decision.
    """

    solved: bool
    verdict: str
    why: str
    best: list[int]
    values: list[ActionValue]
    unit: str
    exact: bool
    rating: float | None = None
    change: float | None = None
    streak: int = 0
    steps: list[VisibleState] = []


class PlayoutLine(Struct):
    """A card, followed by perfect play of both players."""

    text: str
    steps: list[VisibleState]
    """The positions; what was played last stands in `texts.answer`."""


class PuzzleAttempt(Struct):
    """A puzzle that was attempted."""

    id: str
    solved: bool
    rating: float
    theme: str


class PuzzleStats(Struct):
    """The player's rating and results on puzzles, and the puzzles of each theme."""

    rating: float
    provisional: bool
    puzzles: int
    tried: int
    solved: int
    streak: int
    best_streak: int
    themes: dict[str, int]
    history: list[PuzzleAttempt]
    """The latest attempts, the last first."""


class ProblemSource(NamedTuple):
    """A puzzle, or a mistake to be retried."""

    game: Game
    id: str
    kind: str
    names: tuple[str, str]
    rating: float | None
    values: Callable[[], PositionValues]
    record: Callable[[AnswerResult], None]
    """Stores the result of an answer, and completes it."""
    goes_on: bool = False
    """Whether it has further decisions after the first."""


class LearningHandlers:
    """Puzzles of the set, and exercises from the player's own mistakes."""

    def __init__(self, services: Services) -> None:
        self._progress = services.store.progress
        self._folder = services.store.path.parent
        self._finished = services.finished
        self._under_way: tuple[ProblemSource, AnswerResult] | None = None
        """A puzzle with right cards so far: if it is left, it counts as failed."""

    # -- problems

    def _source(self, request: Request) -> ProblemSource:
        if "decision" in request.path_params:
            return self._exercise(request)
        puzzle = all_puzzles(self._folder).get(request.path_params["id"])
        if puzzle is None:
            raise Refused(label("refused.puzzle"), 404)
        return self._puzzle(puzzle)

    def _puzzle(self, puzzle: Puzzle) -> ProblemSource:
        def record(result: AnswerResult) -> None:
            before = self._progress.rating("puzzles")
            difficulty = Rating(puzzle.rating, _PUZZLE_DEVIATION)
            after = self._progress.record_attempt(puzzle.id, difficulty, result.solved)
            result.rating, result.change = round(after.value), round(after.value - before.value)
            result.streak = self._stats().streak

        return ProblemSource(
            puzzle.position(),
            puzzle.id,
            puzzle.kind,
            _names(),
            puzzle.rating,
            values=puzzle.position_values,
            record=record,
            goes_on=puzzle.kind == ENDGAME,
        )

    def _exercise(self, request: Request) -> ProblemSource:
        path = request.path_params
        key = path["id"], path["hand"], path["decision"]
        hand = self._finished.record(*key[:2])
        try:
            game = position_before(hand, key[2])
        except ValueError as error:
            raise Refused(str(error), 404) from None
        view = game.view()
        names = YOU, player_names(hand)[1 - view.seat]

        def record(result: AnswerResult) -> None:
            self._progress.record_retry(key, result.solved)

        return ProblemSource(
            game,
            "/".join(map(str, key)),
            "exercise",
            names,
            None,
            values=lambda: position_values(view),
            record=record,
        )

    def problem(self, request: Request) -> Response:
        return json_response(_problem(self._source(request)))

    def next(self, request: Request) -> Response:
        """A puzzle near the player's rating, if possible a new one; or the puzzle of the day."""
        kind = request.query_params.get("kind", "")
        all_kinds = all_puzzles(self._folder)
        puzzles = [
            puzzle for puzzle in all_kinds.values() if kind in ("", puzzle.kind, puzzle.theme)
        ]
        if kind == "day" and all_kinds:
            day = date.today().toordinal() * _DAY_STRIDE % len(all_kinds)
            puzzles = [all_kinds[sorted(all_kinds)[day]]]
        if not puzzles:
            raise Refused(label("problem.no_puzzle"), 404)
        attempted = self._progress.attempts()
        rating = self._progress.rating("puzzles").value
        new = [puzzle for puzzle in puzzles if puzzle.id not in attempted] or puzzles
        new.sort(key=lambda puzzle: (abs(puzzle.rating - rating), puzzle.id))
        puzzle = random.choice(new[:_POOL])
        self._leave(puzzle.id)
        return json_response(_problem(self._puzzle(puzzle)))

    # -- answers

    async def answer(self, request: Request) -> Response:
        """The value of a card; only the first answer to a puzzle changes the rating."""
        body = await read_request(request, AnswerRequest)

        def answer() -> AnswerResult:
            source = _after(self._source(request), body.before)
            result = _answer(source, body.action)
            self._leave(source.id)
            if result.steps:
                self._under_way = source, result
            else:
                source.record(result)
            return result

        return json_response(await run_in_threadpool(answer))

    def _leave(self, next_id: str) -> None:
        """Record that the puzzle under way was not solved, unless it is the next."""
        left, self._under_way = self._under_way, None
        if left is not None and left[0].id != next_id:
            source, result = left
            result.solved = False
            source.record(result)

    async def line(self, request: Request) -> Response:
        """A card and perfect play, once a puzzle has been answered."""
        body = await read_request(request, AnswerRequest)

        def line() -> PlayoutLine:
            source = self._source(request)
            is_new = source.id not in self._progress.attempts()
            if source.rating is not None and is_new:
                raise Refused(label("refused.no_answer"), 409)
            return _line(_after(source, body.before).game, body.action)

        return json_response(await run_in_threadpool(line))

    # -- statistics

    def stats(self, _: Request) -> Response:
        return json_response(self._stats())

    def _stats(self) -> PuzzleStats:
        rating = self._progress.rating("puzzles")
        puzzles, attempts = all_puzzles(self._folder), self._progress.attempts()
        solved = list(attempts.values())
        history = [
            PuzzleAttempt(name, right, puzzles[name].rating, puzzles[name].theme)
            for name, right in attempts.items()
            if name in puzzles
        ]
        themes = Counter(puzzle.theme for puzzle in puzzles.values() if puzzle.theme)
        streak, best_streak = streaks(solved)
        return PuzzleStats(
            rating=round(rating.value),
            provisional=len(solved) < words.PROVISIONAL,
            puzzles=len(puzzles),
            tried=len(solved),
            solved=sum(solved),
            streak=streak,
            best_streak=best_streak,
            themes={name: n for name, n in themes.most_common() if n >= _LEAST_IN_THEME},
            history=history[:_MAX_HISTORY],
        )

    def lessons(self, _: Request) -> Response:
        return json_response(self._progress.lessons())

    def exercises(self, _: Request) -> Response:
        return json_response(self._progress.exercises())


def _names() -> tuple[str, str]:
    return YOU, label("site.other")


def streaks(solved: list[bool]) -> tuple[int, int]:
    """The present and the longest streak of solved puzzles; the latest attempt comes first."""
    runs = [0]
    for is_solved in solved:
        if is_solved:
            runs[-1] += 1
        else:
            runs.append(0)
    return runs[0], max(runs)


def _problem(source: ProblemSource) -> Problem:
    view = source.game.view()
    return Problem(
        **_visible(view, source.names),
        id=source.id,
        kind=source.kind,
        rules_title=words.title_of(view.rules.name),
        names=source.names,
        question=words.question(view, source.names, _stake(source)),
        rating=source.rating,
    )


def _stake(source: ProblemSource) -> str:
    """The result of an ending's best card, where its exact values are stored."""
    if source.kind != ENDGAME:
        return "endgame"
    position = source.values()
    best_value = max(card.value or 0.0 for card in position.cards)
    if position.unit != WIN or len(position.best) > 1:
        return "saves"
    return "wins" if best_value == 100 else "ties" if best_value == 50 else "saves"


def _visible(view: View, names: tuple[str, str]) -> dict[str, Any]:
    other_hand = view.known_opponent_cards if view.open else None
    return visible_fields(view, describe_view(view, names), other_hand)


def _answer(source: ProblemSource, action: int) -> AnswerResult:
    position, view = source.values(), source.game.view()
    card = next((card for card in position.cards if card.action == action), None)
    if card is None:
        raise IllegalAction(words.refusal_reason(view, action))
    solved = card.cost <= SURE * card.cost_margin_of_error
    worse = [card.cost > SURE * card.cost_margin_of_error for card in position.cards if card.cost]
    only = all(worse) and len(worse) == len(position.cards) - 1
    right = action if solved else position.best[0]
    explained = position.exact and view.open and view.rules.race is None and not view.low
    steps = _to_next_decision(source.game.clone(), action) if solved and source.goes_on else []
    return AnswerResult(
        solved=solved,
        verdict=words.verdict(position.unit, card.cost, solved, position.exact, only),
        why=ending_reason(view, right, action) if explained else hint_reason(view, position),
        best=position.best,
        values=sorted(position.cards, key=lambda card: -(card.value or 0.0)),
        unit=position.unit,
        exact=position.exact,
        steps=steps,
    )


def _after(source: ProblemSource, actions: Sequence[int]) -> ProblemSource:
    """A puzzle after some right cards and the other's perfect answers.

    Another card is an answer like any other, so that nobody can try which are right.
    """
    game = source.game
    for action in actions:
        result = _answer(source, action)
        if not result.steps:
            source.record(result)
            raise Refused(label("refused.puzzle"), 404)
        _to_next_decision(game, action)
        source = source._replace(values=lambda: position_values(game.view()))
    return source


def _to_next_decision(game: Game, action: int) -> list[VisibleState]:
    """Play a card, and perfectly on; the positions up to the next decision, empty without one."""
    seat, steps = game.turn or 0, list[VisibleState]()

    def play(action: int) -> None:
        steps.append(_played(game, action, seat))

    play(action)
    return steps if play_to_decision(game, seat, play) else []


def _played(game: Game, action: int, seat: int) -> VisibleState:
    """The position after an action, which stands in `texts.answer`."""
    names = _names()
    text = begin(words.action_text(names[game.turn != seat], game.phase, action))
    game.play(action)
    step = VisibleState(**_visible(game.view(seat), names))
    step.texts.answer = text
    return step


def _line(game: Game, action: int) -> PlayoutLine:
    """A card, followed by perfect play; raises `IllegalAction` unless both hands are open."""
    seat, names = game.turn or 0, _names()
    steps: list[VisibleState] = []

    try:
        best_card_of(game.view(seat))
        steps.append(_played(game, action, seat))
        while game.turn is not None:
            steps.append(_played(game, int(best_card_of(game.view())), seat))
    except NotOpenError:
        raise IllegalAction(label("refused.not_open")) from None
    tricks = game.counting_tricks if seat == 0 else game.counting_tricks[::-1]
    payoffs = game.payoffs if seat == 0 else game.payoffs[::-1]
    return PlayoutLine(words.result(tricks, payoffs, names, game.low), steps)
