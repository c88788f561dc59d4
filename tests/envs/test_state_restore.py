"""States of environments as plain arrays, restored elsewhere; and threads."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from walks import KINDS, OPTIONS, Walked, label
from walks import make as make_env

from german_whist import german_whist_v0
from german_whist.agents.heuristic.random import RandomAgent
from german_whist.engine.cards import KEEP, TAKE_BLIND
from german_whist.engine.dtypes import EXCHANGE, GAME, KEPT_HAND, TOOK_BLIND, UNDECIDED
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv, SelfPlayEnv
from german_whist.envs.sb3 import GermanWhistVecEnv
from support import dealt

pytestmark = pytest.mark.usefixtures("small_parts", "pooled_memory")

Array = np.ndarray[Any, Any]


def saved(state: dict[str, Array]) -> dict[str, Array]:
    """A state after it has been in a file of plain arrays."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **state)  # type: ignore[arg-type]
    file.seek(0)
    return dict(np.load(file, allow_pickle=False))


STATEFUL = [kind for kind in KINDS if "env" not in kind]


def walked(kind: str, rules: Any, **options: Any) -> Walked:
    return Walked(make_env(kind, rules, opponent="random", **options))


@pytest.mark.parametrize("kind", STATEFUL)
@pytest.mark.parametrize("options", [{"rules": "draft"}, *OPTIONS[3:8]], ids=label)
def test_restored_state_continues_in_another_environment(
    kind: str, options: dict[str, Any]
) -> None:
    original, restored = walked(kind, **options), walked(kind, **options)
    original.reset(seed=2)
    original.story(37)
    state = original.env.state()
    restored.env.restore(saved(state))
    original.rng, restored.rng = (np.random.default_rng(5) for _ in range(2))
    expected = original.story(60)
    assert restored.story(60) == expected
    # It is a copy: later steps have not changed it, and it can be restored again.
    original.env.restore(state)
    original.rng = np.random.default_rng(5)
    assert original.story(60) == expected


@pytest.mark.parametrize("kind", ["self-play", "sb3", "vector SameStep"])
def test_restored_state_continues_within_an_exchange(kind: str) -> None:
    original, restored = (walked(kind, "humbug") for _ in range(2))
    original.reset(seed=3)
    # Against an opponent, some learners are to move after it decided.
    if kind == "self-play":
        original.step()
    state = original.env.state()
    records = state["records"].view(GAME)
    asked = records["exchanged"][records["phase"] == EXCHANGE]
    assert ((asked == UNDECIDED).sum(axis=1) == 1).any()
    restored.env.restore(saved(state))
    original.rng, restored.rng = (np.random.default_rng(5) for _ in range(2))
    assert restored.story(40) == original.story(40)


@pytest.mark.parametrize(
    ("told", "instead"), [(KEPT_HAND, TOOK_BLIND), (UNDECIDED, TOOK_BLIND), (TOOK_BLIND, KEPT_HAND)]
)
def test_a_state_of_an_exchange_with_other_hands_is_refused(told: int, instead: int) -> None:
    games = dealt("humbug", 20, seed=1)
    games.step(np.array([KEEP, TAKE_BLIND] * 10))
    state = games.state()
    exchanged = state["records"].view(GAME)["exchanged"]
    assert (exchanged == told).any()
    exchanged[exchanged == told] = instead
    with pytest.raises(ValueError, match="not of games by the rules humbug"):
        games.restore(state)


def test_restored_state_has_no_rewards_and_ends() -> None:
    games = dealt("small-last", 2, seed=3)
    while not games.step(games.observe().masks.argmax(axis=1)).ended.any():
        pass
    games.restore(games.state())
    look = games.observe()
    assert not look.ended.any()
    assert not look.rewards.any()
    # Where there is a learner, a state holds the seats too.
    vector = make_env("vector SameStep", "small-last")
    with pytest.raises(ValueError, match="the state has no 'seats' of 3 rows"):
        vector.restore(dealt("small-last", 3).state())


def without(state: dict[str, Array], name: str) -> dict[str, Array]:
    return {key: array for key, array in state.items() if key != name}


OTHER_HANDS = {"suits": 4, "ranks": 7, "hand": 5, "stock": 18}


@pytest.mark.parametrize("kind", ["self-play", "sb3", "vector SameStep"])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda _: None, "the state is None, a NoneType: give what"),
        (lambda state: without(state, "records"), "the state has no 'records'"),
        (lambda state: without(state, "seed"), "the state has no 'seed' of 1 rows"),
        (lambda state: {**state, "records": state["records"][:-8]}, "games of uint8, and 3 of"),
        (lambda state: {**state, "records": state["records"].view(np.int8)}, "3 games of int8"),
        (lambda state: {**state, "seed": np.array([1.5])}, "seed is .*1.5.*: .*whole"),
        (lambda state: {**state, "records": 0 * state["records"]}, "not of games by the rules"),
        (lambda state: {**state, **dealt("classic", 3).state()}, "by the rules small-last"),
        (lambda state: {**state, **dealt(OTHER_HANDS, 3).state()}, "by the rules small-last"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(kind: str, change: Any, sentence: str) -> None:
    refused, twin = (walked(kind, "small-last") for _ in range(2))
    for walk in (refused, twin):
        walk.reset(seed=4)
        walk.story(9)
    with pytest.raises(ValueError, match=sentence):
        refused.env.restore(change(refused.env.state()))
    assert refused.story(20) == twin.story(20)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (None, "game is None, a NoneType: give its number"),
        (1.5, "game is 1.5, a float"),
        (-1, "there is no game -1: games run from 0 to 3"),
    ],
)
def test_a_game_is_told_by_its_number(number: Any, sentence: str) -> None:
    env = SelfPlayEnv(4, "2x4-h2")
    env.reset(seed=1)
    for shown in (env.game, lambda game: env.view(game, 0)):
        with pytest.raises((TypeError, IndexError), match=sentence):
            shown(number)
    assert env.view(np.int64(2), 0) == env.view(2, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [kind for kind in STATEFUL if kind != "gymnasium"])
@pytest.mark.parametrize("options", [{"rules": "draft"}, *OPTIONS[3:9]], ids=label)
def test_threads_change_nothing_in_any_environment(kind: str, options: dict[str, Any]) -> None:
    one, three = (walked(kind, threads=threads, **options) for threads in (1, 3))
    for walk in (one, three):
        walk.reset(seed=6)
    assert one.story(50) == three.story(50)


class Noted(RandomAgent):
    def __init__(self, thread_safe: bool) -> None:
        super().__init__("classic")
        self.thread_safe = thread_safe
        self.asked: list[int] = []

    def act(self, views: Array, rng: Array) -> Array:
        self.asked.append(len(views))
        return super().act(views, rng)


@pytest.mark.parametrize("thread_safe", [False, True])
def test_thread_safe_opponent_acts_in_parts(thread_safe: bool) -> None:
    opponent = Noted(thread_safe)
    vector = GermanWhistVectorEnv(20, opponent=opponent, seat=1, threads=3)
    opponent.asked.clear()
    vector.reset(seed=1)
    # It leads where the learner deals, and then the learner is to follow.
    leads = int((vector.state()["records"].view(GAME)["dealer"] == 1).sum())
    parts = [leads * (part + 1) // 3 - leads * part // 3 for part in range(3)]
    assert leads > 3
    assert sorted(opponent.asked) == (sorted(parts) if thread_safe else [leads])


@pytest.mark.parametrize("make", [SelfPlayEnv, GermanWhistVectorEnv, GermanWhistVecEnv])
def test_constructor_refuses_bad_thread_counts(make: Any) -> None:
    for threads in (0, 1.5, True, "2", 1025, 10**6, 2**70):
        with pytest.raises(ValueError, match=f"threads is {threads!r}: it has to be a number from"):
            make(threads=threads)


@pytest.mark.parametrize(
    ("make", "flag"),
    [
        (SelfPlayEnv, "copy"),
        (GermanWhistVectorEnv, "copy"),
        *(
            (make, "mask_in_observation")
            for make in (GermanWhistEnv, GermanWhistVectorEnv, GermanWhistVecEnv)
        ),
    ],
)
def test_constructor_takes_no_words_for_flags(make: Any, flag: str) -> None:
    with pytest.raises(ValueError, match=f"{flag} is 'False': it has to be True or False"):
        make(**{flag: "False"})


GAME_OPTIONS = ("reward", "suit_order", "horizon", "observation", "match")


@pytest.mark.parametrize(
    "make",
    [
        german_whist_v0.env,
        german_whist_v0.raw_env,
        GermanWhistEnv,
        GermanWhistVectorEnv,
        SelfPlayEnv,
        GermanWhistVecEnv,
    ],
)
def test_every_constructor_knows_the_same_options_and_no_others(make: Any) -> None:
    for name in GAME_OPTIONS:
        with pytest.raises(TypeError, match=f"no option '{name}s': .*; did you mean '{name}'"):
            make(**{f"{name}s": None})
        with pytest.raises(ValueError, match=f"{name} is 'x'"):
            make(**{name: "x"})
