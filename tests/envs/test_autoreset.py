"""The vector resets itself in each of Gymnasium's modes as Gymnasium's own vectors do."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_returned_data_not_reused, data_equivalence
from gymnasium.utils.performance import benchmark_vector_step
from gymnasium.vector import AutoresetMode, VectorActionWrapper
from gymnasium.wrappers import vector as wrappers
from walks import OPTIONS, label, picks, records_of

from german_whist.engine.game import IllegalAction
from german_whist.envs import GermanWhistVectorEnv

ID = "german_whist/GermanWhist-v0"
MODES = list(AutoresetMode)
SAME, NEXT, DISABLED = AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED
each_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)


class OnlyLegalVector(VectorActionWrapper[Any, Any, Any]):
    """A vector whose every action stands for a legal one, for helpers that sample them."""

    def actions(self, actions: Any) -> Any:
        masks = self.env.unwrapped.action_masks()
        legal = [np.flatnonzero(mask) if mask.any() else np.zeros(1, int) for mask in masks]
        return np.array([each[a % len(each)] for each, a in zip(legal, actions, strict=True)])


def step_of(vector: Any, actions: Any, mode: AutoresetMode) -> list[Any]:
    """What a step gives, and where the user has to reset, what that does."""
    found = list(vector.step(actions))
    ended = found[2].copy()
    if mode is DISABLED and ended.any():
        found += vector.reset(options={"reset_mask": ended})
    return found


@each_mode
@pytest.mark.parametrize(
    "options", [{"rules": "small-last", "mask_in_observation": True}, *OPTIONS], ids=label
)
def test_vector_env_equals_gymnasium_vector_of_one(options: Any, mode: AutoresetMode) -> None:
    native = GermanWhistVectorEnv(1, autoreset_mode=mode, opponent="threshold", **options)
    how: dict[str, Any] = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": mode}}
    own = gymnasium.make_vec(ID, num_envs=1, opponent="threshold", **how, **options)
    assert native.observation_space == own.observation_space
    assert native.action_space == own.action_space
    assert native.metadata["autoreset_mode"] is own.metadata["autoreset_mode"] is mode
    found, expected = list(native.reset(seed=1)), list(own.reset(seed=1))
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(60):
        same_values(found, expected)
        actions = picks_or_any(native.action_masks(), rng)
        found, expected = step_of(native, actions, mode), step_of(own, actions, mode)
        ends += int(found[2][0])
    assert ends > 1 or options.get("horizon") == "match"


def picks_or_any(masks: Any, rng: np.random.Generator) -> Any:
    """Legal actions; where none is, one that is never legal."""
    rows = [mask if mask.any() else np.eye(1, len(mask))[0] for mask in masks]
    return np.where(masks.any(axis=1), picks(np.array(rows), rng), 999)


def same_values(found: Any, expected: Any) -> None:
    """Equal values all the way down, of the same kinds where Gymnasium has kinds of its own."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            same_values(found[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same_values(one, other)
    elif isinstance(expected, np.ndarray) and expected.dtype == object:
        same_values(list(found), list(expected))
    else:
        np.testing.assert_array_equal(found, expected)
        assert np.asarray(found).dtype.kind in (np.asarray(expected).dtype.kind, "u")


@each_mode
def test_every_mode_plays_the_same_deals(mode: AutoresetMode) -> None:
    vector = GermanWhistVectorEnv(3, "small-last", autoreset_mode=mode, opponent="threshold")
    _, info = vector.reset(seed=5)
    rng = np.random.default_rng(1)
    deals: list[list[int]] = [[], [], []]
    for _ in range(75):
        *_, ended, _, info = vector.step(picks_or_any(info["action_mask"], rng))
        results = info["final_info"] if mode is SAME and ended.any() else info
        assert ("result" in results) == ended.any()
        for index in np.flatnonzero(ended):
            deals[index].append(int(results["result"]["deal"][index]))
        if mode is DISABLED and ended.any():
            info = vector.reset(options={"reset_mask": ended})[1]
    assert deals == [[i + 3 * turn for turn in range(5)] for i in range(3)]


def test_next_step_begins_the_next_episode_whatever_the_action() -> None:
    vector = GermanWhistVectorEnv(4, "small-last", autoreset_mode="NextStep")
    _, info = vector.reset(seed=2)
    for _ in range(14):
        seen, _, ended, _, info = vector.step(info["action_mask"].argmax(axis=1))
    assert ended.all()
    assert not info["action_mask"].any()
    assert not vector.action_masks().any()
    last_seats = info["seat"]
    twin = GermanWhistVectorEnv(4, "small-last")
    fresh, fresh_info = twin.reset(seed=2, options={"number": 4})
    again, rewards, ended, cut, info = vector.step(np.full(4, -1))
    assert not any(each.any() for each in (rewards, ended, cut))
    assert not np.array_equal(again, seen)
    np.testing.assert_array_equal(again, fresh)
    np.testing.assert_array_equal(info["action_mask"], fresh_info["action_mask"])
    assert not np.array_equal(info["seat"], last_seats) or (last_seats == fresh_info["seat"]).all()
    assert "result" not in info
    with pytest.raises(IllegalAction, match="actions run from 0 to 51"):
        vector.step(np.full(4, -1))


def test_disabled_waits_for_a_reset_of_the_games_that_are_over() -> None:
    vector = GermanWhistVectorEnv(2, "small-last", autoreset_mode=DISABLED)
    _, info = vector.reset(seed=2)
    for _ in range(5):
        _, _, _, _, info = vector.step(info["action_mask"].argmax(axis=1))
    # Only game 1 goes on to its next deal, in the middle of the other's.
    before, untouched = info["action_mask"], records_of(vector)[0].tobytes()
    mask = np.array([False, True])
    seen, info = vector.reset(options={"reset_mask": mask})
    assert mask.tolist() == [False, True]
    assert records_of(vector)["number"].tolist() == [0, 3]
    assert records_of(vector)[0].tobytes() == untouched
    np.testing.assert_array_equal(info["action_mask"][0], before[0])
    assert vector.observation_space.contains(seen)
    for _ in range(9):
        _, _, ended, _, info = vector.step(info["action_mask"].argmax(axis=1))
    assert ended.tolist() == [True, False]
    kept = vector.state()["records"].tobytes()
    with pytest.raises(IllegalAction, match=r"game 0 is over, .*reset_mask': terminations"):
        vector.step(info["action_mask"].argmax(axis=1))
    assert vector.state()["records"].tobytes() == kept
    _, info = vector.reset(options={"reset_mask": ended})
    vector.step(info["action_mask"].argmax(axis=1))


def test_disabled_waits_for_every_game_that_is_over() -> None:
    vector = GermanWhistVectorEnv(3, "small-last", autoreset_mode=DISABLED)
    _, info = vector.reset(seed=2)
    for _ in range(14):
        _, _, ended, _, info = vector.step(info["action_mask"].argmax(axis=1))
    assert ended.all()
    for index, left in ((1, "game 0"), (0, "game 2")):
        _, info = vector.reset(options={"reset_mask": np.arange(3) == index})
        with pytest.raises(IllegalAction, match=f"{left} is over"):
            vector.step(info["action_mask"].argmax(axis=1))
    _, info = vector.reset(options={"reset_mask": np.arange(3) == 2})
    assert not vector.step(info["action_mask"].argmax(axis=1))[2].any()
    vector.reset(seed=3)
    assert records_of(vector)["number"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("mask", "seed", "why"),
    [
        *(
            (mask, None, "has to be 2 booleans in an array")
            for mask in ([True, False], np.array([1, 0]), np.array([True]))
        ),
        (np.array([False, False]), None, "holds no True"),
        (np.array([True, False]), 3, "seed is 3 beside a reset_mask"),
    ],
)
def test_masks_that_do_not_fit_get_a_sentence(mask: Any, seed: Any, why: str) -> None:
    vector = GermanWhistVectorEnv(2, autoreset_mode=DISABLED)
    with pytest.raises(ValueError, match="nothing is dealt: reset them all"):
        vector.reset(options={"reset_mask": np.array([True, True])})
    _, info = vector.reset(seed=1)
    with pytest.raises(ValueError, match=why):
        vector.reset(seed=seed, options={"reset_mask": mask})
    with pytest.raises(IllegalAction, match=r"call reset\(\) first"):
        vector.step(info["action_mask"].argmax(axis=1))


def test_only_vectors_know_masks_and_only_modes_that_there_are() -> None:
    with pytest.raises(ValueError, match="no option 'reset_mask'"):
        gymnasium.make(ID).unwrapped.reset(options={"reset_mask": np.array([True])})
    for mode in ("SAME_STEP", "next", None, 1):
        with pytest.raises(ValueError, match="one of NextStep, SameStep, Disabled"):
            GermanWhistVectorEnv(2, autoreset_mode=mode)
    for how in ({"autoreset_mode": NEXT}, {"autoreset_mode": "NextStep"}):
        vector = gymnasium.make_vec(ID, num_envs=2, **how)
        assert vector.metadata["autoreset_mode"] is NEXT
    assert GermanWhistVectorEnv.metadata["autoreset_mode"] is SAME


# -- Gymnasium's own wrappers and helpers


@each_mode
@pytest.mark.parametrize("in_observation", [False, True])
def test_gymnasiums_helpers_find_nothing(mode: AutoresetMode, in_observation: bool) -> None:
    def make(num_envs: int = 3) -> OnlyLegalVector:
        options: dict[str, Any] = {"autoreset_mode": mode, "mask_in_observation": in_observation}
        return OnlyLegalVector(GermanWhistVectorEnv(num_envs, "small-last", **options))

    one: Any = make(1)  # the checker asks of a step whether the one game is over
    check_returned_data_not_reused(one)
    assert benchmark_vector_step(make(), target_duration=0, seed=1) > 0
    one, two = make(), make()
    first, second = one.reset(seed=4), two.reset(seed=4)
    one.action_space.seed(1)
    for _ in range(40):
        assert data_equivalence(first, second)
        actions = one.action_space.sample()
        first, second = step_of(one, actions, mode), step_of(two, actions, mode)
        first[2:4], second[2:4] = [], []


@each_mode
def test_episode_statistics_are_those_of_the_episodes(mode: AutoresetMode) -> None:
    vector = GermanWhistVectorEnv(3, "all-margin", autoreset_mode=mode, reward="tricks")
    wrapped = wrappers.RecordEpisodeStatistics(vector)
    _, info = wrapped.reset(seed=1)
    rng = np.random.default_rng(0)
    episodes = 0
    for _ in range(90):
        _, _, ended, _, info = wrapped.step(picks_or_any(info["action_mask"], rng))
        if not ended.any():
            continue
        results = info["final_info"]["result"] if mode is SAME else info["result"]
        margin = results["tricks"][:, 0] - results["tricks"][:, 1]
        assert (info["episode"]["l"][ended] == 26).all()
        np.testing.assert_array_equal(info["episode"]["r"][ended], margin[ended])
        np.testing.assert_array_equal(np.sign(margin)[ended], results["won"][ended])
        episodes += int(ended.sum())
        if mode is DISABLED:
            info = wrapped.reset(options={"reset_mask": ended})[1]
    assert episodes == 9


@each_mode
def test_gymnasiums_vector_wrappers_go_over_it(mode: AutoresetMode) -> None:
    def make(**options: Any) -> OnlyLegalVector:
        vector = GermanWhistVectorEnv(3, "small-last", autoreset_mode=mode, **options)
        return OnlyLegalVector(vector)

    space = gymnasium.spaces.Box(0, 2, make().single_observation_space.shape, np.int8)
    everywhere: list[Any] = [
        lambda: wrappers.NormalizeReward(make()),
        lambda: wrappers.ClipReward(make(), -1, 1),
        lambda: wrappers.DictInfoToList(make()),
    ]
    # Gymnasium itself refuses these where a game is dealt anew in the step that ends it.
    elsewhere: list[Any] = [
        lambda: wrappers.RescaleObservation(make(), np.float32(-1), np.float32(1)),
        lambda: wrappers.ReshapeObservation(make(), (23, 23)),
        lambda: wrappers.DtypeObservation(make(), np.float32),
        lambda: wrappers.FlattenObservation(make(mask_in_observation=True)),
        lambda: wrappers.FilterObservation(make(mask_in_observation=True), ["observation"]),
        lambda: wrappers.TransformObservation(make(), lambda seen: seen * 2, None, space),
    ]
    if mode is NEXT:
        elsewhere.append(lambda: wrappers.NormalizeObservation(make()))
    wrapped = [wrap() for wrap in (everywhere if mode is SAME else everywhere + elsewhere)]
    for vector in wrapped:
        vector.reset(seed=1)
        vector.action_space.seed(1)
        episodes = 0
        for _ in range(45):
            actions = vector.action_space.sample()
            seen, _, ended, _, _ = vector.step(actions)
            assert vector.observation_space.contains(seen)
            episodes += int(ended.sum())
            if mode is DISABLED and ended.any():
                vector.reset(options={"reset_mask": ended})
        assert episodes == 9, vector
