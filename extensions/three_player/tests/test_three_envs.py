"""Environments and players of the three-player game: API, observations, rewards, strength."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy import stats
from walks import OnlyLegal, pick

from german_whist.agents.base import agent_key
from german_whist.agents.calls import AgentFault
from german_whist.engine.checks import IllegalAction
from german_whist.three_player import GermanWhistThreeEnv, german_whist_three_v0
from german_whist.three_player.agents import (
    estimate_payoff,
    play_hand,
    random_card,
    three_stream,
    thrifty_card,
)
from german_whist.three_player.game import DUMMY, HAND, ThreeGame
from german_whist.three_player.observation import mask_for_three, observation_for_three


def test_an_episode_is_the_game_move_by_move() -> None:
    env = german_whist_three_v0.env()
    rng = np.random.default_rng(4)
    for number in range(10):
        env.reset(**({"seed": 9} if number == 0 else {}))
        game = ThreeGame(9, number)
        returns = dict.fromkeys(env.agents, 0.0)
        results: dict[str, Any] = {}
        for agent in env.agent_iter():
            observation, reward, over, cut, info = env.last()
            returns[agent] += reward
            assert not cut
            assert sum(env.rewards.values()) == 0
            for seat, name in enumerate(env.possible_agents):
                if name in env.agents:
                    view, shown = game.view(seat), env.observe(name)
                    np.testing.assert_array_equal(shown["observation"], observation_for_three(view))
                    np.testing.assert_array_equal(shown["action_mask"], mask_for_three(view))
                    assert env.observation_space(name).contains(shown)
                    assert env.unwrapped.view(name) == view
                    assert shown["action_mask"].any() == (not over and name == agent)
            if over:
                results[agent] = info["result"]
                env.step(None)
                continue
            assert info == {}
            assert agent == f"player_{game.mover}"
            if game.turn == DUMMY:
                assert game.mover == game.declarer
                assert {*np.flatnonzero(observation["action_mask"])} <= {*game.hands[DUMMY]}
            before = game.payoffs
            action = pick(observation["action_mask"], rng)
            game.play(action)
            env.step(action)
            earned = [new - old for new, old in zip(game.payoffs, before, strict=True)]
            assert [env.rewards[name] for name in env.possible_agents] == earned
            assert sorted(earned) in ([-1, -1, 2], [0, 0, 0])
        assert game.over
        tricks, payoffs = game.counting_tricks, game.payoffs
        for seat, agent in enumerate(env.possible_agents):
            order = [(seat + place) % 3 for place in range(3)]
            assert returns[agent] == payoffs[seat]
            result = results[agent]
            assert result["tricks"].tolist() == [tricks[each] for each in (*order, DUMMY)]
            assert result["payoffs"].tolist() == [payoffs[place_seat] for place_seat in order]
            assert result["deal"] == number


# -- deals and seeds


def test_deals_are_given_numbered_and_follow_each_other() -> None:
    env = german_whist_three_v0.raw_env()
    env.reset(seed=9)
    for number in range(4):
        assert env.game().cards_dealt == ThreeGame(9, number).cards_dealt
        assert env.agent_selection == f"player_{ThreeGame(9, number).turn}"
        env.reset()
    env.reset(options={"number": 2})
    assert env.game().cards_dealt == ThreeGame(9, 2).cards_dealt
    cards = ThreeGame(77).cards_dealt
    env.reset(seed=1, options={"deal": " ".join(map(str, cards)), "dealer": 1})
    assert env.game().cards_dealt == cards
    assert env.agent_selection == "player_2"
    env.reset()
    assert env.game().cards_dealt == ThreeGame(1, 1).cards_dealt
    env.reset(seed=1, options={"dealer": 0})
    assert env.game().cards_dealt == ThreeGame(1).cards_dealt
    assert env.agent_selection == "player_1"
    fresh = german_whist_three_v0.raw_env(), german_whist_three_v0.raw_env()
    for new_env in fresh:
        new_env.reset()
    assert fresh[0].game().cards_dealt != fresh[1].game().cards_dealt


def test_the_game_of_an_environment_is_a_copy() -> None:
    env = german_whist_three_v0.raw_env()
    env.reset(seed=8)
    env.game().play(env.game().legal()[0])
    assert env.game().actions == []


# -- Gymnasium


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
@pytest.mark.parametrize("mask_in_observation", [False, True])
def test_gymnasium_finds_nothing_wrong(mask_in_observation: bool) -> None:
    env = GermanWhistThreeEnv(mask_in_observation=mask_in_observation)
    check_env(OnlyLegal(env), skip_render_check=True)


CHECKER = """
import sys
sys.modules.update(dict.fromkeys({hidden!r}))
import gymnasium
import german_whist.three_player
from gymnasium.utils.env_checker import check_env
env = gymnasium.make("german_whist/GermanWhistThree-v0").unwrapped
check_env(env)
print(*env.metadata["render_modes"])
"""


@pytest.mark.parametrize(
    ("hidden", "modes"),
    [(["pygame"], "ansi rgb_array svg"), (["pygame", "PIL", "torch"], "ansi svg")],
)
def test_gymnasiums_checker_passes_without_extras(
    hidden: list[str], modes: str, tmp_path: Path
) -> None:
    program = CHECKER.format(hidden=hidden)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{modes}\n"


@pytest.mark.parametrize("seat", [0, 1, 2, "random"])
def test_a_learner_plays_the_same_hands_as_at_the_table_of_all(seat: int | str) -> None:
    env = GermanWhistThreeEnv(opponents=("thrifty", random_card), seat=seat)
    seats, for_dummy = set(), 0
    for number in range(20):
        observation, info = env.reset(**({"seed": 6} if number == 0 else {}))
        own = info["seat"]
        seats.add(own)
        total, over = 0.0, False
        while not over:
            assert env.view().legal
            for_dummy += env.view().turn == DUMMY
            np.testing.assert_array_equal(observation, observation_for_three(env.view()))
            assert env.observation_space.contains(observation)
            np.testing.assert_array_equal(info["action_mask"], env.action_masks())
            observation, reward, over, cut, info = env.step(info["action_mask"].argmax())
            total += reward
            assert not cut
        players = {own: lambda view, _: (view.legal & -view.legal).bit_length() - 1}
        players |= {(own + 1) % 3: thrifty_card, (own + 2) % 3: random_card}
        game = play_hand(ThreeGame(6, number), [players[at] for at in range(3)], agent_key(6))
        assert total == game.payoffs[own]
        assert info["result"]["payoffs"][0] == total
        assert info["result"]["deal"] == number
        assert not info["action_mask"].any()
        with pytest.raises(IllegalAction, match=r"the episode is over: call reset\(\)"):
            env.step(0)
    assert seats == ({0, 1, 2} if seat == "random" else {seat})
    assert for_dummy > 10


def test_an_illegal_card_of_a_learner_changes_nothing() -> None:
    env = GermanWhistThreeEnv(seat=1, illegal="raise")
    env.reset(seed=2)
    view = env.view()
    with pytest.raises(IllegalAction, match=r"is not in the hand of|does not follow suit"):
        env.step(env.action_masks().argmin())
    assert env.view() == view
    env.step(env.action_masks().argmax())


@pytest.mark.filterwarnings("ignore:.*illegal action ends")
@pytest.mark.parametrize("steps", [0, 9, 14])
def test_illegal_card_of_a_learner_ends_at_the_worst_return(steps: int) -> None:
    env = GermanWhistThreeEnv(seat=1, opponents="thrifty")
    _, info = env.reset(seed=2)
    total = 0.0
    for step in range(steps + 1):
        mask = info["action_mask"]
        action = mask.argmin() if step == steps else mask.argmax()
        _, reward, over, cut, info = env.step(int(action))
        total += reward
    assert (over, cut) == (True, False)
    assert total <= -HAND
    assert not info["action_mask"].any()
    assert info["result"]["deal"] == 0
    with pytest.raises(IllegalAction, match="the episode is over"):
        env.step(0)


def test_failing_opponents_are_named() -> None:
    def stubborn(view: Any, stream: Any) -> int:
        return 52

    env = GermanWhistThreeEnv(opponents=stubborn, seat=0)
    message = r"opponent stubborn in seat 1 chose wrongly: 52 is not an action"
    with pytest.raises(AgentFault, match=message):
        env.reset(seed=1, options={"dealer": 0})
    with pytest.raises(IllegalAction, match="nothing has been dealt"):
        env.step(0)
    with pytest.raises(ValueError, match="no agent 'thirfty' for three; did you mean 'thrifty'"):
        GermanWhistThreeEnv(opponents="thirfty")
    with pytest.raises(ValueError, match="no agent 'thirfty' for three"):
        env.opponents = "thirfty"  # type: ignore[assignment]
    env.opponents = "thrifty"  # type: ignore[assignment]
    assert env.opponents == (thrifty_card, thrifty_card)
    with pytest.raises(ValueError, match="it has to be one agent, or two of them"):
        GermanWhistThreeEnv(opponents=["random"] * 3)
    with pytest.raises(ValueError, match="mask_in_observation is 'no': it has to be True or False"):
        GermanWhistThreeEnv(mask_in_observation="no")
    with pytest.raises(ValueError, match="seat is 3: it has to be 0, 1, 2 or 'random'"):
        GermanWhistThreeEnv(seat=3)
    with pytest.raises(TypeError, match=r"no option 'opponent': .*; did you mean 'opponents'"):
        GermanWhistThreeEnv(opponent="random")


# -- players


def test_thrifty_beats_random_clearly() -> None:
    won = estimate_payoff("thrifty", "random", hands=60)
    assert won.low > 2
    assert 0.1 < won.margin_of_error < 1.5
    lost = estimate_payoff("random", "thrifty", hands=30)
    assert lost.high < -1.5


def test_measurement_is_repeated_by_its_seed_alone() -> None:
    for player in ("random", "thrifty"):
        assert abs(estimate_payoff(player, player, hands=10).value) < 1e-9
    first, repeated, other = (
        estimate_payoff("random", "thrifty", hands=30, seed=s) for s in (4, 4, 5)
    )
    assert first == repeated != other


def test_few_deals_take_the_quantile_of_student() -> None:
    payoffs, key = np.zeros(4), agent_key(1)
    for number in range(4):
        for seat in range(3):
            game = ThreeGame()
            game.deal(1, number)
            players = [thrifty_card if place == seat else random_card for place in range(3)]
            payoffs[number] += play_hand(game, players, key).payoffs[seat] / 3
    won = estimate_payoff("thrifty", "random", hands=4)
    assert won.value == pytest.approx(payoffs.mean())
    margin_of_error = stats.t.ppf(0.975, 3) * stats.sem(payoffs)
    assert won.margin_of_error == pytest.approx(margin_of_error, rel=1e-4)


@pytest.mark.parametrize(
    ("player", "hands", "told"),
    [
        *((player, 2, "there is no agent") for player in (["random"], 3, "randm")),
        *(("random", hands, f"hands is {hands!r}: ") for hands in (0, -1, 1, True, 2.5)),
    ],
)
def test_unknown_agents_and_too_few_hands_are_refused(player: Any, hands: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        estimate_payoff(player, "random", hands)


def test_random_plays_every_legal_card_alike() -> None:
    game = ThreeGame(3)
    key = agent_key(1)
    counts = dict.fromkeys(game.legal(), 0)
    for number in range(7000):
        game.number = number
        counts[random_card(game.view(), three_stream(key, game))] += 1
    assert all(abs(count - 1000) < 120 for count in counts.values())


def test_streams_differ_from_card_to_card_and_from_seat_to_seat() -> None:
    game, key, streams = ThreeGame(3), agent_key(1), set()
    while not game.over:
        streams.add(int(three_stream(key, game)[0]))
        game.play(game.legal()[0])
    assert len(streams) == 52
    game.deal(3)
    assert three_stream(agent_key(2), game)[0] not in streams
