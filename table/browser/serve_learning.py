# pyright: strict
"""Puzzles and exercises over HTTP: a position to look at, an answer, and how it would go on.

A position is told from the view of the player to move, so it shows what that player may know;
what the cards are worth is told after the answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date
from typing import Any, NamedTuple

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ...engine.endgame import NotOpenError, best_card_of
from ...engine.game import Game, IllegalAction
from ...engine.view import View
from ..rating import Rating
from ..review.analysis import SURE, WIN, ActionValue, Analyst, PositionValues
from ..review.hints import hint_reason
from ..review.puzzles import ENDGAME, Puzzle, all_puzzles, position_before
from ..review.replay import player_names
from ..text import words
from ..text.labels import capital, say, you
from .finished_hands import HandNotFound
from .messages import VisibleState, describe_view, visible_fields
from .requests import AnswerRequest, read_request
from .shared import Services, get_person, json_response

_NEAR = 12
"""Of so many puzzles nearest to a person's rating, one is drawn."""
_PUZZLE_DEVIATION = 60.0
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
    """What an answer was worth, and every other card."""

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


class LineStep(VisibleState, kw_only=True):
    """A position of a line that is played out, and the card that led to it."""

    text: str


class PlayoutLine(Struct):
    """A card, and how both would play on as well as can be."""

    text: str
    steps: list[LineStep]


class PuzzleStats(Struct):
    """How a person does on puzzles."""

    rating: float
    deviation: float
    puzzles: int
    tried: int
    solved: int
    streak: int
    best_streak: int


class ExerciseSummary(Struct):
    """A mistake of a person's own, to be tried again; what would have been better is not told."""

    id: str
    hand: int
    decision: int
    cost: float
    solved: bool | None
    finished: float
    title: str


class ProblemSource(NamedTuple):
    """A puzzle, or a mistake to be tried again."""

    game: Game
    id: str
    kind: str
    names: tuple[str, str]
    rating: float | None
    values: Callable[[], PositionValues]
    """What every card is worth."""
    note: Callable[[AnswerResult], None]
    """Keeps what came of an answer, and tells it."""


class LearningHandlers:
    """Puzzles from the set, and exercises from a person's own mistakes."""

    def __init__(self, shared: Services) -> None:
        self._shared = shared

    # -- what is asked

    def _puzzles(self) -> dict[str, Puzzle]:
        return all_puzzles(self._shared.store.path.parent)

    def _task(self, request: Request) -> ProblemSource:
        if "decision" in request.path_params:
            return self._exercise(request)
        found = self._puzzles().get(request.path_params["id"])
        if found is None:
            raise HandNotFound(say("refused.puzzle"))
        return self._puzzle(found, get_person(request))

    def _puzzle(self, puzzle: Puzzle, person: str) -> ProblemSource:
        store = self._shared.store

        def note(found: AnswerResult) -> None:
            before = store.progress.rating(person, "puzzles")
            against = Rating(puzzle.rating, _PUZZLE_DEVIATION)
            after = store.progress.record_attempt(person, puzzle.id, against, found.solved)
            found.rating, found.change = round(after.value), round(after.value - before.value)
            found.streak = self._solver(person).streak

        game, rating = puzzle.position(), puzzle.rating
        return ProblemSource(
            game, puzzle.id, puzzle.kind, _names(), rating, puzzle.position_values, note
        )

    def _exercise(self, request: Request) -> ProblemSource:
        path, person = request.path_params, get_person(request)
        where = path["id"], path["hand"], path["decision"]
        record = self._shared.finished.record(person, *where[:2])
        try:
            game = position_before(record, where[2])
        except ValueError as error:
            raise HandNotFound(str(error)) from None
        view = game.view()
        names = you(), player_names(record)[1 - view.seat]

        def note(found: AnswerResult) -> None:
            self._shared.store.progress.record_retry(person, where, found.solved)

        def values() -> PositionValues:
            return Analyst(view.rules).values(view)

        return ProblemSource(game, "/".join(map(str, where)), "exercise", names, None, values, note)

    # -- answers

    async def problem(self, request: Request) -> Response:
        """The position of a puzzle or an exercise."""
        return json_response(await run_in_threadpool(lambda: _problem(self._task(request))))

    async def answer(self, request: Request) -> Response:
        """What a card was worth; of a puzzle the first answer counts for the rating."""
        asked = await read_request(request, AnswerRequest)

        def answered() -> AnswerResult:
            task = self._task(request)
            found = _answered(task, asked.action)
            task.note(found)
            return found

        return json_response(await run_in_threadpool(answered))

    async def line(self, request: Request) -> Response:
        """How a card is answered by perfect defence."""
        asked = await read_request(request, AnswerRequest)
        return json_response(
            await run_in_threadpool(lambda: _line(self._task(request).game, asked.action))
        )

    async def next(self, request: Request) -> Response:
        """A puzzle near the person's rating that is new to the person, or the puzzle of the day."""
        kind, person = request.query_params.get("kind", ""), get_person(request)

        def chosen() -> Problem:
            progress = self._shared.store.progress
            known = progress.attempts(person)
            puzzles = self._puzzles()
            if kind == "day" and puzzles:
                day = date.today().toordinal() * _DAY_STRIDE % len(puzzles)
                return _problem(self._puzzle(puzzles[sorted(puzzles)[day]], person))
            every = [each for each in puzzles.values() if kind in ("", each.kind)]
            if not every:
                raise HandNotFound(say("problem.no_puzzle"))
            rating = progress.rating(person, "puzzles").value
            new = [each for each in every if each.id not in known] or every
            new.sort(key=lambda each: (abs(each.rating - rating), each.id))
            return _problem(self._puzzle(random.choice(new[:_NEAR]), person))

        return json_response(await run_in_threadpool(chosen))

    async def solver(self, request: Request) -> Response:
        """How the person does on puzzles."""
        return json_response(await run_in_threadpool(self._solver, get_person(request)))

    def _solver(self, person: str) -> PuzzleStats:
        progress = self._shared.store.progress
        rating, solved = (
            progress.rating(person, "puzzles"),
            list(progress.attempts(person).values()),
        )
        now, best = streaks(solved)
        return PuzzleStats(
            round(rating.value), round(rating.deviation), len(self._puzzles()), len(solved),
            sum(solved), now, best,
        )  # fmt: skip

    async def exercises(self, request: Request) -> Response:
        """The person's own mistakes, the last first."""

        def listed() -> list[ExerciseSummary]:
            return [
                ExerciseSummary(
                    *(each.session, each.hand, each.decision, each.cost),
                    solved=None if each.solved is None else bool(each.solved),
                    finished=each.finished,
                    title=words.hand_title(each.rules, each.opponent),
                )
                for each in self._shared.store.progress.mistakes(get_person(request))
            ]

        return json_response(await run_in_threadpool(listed))


def _names() -> tuple[str, str]:
    return you(), say("site.other")


def streaks(solved: list[bool]) -> tuple[int, int]:
    """How many in a row are solved now, the last attempt first, and how many ever were."""
    runs = [0]
    for each in solved:
        if each:
            runs[-1] += 1
        else:
            runs.append(0)
    return runs[0], max(runs)


def _problem(task: ProblemSource) -> Problem:
    view = task.game.view(task.game.turn or 0)
    return Problem(
        **_seen(view, task.names),
        id=task.id,
        kind=task.kind,
        rules_title=words.title_of(view.rules.name),
        names=task.names,
        question=words.question(view, task.names, _stake(task)),
        rating=task.rating,
    )


def _stake(task: ProblemSource) -> str:
    """What the best card of an ending does, where no search has to find it."""
    if task.kind != ENDGAME:
        return "endgame"
    values = task.values()
    best = max(card.value or 0.0 for card in values.cards)
    if values.unit != WIN or len(values.best) > 1:
        return "saves"
    return "wins" if best == 100 else "ties" if best == 50 else "saves"


def _seen(view: View, names: tuple[str, str]) -> dict[str, Any]:
    return visible_fields(
        view, describe_view(view, names, ""), view.known_opponent_cards if view.open else None
    )


def _answered(task: ProblemSource, action: int) -> AnswerResult:
    values, view = task.values(), task.game.view(task.game.turn or 0)
    found = next((each for each in values.cards if each.action == action), None)
    if found is None:
        raise IllegalAction(words.refusal_reason(view, action))
    solved = found.cost <= SURE * found.cost_half_width
    worse = [card.cost > SURE * card.cost_half_width for card in values.cards if card.cost]
    only = all(worse) and len(worse) == len(values.cards) - 1
    return AnswerResult(
        solved=solved,
        verdict=words.verdict(values.unit, found.cost, solved, values.exact, only),
        why=hint_reason(view, values),
        best=values.best,
        values=sorted(values.cards, key=lambda each: -(each.value or 0.0)),
        unit=values.unit,
        exact=values.exact,
    )


def _line(game: Game, action: int) -> PlayoutLine:
    """A card, and perfect play by both after it; only where the hands lie open."""
    seat, names = game.turn or 0, _names()
    steps: list[LineStep] = []

    def play(chosen: int) -> None:
        text = capital(words.action_text(names[0 if game.turn == seat else 1], game.phase, chosen))
        game.play(chosen)
        steps.append(LineStep(**_seen(game.view(seat), names), text=text))

    try:
        best_card_of(game.view(seat))
        play(action)
        while game.turn is not None:
            play(int(best_card_of(game.view(game.turn))))
    except NotOpenError:
        raise IllegalAction(say("refused.not_open")) from None
    tricks = game.counting_tricks if seat == 0 else game.counting_tricks[::-1]
    pays = game.pays if seat == 0 else game.pays[::-1]
    return PlayoutLine(words.result(tricks, pays, names, game.low), steps)
