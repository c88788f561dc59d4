"""Environments in words pass the conformance tests, and refuse with a sentence."""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from walks import api_test, pick, seed_test

from german_whist import card, german_whist_v0
from german_whist.engine.game import IllegalAction
from german_whist.engine.text.position import observation_text, rules_text
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv, SelfPlayEnv
from german_whist.envs.sb3 import GermanWhistVecEnv

ID = "german_whist/GermanWhistText-v0"
AECS = (german_whist_v0.env, german_whist_v0.raw_env)


@pytest.mark.filterwarnings(
    "ignore:Observation space for each agent probably should be:UserWarning",
    "ignore:Observation is not a NumPy array:UserWarning",
)
@pytest.mark.parametrize("rules", ["small-last", "draft", "humbug"])
def test_pettingzoo_tests_pass_on_texts(rules: str) -> None:
    api_test(german_whist_v0.env(rules, observation="text"), num_cycles=40)
    seed_test(lambda: german_whist_v0.raw_env(rules, observation="text"), num_cycles=20)


@pytest.mark.filterwarnings(
    "ignore:.*Not able to test alternative render modes:UserWarning",
    "ignore:.*illegal action ends",
)
def test_gymnasium_checker_passes_on_texts() -> None:
    env = gymnasium.make(ID, rules="small-last")
    assert isinstance(env.action_space, gymnasium.spaces.Text)
    assert isinstance(env.observation_space, gymnasium.spaces.Text)
    check_env(env.unwrapped, skip_render_check=True)
    check_env(
        GermanWhistEnv("draft", observation="text", mask_in_observation=True),
        skip_render_check=True,
    )
    check_env(gymnasium.make(ID, with_state=True).unwrapped, skip_render_check=True)


def test_refused_answer_gets_an_info_of_its_own() -> None:
    env = GermanWhistEnv("small-last", observation="text", with_state=True)
    infos = [env.reset(seed=1)[1], *(env.step("the duck")[4] for _ in range(2))]
    for info, later in itertools.pairwise(infos):
        for name in ("state", "action_mask"):
            np.testing.assert_array_equal(info[name], later[name])
            assert not np.shares_memory(info[name], later[name])


@pytest.mark.parametrize("answer", [str, int])
def test_aec_info_after_a_played_card_has_no_refusal(answer: Any) -> None:
    env = german_whist_v0.env("small-last", observation="text")
    env.reset(seed=1)
    agent = env.agent_selection
    number = int(env.last()[0]["action_mask"].argmax())
    env.step("the duck")
    with pytest.raises(IllegalAction, match="actions run from 0"):
        env.step(1000)
    assert "refused" in env.infos[agent]
    env.step(number if answer is int else str(card(number)))
    assert "refused" not in env.infos[agent]


def test_texts_play_as_numbers_do() -> None:
    options: dict[str, Any] = {"rules": "small-last", "opponent": "threshold"}
    text, plain = gymnasium.make(ID, **options), GermanWhistEnv(**options)
    rng = np.random.default_rng(1)
    for seed in range(3):
        (seen, info), (_, plain_info) = text.reset(seed=seed), plain.reset(seed=seed)
        assert seen.startswith(rules_text(plain.rules))
        ended = False
        while not ended:
            np.testing.assert_array_equal(info["action_mask"], plain_info["action_mask"])
            assert seen == observation_text(plain.view())
            action = pick(info["action_mask"], rng)
            answer = f"I play the [{card(action).name}]."
            seen, reward, ended, _, info = text.step(answer)
            _, plain_reward, plain_ended, _, plain_info = plain.step(action)
            assert (reward, ended) == (plain_reward, plain_ended)
        assert info["result"]["won"] == plain_info["result"]["won"]
        with pytest.raises(IllegalAction, match="the episode is over"):
            text.unwrapped.step("AS")


@pytest.mark.filterwarnings("ignore:.*illegal action ends")
def test_answers_without_a_card_are_refused_and_then_lose() -> None:
    env = GermanWhistEnv("small-last", observation="text", retries=1, seat=0)
    env.reset(seed=1)
    before = env.view()
    seen, reward, ended, _, info = env.step("the duck")
    assert seen.startswith("Refused: 'the duck' names no action: end your answer with one")
    assert (reward, ended, env.view()) == (0, False, before)
    assert info["refused"] in seen
    info = env.step(str(card(int(info["action_mask"].argmax()))))[4]
    assert "refused" not in info
    env.step("the duck")
    seen, reward, ended, _, info = env.step("the duck")
    assert ended
    assert reward <= -1
    assert not info["action_mask"].any()
    assert "'the duck' names no action" in info["refused"]
    assert not seen.startswith("Refused: ")
    strict = GermanWhistEnv("small-last", observation="text", illegal="raise")
    strict.reset(seed=1)
    with pytest.raises(IllegalAction, match="names no action"):
        strict.step("the duck")


@pytest.mark.filterwarnings("ignore:.*illegal action ends")
@pytest.mark.parametrize("action", [None, b"10D", ["10D"], 1.5], ids=repr)
def test_action_that_is_no_text_is_refused_with_an_example(action: Any) -> None:
    env = GermanWhistEnv("small-last", observation="text", retries=1, seat=0)
    aecs = [make("small-last", observation="text") for make in AECS]
    for each in (env, *aecs):
        each.reset(seed=1)
        with pytest.raises(
            IllegalAction, match=r"has to be a text such as '\[10♦\]', or a whole num"
        ):
            each.step(action)
    env.reset(seed=1)
    env.step("the duck")
    with pytest.raises(IllegalAction):
        env.step(action)
    assert env.step("the duck")[2]


@pytest.mark.filterwarnings("ignore:.*Illegal move made")
def test_aec_answers_are_refused_and_then_lose() -> None:
    raw = german_whist_v0.raw_env("small-last", observation="text")
    raw.reset(seed=1)
    with pytest.raises(IllegalAction, match="names no action"):
        raw.step("the duck")
    env = german_whist_v0.env("small-last", observation="text", retries=1)
    env.reset(seed=1)
    agent = env.agent_selection
    env.step(str(card(int(env.last()[0]["action_mask"].argmax()))))
    agent = env.agent_selection
    env.step("the duck")
    assert env.agent_selection == agent
    observation, reward, ended, cut, info = env.last()
    assert observation["observation"].startswith("Refused: ")
    assert "names no action" in info["refused"]
    assert (reward, ended, cut) == (0, False, False)
    other = next(each for each in env.agents if each != agent)
    assert not env.observe(other)["observation"].startswith("Refused: ")
    env.step("the duck")
    assert env.terminations[agent]
    assert env.rewards[agent] <= -1
    assert "names no action" in env.infos[agent]["refused"]
    assert "refused" not in env.infos[other]


@pytest.mark.filterwarnings("ignore:.*Illegal move made")
@pytest.mark.parametrize("offender", ["player_0", "player_1"])
def test_nobody_reads_the_last_refusal_of_a_lost_hand(offender: str) -> None:
    env = german_whist_v0.env("small-last", observation="text", retries=0)
    env.reset(seed=1)
    while env.agent_selection != offender:
        env.step(int(env.last()[0]["action_mask"].argmax()))
    env.step("the duck")
    for agent in env.agent_iter():
        assert not env.last()[0]["observation"].startswith("Refused: ")
        assert ("refused" in env.infos[agent]) == (agent == offender)
        env.step(None)


def test_refused_answers_leave_the_sum_of_rewards() -> None:
    sums = []
    for refusals in (0, 1):
        env = german_whist_v0.env("small-last", observation="text", reward="tricks")
        env.reset(seed=1)
        total = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            observation, reward, ended, _, _ = env.last()
            total[agent] += reward
            if not ended and refusals and "Refused: " not in observation["observation"]:
                env.step("the duck")
                assert not any(env.rewards.values())
            else:
                env.step(None if ended else int(observation["action_mask"].argmax()))
        sums.append(total)
    assert sums[0] == sums[1]
    assert any(sums[0].values())


def test_observation_of_any_refused_answer_is_in_the_space() -> None:
    env = GermanWhistEnv("small-last", observation="text")
    env.reset(seed=1)
    seen, *_ = env.step("Ich weiß nicht, été 東京 " * 40)
    assert seen.startswith("Refused: 'Ich wei? nicht, ?t? ?? ")
    assert seen in env.observation_space


def test_names_of_any_characters_are_in_the_text_space() -> None:
    rules = {"name": "Übung 練習 " * 8, "about": "été " * 125, "hand": 7, "stock": 14}
    env = GermanWhistEnv(rules, observation="text")
    seen, _ = env.reset(seed=1)
    assert seen.startswith("German Whist. ?bung ??")
    assert seen in env.observation_space


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: GermanWhistVectorEnv(2, observation="text"), "which single environments have"),
        (lambda: GermanWhistVecEnv(2, observation="text"), "which single environments have"),
        (lambda: SelfPlayEnv(2, observation="text"), "which single environments have"),
        (lambda: GermanWhistEnv(retries=3), "retries is 3, but"),
        (lambda: GermanWhistEnv(observation="text", retries=-1), "a whole number from 0"),
        (lambda: german_whist_v0.env(observation="text", retries=True), "a whole number from 0"),
        (
            lambda: GermanWhistEnv(observation="text", suit_order="trump-first"),
            "name the real suits",
        ),
    ],
)
def test_options_that_do_not_fit_texts_get_a_sentence(make: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        make()
