"""Records from outside: every state that play reaches is accepted, an impossible one is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import corrupted_states
import numpy as np
import pytest
from corrupted_states import FUZZED, WaitingBatch, play_on_from_corrupted_states, played
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_parameters import parameters

from german_whist.common.jit.compiler import COMPILED
from german_whist.engine.dtypes import GAME, OVER
from german_whist.engine.game import Game
from german_whist.engine.records import GameRecord, RecordError, record_of
from german_whist.engine.rules import Match, Rules, RulesError
from german_whist.envs import GermanWhistVectorEnv, SelfPlayEnv
from support import EVERY_SET, dealt, engine_rules, played_out

try:
    from german_whist.envs.sb3 import GermanWhistVecEnv
except ModuleNotFoundError:  # without Stable-Baselines3
    GermanWhistVecEnv = None
needs_sb3 = pytest.mark.skipif(GermanWhistVecEnv is None, reason="needs Stable-Baselines3")

CASES: list[tuple[Any, dict[str, Any]]] = [
    *((name, {}) for name in EVERY_SET),
    ("classic", {"horizon": "foreplay"}),
    ("all-margin", {"horizon": "foreplay"}),
    ("classic", {"match": Match(target=4)}),
    ("draft", {"match": Match(best_of=3)}),
    ("humbug", {"match": Match(target=3)}),
    ("club-last", {"match": Match(target=15)}),
    ("race-9", {"match": Match(best_of=5)}),
]


def label(value: object) -> str:
    return str(value) if isinstance(value, str) else ""


@pytest.mark.parametrize(("rules", "options"), CASES, ids=label)
def test_every_state_that_play_reaches_is_accepted(rules: Any, options: dict[str, Any]) -> None:
    games, other = (WaitingBatch(engine_rules(rules), 4, seed, **options) for seed in (7, 8))
    rng = np.random.default_rng(0)
    for step in range(70):
        other.restore(games.state())
        assert other.games.tobytes() == games.games.tobytes()
        if step % 8 == 0:
            for index, deal in enumerate(games.games["deal"]):
                assert games.game(index).array["deal"][0].tobytes() == deal.tobytes()
        games.go_on(rng)


@settings(max_examples=40)
@given(values=parameters(), seed=st.integers(0, 2**64 - 1), target=st.integers(0, 3))
def test_so_is_every_state_by_rules_of_any_parameters(values: Any, seed: int, target: int) -> None:
    try:
        rules = Rules(**values)
    except RulesError:
        return
    match = Match(target=target) if target else None
    games, other = dealt(rules, 2, seed, match=match), dealt(rules, 2, 0, match=match)
    rng = np.random.default_rng(seed)
    for _ in range(rules.tricks * 3 + 2):
        other.restore(games.state())
        masks = games.observe().masks
        games.step((masks * rng.random(masks.shape)).argmax(axis=1))


IMPOSSIBLE = [
    ("turn", 2),
    ("turn", 255),
    ("phase", 5),
    ("phase", 9),
    ("phase", OVER),
    ("trump", 200),
    ("trump", 5),
    ("trick", 26),
    ("trick", 255),
    ("drawn", 200),
    ("dealer", 2),
    ("leader", 9),
    ("low", 1),
    ("tricks", 200),
    ("unseen_draws", 77),
    ("failed_at", -128),
    ("failed_at", 127),
    ("hand", 2**52 - 1),
    ("hand", 2**63),
    ("known_cards", 2**51),
    ("played", 2**52 - 1),
    ("deal", 0),
    ("deal", 255),
    ("led_cards", 255),
    ("followed_cards", 60),
    ("leaders", 7),
    ("took_second", 1),
    ("exchanged", 2),
    ("points", 1),
    ("points", -1),
    ("hands", 1),
    ("hands_won", 1),
]


@pytest.mark.parametrize(("field", "value"), IMPOSSIBLE)
def test_an_impossible_field_is_refused_and_changes_nothing(field: str, value: int) -> None:
    games = played("classic", 31)
    state = games.state()
    records = state["records"].view(GAME)
    records[field][1] = value
    never_reached(games, state, 1)
    if (field, value) != ("phase", OVER):  # a hand that was stopped is a game that goes on
        with pytest.raises(ValueError, match="never leads to this record"):
            Game.of_array(games.rules, records[1:2])


def never_reached(games: WaitingBatch, state: Any, game: int = 0) -> None:
    before = games.games.tobytes()
    with pytest.raises(ValueError, match=f"play never leads to the record of game {game}"):
        games.restore(state)
    assert games.games.tobytes() == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("points", (3, 0)),
        ("points", (1, 0)),
        ("points", (2, -1)),
        ("hands_won", (1, 1)),
        ("hands_won", (2, 0)),
        ("hands", 0),
    ],
)
def test_a_score_that_no_match_comes_to_is_refused(field: str, value: Any) -> None:
    match = Match(target=3)
    games = WaitingBatch("classic", 1, 1, match=match)
    while games.games["hands"][0] != 1:
        over = np.flatnonzero(games.games["phase"] == OVER)
        games.begin_next(over)
        games.play_on(games.masks().argmax(axis=1))
    state = games.state()
    state["records"].view(GAME)[field][0] = value
    never_reached(games, state)
    line = record_of(played_out(games.game(0))).as_mapping()
    line["match"][field] = list(value) if isinstance(value, tuple) else value
    with pytest.raises(RecordError):
        GameRecord.from_line(json.dumps(line))


def test_an_ending_is_no_state_of_the_foreplay() -> None:
    whole = WaitingBatch("classic", 1, 3)
    foreplay = WaitingBatch("classic", 1, 3, horizon="foreplay")
    while whole.games["drawn"][0] < 26:
        action = whole.masks().argmax(axis=1)
        whole.play_on(action)
        foreplay.play_on(action)
    foreplay.restore(foreplay.state())
    never_reached(whole, foreplay.state())
    for _ in range(3):
        assert whole.games["phase"][0] != OVER
        never_reached(foreplay, whole.state())
        whole.play_on(whole.masks().argmax(axis=1))
    last = whole.state()
    last["records"].view(GAME)["phase"] = OVER
    never_reached(foreplay, last)


@pytest.mark.parametrize(
    "make",
    [
        SelfPlayEnv,
        lambda n, rules: GermanWhistVectorEnv(n, rules, autoreset_mode="SameStep"),
        pytest.param(GermanWhistVecEnv, marks=needs_sb3),
    ],
    ids=["self-play", "vector", "sb3"],
)
def test_restore_refuses_finished_hands_where_the_next_follows(make: Any) -> None:
    games = WaitingBatch("small-last", 2, 5)
    while (games.games["phase"] != OVER).any():
        games.play_on(games.masks().argmax(axis=1))
    state = games.state()
    WaitingBatch("small-last", 2, 1).restore(state)
    whole = {**state, "seats": np.zeros(2, np.uint8)}
    vec = {**whole, "returns": np.zeros(2), "lengths": np.zeros(2, np.int64)}
    with pytest.raises(ValueError, match="the hand of game 0 is over"):
        make(2, "small-last").restore(vec)


def test_a_state_in_which_the_learner_is_not_to_move_is_refused() -> None:
    env = GermanWhistVectorEnv(3, "small-last", seat=0)
    env.reset(seed=1)
    env.step(env.action_masks().argmax(axis=1))
    state, before = env.state(), env.action_masks()
    state["seats"][2] = 1
    with pytest.raises(ValueError, match="the learner is not to move in game 2"):
        env.restore(state)
    np.testing.assert_array_equal(env.action_masks(), before)
    np.testing.assert_array_equal(env.state()["seats"], 0)


@needs_sb3
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("returns", [np.nan] * 3),
        ("returns", ["x"] * 3),
        ("lengths", [-1] * 3),
        ("lengths", [0.5] * 3),
    ],
)
def test_sums_of_an_episode_that_are_none_are_refused(name: str, value: Any) -> None:
    assert GermanWhistVecEnv is not None
    env = GermanWhistVecEnv(3, "small-last")
    env.reset()
    state = env.state()
    with pytest.raises(ValueError, match=f"{name} of the state are not all"):
        env.restore({**state, name: np.array(value)})


def test_a_part_that_does_not_fit_changes_nothing_in_the_others() -> None:
    env = SelfPlayEnv(4, ["small-last", "draft"])
    now = env.reset(seed=1)
    before = env.state()
    env.step(now.masks.argmax(axis=1))
    state_before = env.state()
    before["records.1"].view(GAME)["turn"] = 3
    for state in (before, {name: value for name, value in before.items() if name != "records.1"}):
        with pytest.raises(ValueError, match="the state"):
            env.restore(state)
        assert all(np.array_equal(state_before[name], value) for name, value in env.state().items())


@pytest.mark.parametrize(("rules", "options"), FUZZED, ids=label)
def test_a_corrupted_state_is_refused_or_plays_on_to_the_end(rules: str, options: Any) -> None:
    refused, accepted = play_on_from_corrupted_states(rules, 120, **options)
    assert refused > 60
    assert accepted > 5


@pytest.mark.skipif(not COMPILED, reason="the compiler is off, so the tests above did so")
def test_so_it_does_where_every_index_is_checked() -> None:
    tests = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(corrupted_states.__file__)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": tests},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refused, accepted = map(int, done.stdout.split())
    assert refused > 5
    assert accepted > 0
