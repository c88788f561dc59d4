"""Taking back and copying: undo restores every byte, and a copy goes its own way."""

from __future__ import annotations

import copy
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from german_whist.engine.game import Game
from german_whist.engine.rules import Match
from support import EVERY_SET, engine_rules

SETS, SEEDS = st.sampled_from(EVERY_SET), st.integers(0, 2**32)
MATCHES = st.sampled_from((None, Match(target=4), Match(best_of=3)))
COPIED = st.sampled_from((Game.clone, copy.copy, copy.deepcopy))


def state(game: Game) -> tuple[Any, ...]:
    return game.array.tobytes(), game.legal(), game.phase, game.turn, [*game.actions]


@settings(max_examples=120)
@given(name=SETS, seed=SEEDS, match=MATCHES)
def test_undo_restores_every_byte_at_any_point(name: str, seed: int, match: Match | None) -> None:
    rng = random.Random(seed)
    game = Game(engine_rules(name), seed, match=match)
    states = [state(game)]

    def undo() -> None:
        states.pop()
        game.undo()
        assert state(game) == states[-1]

    for hand in range(2):
        while not game.over:
            if len(states) > 1 and rng.random() < 0.3:
                for _ in range(rng.randint(1, min(5, len(states) - 1))):
                    undo()
            game.play(rng.choice(game.legal()))
            states.append(state(game))
        result, last = (game.payoffs, game.points, game.hands_won), game.actions[-1]
        undo()
        assert not game.over
        assert game.view(0).phase != "over"
        game.play(last)
        assert (game.payoffs, game.points, game.hands_won) == result
        if hand == 0:
            game.deal_next()
            states = [state(game)]
    while game.actions:
        game.undo()
        assert state(game) == states[len(game.actions)]


class Own(Game):
    pass


@settings(max_examples=100)
@given(name=SETS, seed=SEEDS, copied=COPIED)
def test_copies_go_their_own_way(name: str, seed: int, copied: Any) -> None:
    rng = random.Random(seed)
    game = Own(engine_rules(name), seed, match=Match(best_of=3))
    for _ in range(rng.randrange(2 * game.rules.tricks)):
        if not game.over:
            game.play(rng.choice(game.legal()))
    before = state(game)
    twin = copied(game)
    assert type(twin) is Own
    assert state(twin) == before
    assert twin.view(0) == game.view(0)
    while not twin.over:
        twin.play(rng.choice(twin.legal()))
    assert state(game) == before
    twin.deal_next()
    assert state(game) == before
    twin.deal(5, 5)
    assert state(game) == before
    other = copied(game)
    while game.actions:
        game.undo()
    assert state(other) == before
    game.deal(1, 2)
    assert state(other) == before
    while not other.over:
        other.play(other.legal()[0])
    twin = copied(other)
    other.deal_next()
    twin.deal_next()
    assert state(other) == state(twin)


def answers(game: Game) -> list[Any]:
    shown = [game.view(seat).array.tobytes() for seat in (0, 1)]
    return [*state(game)[1:], *shown, game.hands, game.stock, game.points, game.hands_won]


@settings(max_examples=80)
@given(name=SETS, seed=SEEDS, match=MATCHES)
def test_a_game_comes_back_from_its_record_alone(name: str, seed: int, match: Match | None) -> None:
    rng = random.Random(seed)
    game = Game(engine_rules(name), seed, 3, match=match)
    for _ in range(rng.randrange(5 * game.rules.tricks)):
        if game.over:
            game.deal_next()
        game.play(rng.choice(game.legal()))
    again = Game.of_array(game.rules, game.array.copy(), match=match, seed=seed)
    assert again.array.tobytes() == game.array.tobytes()
    assert (again.seed, again.number, again.match) == (game.seed, game.number, game.match)
    while True:
        assert answers(again) == answers(game)
        if not game.actions:
            break
        game.undo()
        again.undo()
    while not game.over:
        game.play(game.legal()[-1])
        again.play(again.legal()[-1])
    assert again.payoffs == game.payoffs
    game.deal_next()
    again.deal_next()
    assert answers(again) == answers(game)
