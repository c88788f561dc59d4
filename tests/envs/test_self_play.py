"""Self-play: honest rewards, arrays that torch wraps, and rule sets that step side by side."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from walks import picks

from german_whist.engine.dtypes import GAME
from german_whist.engine.game import IllegalAction
from german_whist.engine.observation.rule_features import rule_features
from german_whist.engine.observation.spec import EXCHANGE_SPEC, OBSERVATION_SPEC
from german_whist.engine.rules import load_rules
from german_whist.envs import SelfPlayEnv

RULES = ["all-tricks", "draft", "small-last"]


def test_torch_wraps_every_array_without_copying() -> None:
    for array in SelfPlayEnv(4).reset(seed=1):
        assert np.shares_memory(torch.from_numpy(array).numpy(), array)


@pytest.mark.parametrize("look", ["views", "state", "observe", "game", "view"])
def test_self_play_before_a_reset_shows_no_game(look: str) -> None:
    env = SelfPlayEnv(2)
    arguments = {"game": (0,), "view": (0, 0)}.get(look, ())
    with pytest.raises(IllegalAction, match=r"call reset\(\) first"):
        getattr(env, look)(*arguments)
    env.reset(seed=1)
    getattr(env, look)(*arguments)


def test_rewards_of_a_trick_go_to_both_seats() -> None:
    env = SelfPlayEnv(5, "all-tricks", reward="tricks")
    now = env.reset(seed=2)
    rng = np.random.default_rng(0)
    total = np.zeros((5, 2))
    for step in range(1, 53):
        now = env.step(picks(now.masks, rng))
        total += now.rewards
        assert (np.abs(now.rewards).sum(axis=1) == (2 if step % 2 == 0 else 0)).all()
    assert now.ended.all()
    assert (total.sum(axis=1) == 0).all()


def test_each_rule_set_plays_as_it_does_alone() -> None:
    env = SelfPlayEnv(8, RULES, suit_order="trump-first")
    rng = np.random.default_rng(1)
    now = env.reset(seed=5)
    spans = [span for _, span in env.parts]
    assert [span.stop - span.start for span in spans] == [2, 3, 3]
    parts = [batch for batch, _ in env.parts]
    alone = [SelfPlayEnv(part.n, part.rules, suit_order="trump-first") for part in parts]
    mine = [each.reset(part.seed) for each, part in zip(alone, parts, strict=True)]
    first = SelfPlayEnv(2, "all-tricks", suit_order="trump-first").reset(seed=5)
    assert mine[0].observations.tolist() == first.observations.tolist()
    ended = 0
    for _ in range(120):
        assert now.masks.shape == (8, 53)
        for span, each in zip(spans, mine, strict=True):
            wide = each.masks.shape[1]
            assert not now.masks[span, wide:].any()
            for name, array in each._asdict().items():
                there = getattr(now, name)[span]
                assert (there[:, :wide] if name == "masks" else there).tolist() == array.tolist()
        actions = picks(now.masks, rng)
        mine = [each.step(actions[span]) for each, span in zip(alone, spans, strict=True)]
        now = env.step(actions)
        ended += int(now.ended.sum())
    assert ended > 10


def test_what_only_an_exchange_shows_is_zero_for_the_others() -> None:
    env = SelfPlayEnv(4, ["classic", "humbug"])
    alone = SelfPlayEnv(2, "classic").reset(seed=7)
    now = env.reset(seed=7)
    shape = 4, EXCHANGE_SPEC.size
    assert (now.observations.shape, now.masks.shape) == (shape, (4, 55))
    assert now.observations[:2, : OBSERVATION_SPEC.size].tolist() == alone.observations.tolist()
    assert not now.observations[:2, OBSERVATION_SPEC.size :].any()
    assert not now.masks[:2, 52:].any()
    assert now.masks[2:].nonzero()[1].tolist() == [53, 54, 53, 54]
    assert env.single_observation_space.shape == shape[1:]


def test_rule_sets_differ_in_features_and_deals() -> None:
    env = SelfPlayEnv(5, ["classic", "all-tricks"])
    for game, name in enumerate(2 * ["classic"] + 3 * ["all-tricks"]):
        assert env.rule_features[game].tolist() == rule_features(load_rules(name)).tolist()
    first, again = (env.reset(seed=3).observations.tolist() for _ in range(2))
    assert first == again
    assert first[0] != first[2]


def test_what_goes_on_is_kept_and_restored() -> None:
    env, other = (SelfPlayEnv(6, RULES) for _ in range(2))
    now = env.reset(seed=2)
    rng = np.random.default_rng(2)
    for _ in range(30):
        now = env.step(picks(now.masks, rng))
    restored = other.restore(env.state())
    assert restored.observations.tolist() == env.observe().observations.tolist()
    actions = picks(now.masks, rng)
    for one, two in zip(env.step(actions), other.step(actions), strict=True):
        assert one.tolist() == two.tolist()


@pytest.mark.parametrize(
    ("game", "action", "reason"), [(5, 99, "from 0 to 51"), (4, 0, "its mask")]
)
def test_mixed_step_with_an_illegal_action_changes_no_game(
    game: int, action: int, reason: str
) -> None:
    env = SelfPlayEnv(6, RULES, reward="tricks")
    now = env.reset(seed=2)
    for _ in range(3):
        now = env.step(now.masks.argmax(axis=1))
    before = {name: array.tobytes() for name, array in env.state().items()}
    actions = now.masks.argmax(axis=1)
    actions[game] = action if action else now.masks[game].argmin()
    with pytest.raises(IllegalAction, match=f"is not legal in game {game}: .*{reason}"):
        env.step(actions)
    assert {name: array.tobytes() for name, array in env.state().items()} == before
    twin = SelfPlayEnv(6, RULES, reward="tricks")
    twin.restore(env.state())
    actions = now.masks.argmax(axis=1)
    for found, expected in zip(env.step(actions), twin.step(actions), strict=True):
        assert found.tolist() == expected.tolist()


def test_mixed_restore_names_a_game_by_its_number_in_the_whole() -> None:
    env = SelfPlayEnv(6, RULES)
    env.reset(seed=2)
    state = env.state()
    state["records.2"].view(GAME)["turn"][1] = 2
    with pytest.raises(ValueError, match="the record of game 5"):
        env.restore(state)


@pytest.mark.parametrize(("count", "rules"), [(1, ["classic", "quick"]), (4, [])])
def test_every_rule_set_needs_a_game(count: int, rules: list[str]) -> None:
    with pytest.raises(ValueError, match=f"num_envs is {count}, and there are {len(rules)} rule"):
        SelfPlayEnv(count, rules)
