"""The batch against the single game and the plain implementation, move by move.

What is shown is compared with plain rows, made from the index table and from what a player noted.
"""

from __future__ import annotations

import random
import tracemalloc
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from german_whist.engine.batch.cpu_backend import CpuBackend
from german_whist.engine.batch.results import StepResult
from german_whist.engine.game import Game
from german_whist.engine.observation.history import DEALT, DRAWN, SCORE, histories, history_rows
from german_whist.engine.observation.spec import spec_of
from german_whist.engine.reference import ReferenceGame, ReferenceMatch
from german_whist.engine.rules import Match
from german_whist.envs import SelfPlayEnv
from support import (
    EVERY_SET,
    STYLES,
    chosen_action,
    dealt,
    differences,
    engine_rules,
    expected_view,
    observation_differences,
    plain_history,
    plain_mask,
    plain_observation,
    plain_rules,
    plain_suit_order,
    plain_twin,
    played_out,
    shown,
    view_bytes,
)

pytestmark = pytest.mark.usefixtures("small_parts", "pooled_memory")

RAW = [0, 1, 2, 3]


class Seats:
    def __init__(self, name: str, n: int, seed: int, match: Match | None, suit_order: str) -> None:
        self.rules, self.plain = engine_rules(name), plain_rules(name)
        self.n, self.seed, self.match, self.suit_order = n, seed, match, suit_order
        self.numbers = list(range(n))
        self.games = [plain_twin(Game(self.rules, seed, index)) for index in range(n)]
        self.matches = [self.new_match(game.dealer) for game in self.games]

    def new_match(self, dealer: int) -> ReferenceMatch | None:
        if self.match is None:
            return None
        return ReferenceMatch(self.match.target, self.match.best_of, dealer)

    def deal_next(self, index: int) -> None:
        self.numbers[index] += self.n
        game = Game(self.rules, self.seed, self.numbers[index])
        dealer = game.dealer
        match = self.matches[index]
        if match is not None and match.winner is None:
            dealer = match.dealer
        else:
            self.matches[index] = self.new_match(dealer)
        deal = [int(card) for card in game.cards_dealt]
        self.games[index] = ReferenceGame(self.plain, deal, dealer)

    def needs(self, index: int, seat: int) -> tuple[int, int] | None:
        match = self.matches[index]
        if match is None:
            return None
        if match.target is not None:
            left = [match.target - total for total in match.totals]
        else:
            assert match.best_of is not None
            left = [match.best_of // 2 + 1 - won for won in match.hands_won]
        return left[seat], left[1 - seat]

    def check(self, index: int, step: StepResult, seat: int) -> list[int]:
        plain = self.games[index]
        assert step.seats[index] == seat
        view = plain.view(seat)
        order = RAW if self.suit_order == "raw" else plain_suit_order(self.plain, view)
        expected = plain_observation(view, order, self.needs(index, seat), spec_of(self.rules))
        actual = step.observations[index]
        assert np.array_equal(actual, expected), observation_differences(actual, expected)
        mask = plain_mask(plain.legal(), self.rules.actions, order)
        assert np.array_equal(step.masks[index], mask)
        return order


def check_kinds(games: SelfPlayEnv, step: StepResult) -> None:
    n, size = games.num_envs, spec_of(games.rules).size
    assert [(each.shape, each.dtype) for each in (*step, games.hand_over)] == [
        ((n, size), np.int8),
        ((n, games.rules.actions), np.int8),
        ((n,), np.uint8),
        ((n, 2), np.float32),
        ((n,), np.bool_),
        ((n,), np.bool_),
    ]


def play_and_compare(name: str, n: int, hands: int, suit_order: str, match: Any = None) -> int:
    rng = random.Random(f"batch {name} {suit_order} {match}")
    seed = rng.randrange(2**64)
    threads = 1 if suit_order == "raw" else 2
    games = dealt(engine_rules(name), n, seed, match=match, suit_order=suit_order, threads=threads)
    seats = Seats(name, n, seed, match, suit_order)
    styles = [rng.choice(STYLES) for _ in range(n)]
    step = games.observe()
    check_kinds(games, step)
    over, matches = 0, 0
    while True:
        orders = [seats.check(i, step, seats.games[i].turn or 0) for i in range(n)]
        if over >= hands:
            return matches
        actions = np.zeros(n, np.int64)
        rewards = np.zeros((n, 2), np.float32)
        hand_over, episode_over = np.zeros(n, bool), np.zeros(n, bool)
        for i, plain in enumerate(seats.games):
            hand = plain.hands[plain.turn or 0]
            action = chosen_action(styles[i], plain.legal(), hand, not plain.stock, rng)
            actions[i] = shown(action, orders[i])
            plain.play(action)
            if plain.phase != "over":
                continue
            over += 1
            rewards[i] = plain.payoffs()
            hand_over[i] = True
            played = seats.matches[i]
            if played is not None:
                played.add(plain.payoffs())
            episode_over[i] = played is None or played.winner is not None
            matches += int(episode_over[i])
            seats.deal_next(i)
        step = games.step(actions)
        assert np.array_equal(step.rewards, rewards)
        assert np.array_equal(games.hand_over, hand_over)
        assert np.array_equal(step.ended, episode_over)
        assert games.batch.games["number"].tolist() == seats.numbers
        assert games.batch.games["dealer"].tolist() == [plain.dealer for plain in seats.games]


@pytest.mark.parametrize(
    ("name", "suit_order"),
    [(name, "trump-first") for name in EVERY_SET]
    + [(name, "raw") for name in ("classic", "draft", "humbug")],
)
def test_batch_shows_and_plays_as_the_plain_implementation(name: str, suit_order: str) -> None:
    play_and_compare(name, n=3, hands=5, suit_order=suit_order)


@pytest.mark.parametrize("suit_order", ["raw", "trump-first"])
@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("classic", Match(target=3)),
        ("small-last", Match(best_of=3)),
        ("small-all", Match(target=10)),
        ("draft", Match(best_of=3)),
        ("colour", Match(target=200)),
        ("two by six", Match(target=5)),
        ("low", Match(best_of=5)),
    ],
)
def test_matches_in_a_batch_add_up(name: str, match: Match, suit_order: str) -> None:
    finished = play_and_compare(name, n=2, hands=16, suit_order=suit_order, match=match)
    assert finished or match.target == 200


def play_some(games: SelfPlayEnv, steps: int = 30) -> bytes:
    for _ in range(steps):
        games.step(games.observe().masks.argmax(axis=1))
    return games.batch.games.tobytes()


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("used", [False, True])
def test_threads_play_on_in_a_forked_child(used: bool) -> None:
    games, twin = dealt("quick", 9, 5, threads=2), dealt("quick", 9, 5)
    if used:
        assert play_some(games) == play_some(twin)
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(play_some(games)))
    child.start()
    try:
        assert receiver.poll(60), "the child hangs"
        expected = play_some(twin)
        assert receiver.recv() == expected
    finally:
        child.kill()
        child.join()
    assert play_some(games) == expected


def test_reset_begins_the_seed_again() -> None:
    games = dealt("small-all", 6, 1, match=Match(best_of=3))
    start, fresh = games.batch.games.copy(), games.observe()
    step = fresh
    while not (games.hand_over.any() and games.batch.games["hands"].any()):
        step = games.step(step.masks.argmax(axis=1))
    games.reset(1)
    again = games.observe()
    for name in ("hand", "deal", "dealer", "number", "points", "hands", "hands_won", "phase"):
        assert np.array_equal(games.batch.games[name], start[name]), name
    for before, after in zip(fresh, again, strict=True):
        assert np.array_equal(before, after)


def test_indices_move_only_the_games_they_name() -> None:
    rng = random.Random(3)
    games = dealt("draft", 6, 2, suit_order="trump-first")
    twin = dealt("draft", 6, 2, suit_order="trump-first")
    for _ in range(200):
        indices = np.array(rng.sample(range(6), rng.randint(1, 6)))
        look = games.observe()
        actions = np.array([rng.choice(np.flatnonzero(look.masks[i]).tolist()) for i in indices])
        before = games.batch.games.copy()
        step = games.step(actions, indices)
        for place, index in enumerate(indices):
            twin.step(actions[place : place + 1], np.array([index]))
        waiting = np.setdiff1d(np.arange(6), indices)
        assert games.batch.games[waiting].tobytes() == before[waiting].tobytes()
        for shown_before, shown_now in zip(look[:3], step[:3], strict=True):
            assert np.array_equal(shown_before[waiting], shown_now[waiting])
        assert games.batch.games.tobytes() == twin.batch.games.tobytes()
        assert np.array_equal(step.observations, twin.observe().observations)


def test_step_of_some_games_ends_only_hands_of_those() -> None:
    games = dealt(engine_rules("two cards"), 3, 2)
    step = games.step(games.observe().masks.argmax(axis=1))
    step = games.step(step.masks.argmax(axis=1))
    assert games.hand_over.all()
    step = games.step(step.masks.argmax(axis=1)[1:2], np.array([1]))
    assert not games.hand_over.any()
    assert not step.ended.any()
    assert not step.rewards.any()


def test_buffers_are_the_same_arrays_at_every_step() -> None:
    games, twin = dealt("quick", 5, 3, copy=False), dealt("quick", 5, 3)
    step = games.step(games.observe().masks.argmax(axis=1))
    other = twin.step(twin.observe().masks.argmax(axis=1))
    for _ in range(60):
        actions = step.masks.argmax(axis=1)
        now = games.step(actions)
        other = twin.step(actions)
        for first, second, copied in zip(step, now, other, strict=True):
            assert first is second
            assert np.array_equal(first, copied)


def test_backend_reuses_memory_that_nothing_references() -> None:
    host = CpuBackend()
    room = host.empty((40, 30), np.int8)
    where, part = room.ctypes.data, room[3:5].T
    del room
    assert host.empty((40, 30), np.int8).ctypes.data != where
    del part
    assert host.empty((30, 40), np.int8).ctypes.data != where
    assert host.empty((40, 30), np.int8).ctypes.data == where


def test_backend_memory_pool_is_bounded_and_freed() -> None:
    size = 1 << 20
    tracemalloc.start()
    host = CpuBackend()
    for more in range(12):
        host.empty((size + more,), np.int8)
    assert tracemalloc.get_traced_memory()[0] < 2.5 * size
    survivor = host.empty((size,), np.int8)
    del host
    freed = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert survivor.nbytes <= freed < 1.5 * size


def test_views_of_a_batch_are_those_of_the_plain_game() -> None:
    rng = random.Random(0)
    games = dealt("open-stock", 3, 4)
    plains = [plain_twin(Game("open-stock", 4, number)) for number in range(3)]
    for _ in range(40):
        for plain, to_move in zip(plains, games.views(), strict=True):
            fields = expected_view(plain.view(plain.turn or 0))
            assert to_move.tobytes() == view_bytes(fields), differences(to_move.tobytes(), fields)
        mixed = games.views(np.array([1, 0]), np.array([2, 1]))
        for record, index, seat in zip(mixed, (2, 1), (1, 0), strict=True):
            assert record.tobytes() == view_bytes(expected_view(plains[index].view(seat)))
        assert not np.shares_memory(mixed, games.batch.games)
        actions = [rng.choice(plain.legal()) for plain in plains]
        games.step(np.array(actions))
        for plain, action in zip(plains, actions, strict=True):
            plain.play(action)


# -- the history of what a player saw


def first_order(rules: Any, view: dict[str, Any]) -> list[int]:
    whole = (DEALT, DRAWN) if rules.exchange else (DEALT,)
    rows = plain_history(view, RAW)
    up = [row[2] // 13 for row in rows if row[0] not in whole and row[2] < 52]
    dealt = {
        "hand": view["events"][0][2],
        "tricks": [],
        "opponent_known": [],
        "upcards": [],
        # In the place of another tie-breaker stands how early a suit came up.
        "opponent_void": {suit: len(up) - up.index(suit) for suit in up},
        "led": None,
        "trump": view["trump"],
        "turned": view["turned"],
        # A hand that was taken comes whole, too.
        "laid_away": next((event[1] for event in view["events"] if event[0] == "blind"), ()),
    }
    return plain_suit_order(rules, dealt)


@pytest.mark.parametrize("name", EVERY_SET)
def test_history_rows_are_what_a_player_noted(name: str) -> None:
    rng = random.Random(f"history {name}")
    rules = engine_rules(name)
    record, room = rules.array(), history_rows(rules)
    for number in range(2):
        game = Game(rules, 31, number)
        plain = plain_twin(game)
        before: list[list[list[Any]]] = [[[], []], [[], []]]
        styles = (rng.choice(STYLES), rng.choice(STYLES))
        while True:
            for seat in (0, 1):
                view = plain.view(seat)
                views = game.view(seat).array
                for relabel in (False, True):
                    order = first_order(plain.rules, view) if relabel else RAW
                    expected = plain_history(view, order)
                    rows, orders = histories(record, views, room, relabel)
                    assert rows.dtype == np.int8
                    assert orders[0].tolist() == order
                    actual = [tuple(row) for row in rows[0].tolist() if row[0]]
                    assert actual == expected
                    assert not rows[0, len(actual) :].any()
                    # A row once written stays: networks with a memory read on from it.
                    assert actual[: len(before[seat][relabel])] == before[seat][relabel]
                    before[seat][relabel] = actual
            if plain.phase == "over":
                break
            hand = plain.hands[plain.turn or 0]
            style = styles[plain.turn or 0]
            action = chosen_action(style, plain.legal(), hand, not plain.stock, rng)
            game.play(action)
            plain.play(action)


def test_history_of_a_match_holds_its_score() -> None:
    rules = engine_rules("all-margin")
    match = Match(target=300)
    game = Game(rules, 3, match=match)
    score: list[int] = [0, 0]
    for _ in range(40):
        for seat in (0, 1):
            views = game.view(seat).array
            rows, _ = histories(rules.array(match), views, history_rows(rules), False)
            scores = [tuple(row) for row in rows[0].tolist() if row[0] == SCORE]
            own, other = (min(points, 127) for points in (score[seat], score[1 - seat]))
            assert scores == [(SCORE, 1, own, 0), (SCORE, 2, other, 0)]
            assert sum(row[0] == DEALT for row in rows[0].tolist()) == 13
        played_out(game)
        score = [0, 0] if game.match_over else list(game.points)
        game.deal_next()
