"""The Gymnasium environments pass its checks, and their vectors keep its conventions."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from walks import OPTIONS, SHAPES, label

from german_whist import network_inputs
from german_whist.agents import Agent, CannotPlay
from german_whist.agents.heuristic.random import RandomAgent
from german_whist.engine.batch.kernels import first_illegal
from german_whist.engine.game import IllegalAction
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv, SelfPlayEnv

ID = "german_whist/GermanWhist-v0"

CHECKER_WARNINGS = (
    # Gymnasium makes the environment anew by its spec, which does not pass through a wrapper.
    "ignore:.*Not able to test alternative render modes:UserWarning",
    "ignore:.*is different from the unwrapped version:UserWarning",
    # A matrix of events looks like an image to SB3, which advises on its size and type.
    "ignore:Your observation .* has an unconventional shape:UserWarning",
    # Checkers sample actions without the mask.
    "ignore:.*illegal action ends:UserWarning",
)


@pytest.mark.filterwarnings(*CHECKER_WARNINGS)
@pytest.mark.parametrize("options", [{"rules": name} for name in SHAPES] + OPTIONS, ids=label)
@pytest.mark.parametrize("library", ["gymnasium.utils", "stable_baselines3.common"])
def test_checkers_find_nothing_wrong(library: str, options: dict[str, Any]) -> None:
    checker = pytest.importorskip(f"{library}.env_checker")
    for in_observation in (False, True):
        env = GermanWhistEnv(mask_in_observation=in_observation, **options)
        checker.check_env(env, skip_render_check=True)


@pytest.mark.filterwarnings("ignore:.*illegal action ends")
@pytest.mark.parametrize("env_id", [ID, "german_whist/GermanWhistForeplay-v0"])
def test_gymnasiums_checker_passes_on_what_make_gives(env_id: str) -> None:
    pytest.importorskip("PIL")  # of the extra render: the checker asks for pictures
    with gymnasium.make(env_id) as env:
        check_env(env.unwrapped)


def test_the_learner_gets_both_seats_or_the_one_it_asks_for() -> None:
    vector = GermanWhistVectorEnv(200, "small-last")
    seats = vector.reset(seed=1)[1]["seat"]
    assert 60 < seats.sum() < 140
    assert (GermanWhistVectorEnv(50, seat=1).reset(seed=1)[1]["seat"] == 1).all()
    env = GermanWhistEnv(seat=0)
    assert {env.reset(seed=seed)[1]["seat"] for seed in range(20)} == {0}
    # Without a copy, buffers are used again.
    vector = GermanWhistVectorEnv(5, "small-last", copy=False)
    first, info = vector.reset(seed=1)
    assert np.shares_memory(first, vector.step(info["action_mask"].argmax(axis=1))[0])


def first_legal(views: Any, rng: Any) -> Any:
    return network_inputs(views, "small-last").masks.argmax(axis=1)


def cheat(views: Any, rng: Any) -> Any:
    return np.full(len(views), 51)


class NoShortDecks(Agent):
    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        if self.rules.ranks < 13:
            raise CannotPlay(f"this agent plays full decks, and {self.rules.name} has a short one")


def test_opponents_are_functions_agents_and_classes() -> None:
    for opponent in (first_legal, "test_gymnasium:first_legal", "random"):
        env = GermanWhistEnv("small-last", opponent=opponent)
        env.reset(seed=1)
        while not env.step(int(env.action_masks().argmax()))[2]:
            pass


class Seen(Agent):
    """Plays its lowest card, and keeps the views that it got."""

    reads_tricks = False

    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.views: list[bytes] = []

    def act(self, views: Any, rng: Any) -> Any:
        self.views.append(views.tobytes())
        return network_inputs(views, self.rules).masks.argmax(axis=1)


@pytest.mark.parametrize("rules", ["classic", "draft", "open-stock", "humbug"])
def test_new_opponent_gets_the_views_of_a_fresh_batch(rules: str) -> None:
    vector, fresh = (GermanWhistVectorEnv(20, rules, seat=1) for _ in range(2))
    vector.opponent = RandomAgent(rules).act  # of a function, nobody knows what it reads
    info = vector.reset(seed=1)[1]
    for _ in range(9):
        info = vector.step(info["action_mask"].argmax(axis=1))[4]
    views = []
    for env in (vector, fresh):
        env.opponent = seen = Seen(rules)
        seen.views.clear()
        info = env.reset(seed=2)[1]
        for _ in range(9):
            info = env.step(info["action_mask"].argmax(axis=1))[4]
        views.append(seen.views)
    assert views[0] == views[1]


def test_opponents_that_can_not_play_say_so() -> None:
    with pytest.raises(CannotPlay, match="plays full decks"):
        GermanWhistEnv("small-last", opponent=NoShortDecks)
    with pytest.raises(CannotPlay, match="made for the rules classic"):
        GermanWhistEnv("small-last", opponent=NoShortDecks("classic"))
    with pytest.raises(ValueError, match="did you mean 'threshold'"):
        GermanWhistEnv(opponent="treshold")
    with pytest.raises(TypeError, match="an agent is given by name"):
        GermanWhistEnv(opponent=3)


def play_until_it_fails(env: GermanWhistEnv) -> None:
    for seed in range(20):
        env.reset(seed=seed)
        env.step(int(env.action_masks().argmax()))


def test_illegal_opponent_is_named_and_reset_recovers() -> None:
    env = GermanWhistEnv("small-last", opponent=cheat, seat=0)
    with pytest.raises(ValueError, match=r"opponent cheat chose 51 \(AS\) .* not legal"):
        play_until_it_fails(env)
    with pytest.raises(IllegalAction, match=r"call reset\(\) first"):
        env.step(0)
    env.opponent = "random"
    env.reset(seed=1)
    env.step(int(env.action_masks().argmax()))


def test_options_that_do_not_fit_get_a_sentence() -> None:
    with pytest.raises(ValueError, match="seat is 2: it has to be 0, 1 or 'random'"):
        GermanWhistVectorEnv(seat=2)
    for count in (0, 2**70):
        with pytest.raises(ValueError, match=f"num_envs is {count}: .* from 1 to 10000000"):
            GermanWhistVectorEnv(count)
        with pytest.raises(ValueError, match=f"num_envs is {count}: .* from 1 to 10000000"):
            SelfPlayEnv(count)
    with pytest.raises(ValueError, match="render_mode is '3d'"):
        GermanWhistVectorEnv(2, render_mode="3d")
    for env in (GermanWhistEnv(), GermanWhistVectorEnv(2)):
        with pytest.raises(ValueError, match=r"no option 'deel': .*; did you mean 'deal'"):
            env.reset(options={"deel": 1})
    with pytest.raises(TypeError, match=r"no option 'oponent': .*; did you mean 'opponent'"):
        gymnasium.make_vec(ID, num_envs=2, oponent="random")


@pytest.mark.parametrize("options", [5, [1], "number"])
@pytest.mark.parametrize("make", [GermanWhistEnv, GermanWhistVectorEnv])
def test_reset_refuses_options_that_are_no_dictionary(make: Any, options: Any) -> None:
    with pytest.raises(ValueError, match=f"reset options are {re.escape(repr(options))}"):
        make().reset(options=options)


@pytest.mark.parametrize(
    "view", [lambda: GermanWhistEnv().view(), lambda: SelfPlayEnv(2).view(0, 0)]
)
def test_view_before_reset_is_refused(view: Any) -> None:
    with pytest.raises(IllegalAction, match="nothing to step yet: call reset"):
        view()


def test_read_only_actions_compile_nothing() -> None:
    env = SelfPlayEnv(4)
    actions = env.reset(seed=1).masks.argmax(axis=1)
    actions = env.step(actions).masks.argmax(axis=1)
    before = len(getattr(first_illegal, "overloads", ()))
    actions.flags.writeable = False
    env.step(actions)
    assert len(getattr(first_illegal, "overloads", ())) == before
