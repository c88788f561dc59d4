"""The lives of environments: resets that fail, copies and forks, and what is handed out."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from stable_baselines3.common.vec_env import SubprocVecEnv
from walks import (
    KINDS,
    NAMES,
    OPTIONS,
    Walked,
    arrays_in,
    every_kind,
    label,
    make,
    pick,
    records_of,
    suits_shown,
)

from german_whist import Game, german_whist_v0
from german_whist.agents import Agent
from german_whist.engine.batch.config import HORIZONS, OBSERVATIONS, REWARDS
from german_whist.engine.endgame import load_tablebase
from german_whist.engine.endgame.load import empty_tablebase
from german_whist.engine.game import IllegalAction
from german_whist.engine.rules import Match
from german_whist.engine.view import View
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv
from german_whist.envs.sb3 import GermanWhistVecEnv

pytestmark = pytest.mark.usefixtures("small_parts", "pooled_memory")

Array = np.ndarray[Any, Any]
MASKED = "raw_env", "env", "self-play"
"""What shows a mask always."""


def steps_are_refused(env: Any) -> None:
    """Whatever the action: some are legal in the deal that was played before."""
    n = getattr(env, "num_envs", None)
    for action in range(0, 52, 3):
        with pytest.raises(IllegalAction, match=r"call reset\(\) first"):
            env.step(action if n is None else np.full(n, action))


BAD: list[dict[str, Any]] = [
    {"seed": -1},
    {"seed": 1.5},
    {"seed": True},
    {"seed": 2**64},
    {"options": {"nmber": 1}},
    {"options": {"number": -1}},
    {"options": {"number": "x"}},
    {"seed": 3, "options": {"deal": "AS KD"}},
    {"options": {"dealer": 2}},
]


@every_kind
@pytest.mark.parametrize("steps", [None, 31])
def test_refused_reset_leaves_nothing_to_step(kind: str, steps: int | None) -> None:
    for bad in BAD:
        if kind == "self-play" and "options" in bad:
            continue
        env = make(kind, "small-last")
        walked, twin = Walked(env), Walked(make(kind, "small-last"))
        for each in (walked, twin):
            if steps is not None:
                each.reset(seed=7)
                each.story(steps)
        with pytest.raises((ValueError, gymnasium.error.Error)):
            refused_reset(env, bad)
        if not (kind == "env" and not env.unwrapped.agents):
            steps_are_refused(env)
        if kind in ("env", "raw_env"):
            aec = env.unwrapped
            for asked in (env.last, aec.game, lambda aec=aec: aec.view("player_0")):
                with pytest.raises(IllegalAction, match=r"call reset\(\) first"):
                    asked()
        # The deals go on as if it had not been asked for.
        for each in (walked, twin):
            each.reset(**({"seed": 7} if steps is None else {}))
        assert walked.story(20) == twin.story(20)


def refused_reset(env: Any, bad: dict[str, Any]) -> None:
    if not isinstance(env, GermanWhistVecEnv):
        env.reset(**bad)
        return
    env._seeds = [bad.get("seed")] * env.num_envs
    env.set_options(bad.get("options"))
    env.reset()


def test_options_of_sb3_are_for_all_games_alike() -> None:
    env = GermanWhistVecEnv(3, "small-last")
    env.seed(4)
    env.set_options({"number": 6})
    env.reset()
    assert records_of(env)["number"].tolist() == [6, 7, 8]
    env.set_options([{"number": 6}, {}, {}])
    with pytest.raises(ValueError, match="one dictionary for all"):
        env.reset()
    with pytest.raises(IllegalAction, match=r"call reset\(\) first"):
        env.step(np.zeros(3, int))
    env.reset()
    assert records_of(env)["number"].tolist() == [9, 10, 11]


# -- copies, pickles, forks


@every_kind
@pytest.mark.parametrize("options", [{"rules": "draft"}, *OPTIONS[4:7]], ids=label)
def test_copied_environments_are_independent(kind: str, options: Any) -> None:
    walked = Walked(make(kind, **options))
    walked.reset(seed=2)
    walked.story(33)
    other = Walked(copy.deepcopy(walked.env))
    third = Walked(pickle.loads(pickle.dumps(walked.env)))
    walked.rng, other.rng, third.rng = (np.random.default_rng(5) for _ in range(3))
    expected = other.story(40)
    assert walked.story(40) == expected
    assert third.story(40) == expected


@pytest.mark.parametrize("opponent", ["threshold", "counting"])
def test_copied_environment_shares_the_tablebase(opponent: str) -> None:
    env = GermanWhistEnv("small-last", opponent=opponent)
    env.reset(seed=1)
    assert len(pickle.dumps(env)) < 200_000
    opened, empty = load_tablebase(True, False), empty_tablebase(True, True)
    assert copy.deepcopy(opened) is opened
    assert pickle.loads(pickle.dumps(opened)) is opened
    # Only those of this process are told by their kind.
    other = pickle.loads(pickle.dumps(empty))
    assert (other.cards, other.low, other.base.tolist()) == (0, 1, empty.base.tolist())


def make_single() -> GermanWhistEnv:
    return GermanWhistEnv("small-last", opponent="threshold")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_workers_play_as_one_process_does() -> None:
    workers = gymnasium.vector.AsyncVectorEnv([make_single] * 2, context="fork")
    here = gymnasium.vector.SyncVectorEnv([make_single] * 2)
    try:
        _, info = workers.reset(seed=1)
        _, same = here.reset(seed=1)
        for _ in range(20):
            np.testing.assert_array_equal(info["action_mask"], same["action_mask"])
            actions = info["action_mask"].argmax(axis=1)
            *found, info = workers.step(actions)
            *expected, same = here.step(actions)
            assert all(map(np.array_equal, found, expected))
    finally:
        workers.close()
    subprocesses = SubprocVecEnv([make_single] * 2, start_method="fork")
    try:
        subprocesses.seed(1)
        subprocesses.reset()
        for _ in range(15):
            masks = np.array(subprocesses.env_method("action_masks"))
            subprocesses.step(masks.argmax(axis=1))
    finally:
        subprocesses.close()


# -- what is handed out


@every_kind
@pytest.mark.parametrize("in_observation", [False, True])
def test_writing_into_what_was_handed_out_changes_nothing(kind: str, in_observation: bool) -> None:
    how = {} if kind in MASKED else {"mask_in_observation": in_observation}
    scribbled, twin = (Walked(make(kind, "small-last", reward="tricks", **how)) for _ in range(2))
    for each in (scribbled, twin):
        each.reset(seed=3)
    for _ in range(50):
        for array in arrays_in(scribbled.handed_out):
            if array.flags.writeable and array.ndim:
                array[...] = 1 - array if array.dtype != np.bool_ else ~array
        if kind == "sb3" or kind.startswith("vector"):
            scribbled.env.action_masks()[:] = 0
        if kind == "self-play":
            scribbled.env.views()["hand"] = 0
        scribbled.step()
        twin.step()
        found, expected = arrays_in(scribbled.handed_out), arrays_in(twin.handed_out)
        assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]


@every_kind
@pytest.mark.parametrize("in_observation", [False, True])
def test_what_was_handed_out_stays_as_it_was(kind: str, in_observation: bool) -> None:
    how: dict[str, Any] = {"mask_in_observation": in_observation}
    if kind in MASKED:
        how = {"observation": OBSERVATIONS[in_observation]}
    walked = Walked(make(kind, "small-last", **how))
    walked.reset(seed=3)
    before = arrays_in(walked.handed_out)
    kept: list[tuple[Array, Array]] = []
    for _ in range(32):
        walked.step()
        now = arrays_in(walked.handed_out)
        kept += [(each, each.copy()) for each in now]
        for one, two in (*itertools.product(now, before), *itertools.combinations(now, 2)):
            assert not np.shares_memory(one, two)
        before = now
    assert all((each == copied).all() for each, copied in kept)


# -- the game behind an environment


@pytest.mark.parametrize("options", [{"rules": name} for name in NAMES] + OPTIONS, ids=label)
def test_the_game_of_an_environment_is_a_game_in_every_way(options: dict[str, Any]) -> None:
    env = german_whist_v0.raw_env(**options)
    match = env.options.match
    rng = np.random.default_rng(3)
    env.reset(seed=8)
    twin = Game(env.rules, seed=8, match=match)
    hands = 0
    while not env.is_over and hands < 3:
        mask = env.observe(env.agent_selection)["action_mask"]
        given = env.game()
        same_games(given, twin)
        given.play(given.legal()[0])
        shown = pick(mask, rng)
        order = suits_shown(env, env.agent_selection).tolist()
        real = shown if shown >= 52 else 13 * order[shown // 13] + shown % 13
        env.step(shown)
        twin.play(real)
        if twin.over and not env.is_over:
            twin.deal_next()
            assert env.game().points == twin.points
            hands += 1
    given = env.game()
    same_games(given, twin)
    if env.options.horizon == "foreplay":
        assert not given.over
        assert given.phase == "lead"
    elif env.is_over:
        assert given.payoffs == twin.payoffs
        assert given.match_over
    while twin.actions:
        twin.undo()
        given.undo()
        same_games(given, twin)
    with pytest.raises(IllegalAction, match="nothing to take back"):
        given.undo()
    while not given.over:
        given.play(given.legal()[-1])


def same_games(one: Game, other: Game) -> None:
    for name in ("over", "turn", "phase", "seed", "number", "match", "actions", "points", "hands"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("dealer", "trump", "low", "trick", "led", "upcards", "stock", "cards_dealt"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.legal() == other.legal()
    assert [one.view(seat) for seat in (0, 1)] == [other.view(seat) for seat in (0, 1)]


@pytest.mark.filterwarnings("ignore:.*Illegal move made")
def test_the_game_of_an_episode_that_was_given_up_is_as_it_stood() -> None:
    env = german_whist_v0.env(rules="classic")
    env.reset(seed=8)
    game = Game("classic", seed=8)
    for _ in range(33):
        action = int(env.last()[0]["action_mask"].argmax())
        game.play(action)
        env.step(action)
    offender = env.agent_selection
    env.step(int(env.last()[0]["action_mask"].argmin()))
    same_games(env.unwrapped.game(), game)
    for agent in env.agents:
        result = env.infos[agent]["result"]
        seat = env.possible_agents.index(agent)
        assert result["won"] == (-1 if agent == offender else 1)
        assert result["deal"] == 0
        assert result["tricks"].tolist() == list(game.counting_tricks)[:: 1 - 2 * seat]
    assert env.unwrapped.view(offender).phase == "over"
    for _ in range(2):
        env.step(None)
    assert not env.agents


# -- given deals


def test_a_given_deal_keeps_the_number_that_it_stands_for() -> None:
    cards = Game("small-last", seed=77).cards_dealt
    wishes = {"deal": cards, "dealer": 1, "number": 5}
    aec = german_whist_v0.raw_env("small-last")
    single, vector = GermanWhistEnv("small-last"), GermanWhistVectorEnv(1, "small-last")
    sb3 = GermanWhistVecEnv(1, "small-last")
    for env in (aec, single, vector):
        env.reset(seed=1, options=wishes)
    sb3.seed(1)
    sb3.set_options(wishes)
    sb3.reset()

    def deal_is(number: int, cards: list[Any]) -> None:
        assert (aec.game().number, aec.game().cards_dealt) == (number, cards)
        for env in (single, vector, sb3):
            assert records_of(env)["deal"][0, :28].tolist() == cards
            assert records_of(env)["number"].tolist() == [number]

    deal_is(5, cards)
    assert aec.game().dealer == 1
    while not aec.is_over:
        aec.step(int(aec.observe(aec.agent_selection)["action_mask"].argmax()))
    assert aec.infos["player_0"]["result"]["deal"] == 5
    for env in (aec, single, vector, sb3):
        env.reset()
    deal_is(6, Game("small-last", seed=1, number=6).cards_dealt)
    for dealer in (0, 1):
        aec.reset(seed=4, options={"dealer": dealer, "number": 2})
        deal = Game("small-last", seed=4, number=2).cards_dealt
        assert (aec.game().dealer, aec.game().cards_dealt) == (dealer, deal)


# -- opponents that remember


class Watchful(Agent):
    """Notices when a hand begins that it was not told of, or one is begun that goes on."""

    name = "watchful"
    keeps_state = True

    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.seen: dict[int, tuple[int, int]] = {}
        self.resets = np.zeros(64, int)

    def reset(self, indices: Array) -> None:
        assert len(set(indices.tolist())) == len(indices)
        self.resets[indices] += 1
        for index in indices.tolist():
            self.seen.pop(index, None)

    def act(self, views: Array, rng: Array, indices: Any = None) -> Array:
        actions = np.zeros(len(views), np.int64)
        for place, index in enumerate(indices.tolist()):
            view = views[place]
            cards = int(view["hand"]) | int(view["played"][0])
            dealt, trick = self.seen.get(index, (cards, -1))
            # Cards are drawn and none is lost, so those of a hand once seen stay.
            assert cards & dealt == dealt, "a new hand began and nobody said so"
            assert int(view["trick"]) >= trick
            if index not in self.seen:
                assert int(view["trick"]) == 0, "told of a new hand in the middle of one"
            self.seen[index] = cards, int(view["trick"])
            actions[place] = View(self.rules, views[place : place + 1].copy()).legal()[0]
        return actions


@pytest.mark.parametrize("kind", ["gymnasium", "sb3", *(k for k in KINDS if "vector" in k)])
@pytest.mark.parametrize("horizon", ["hand", "foreplay", "match"])
def test_a_stateful_opponent_is_told_of_every_hand_alone(kind: str, horizon: str) -> None:
    match = 4 if horizon == "match" else None
    walked = Walked(make(kind, "small-last", horizon=horizon, match=match))
    walked.env.opponent = Watchful
    opponent = walked.env.opponent
    assert opponent.resets[0] == 1
    walked.reset(seed=1)
    begun = opponent.resets.copy()
    hands, before = 0, records_of(walked.env)["number"]
    for _ in range(120):
        walked.step()
        # Each hand has a deal of its own.
        hands += int((records_of(walked.env)["number"] != before).sum())
        before = records_of(walked.env)["number"]
    assert hands > 5
    assert (opponent.resets - begun).sum() == hands


# -- every option with every other


@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("reward", REWARDS)
def test_rewards_add_up_to_the_result(reward: str, horizon: str) -> None:
    rng = np.random.default_rng(1)
    sets = ["small-last", "small-all", "colour", "club-last", *["race-9"] * (horizon == "hand")]
    for rules, suit_order, observation in itertools.product(
        sets, ("raw", "trump-first"), OBSERVATIONS
    ):
        env = german_whist_v0.raw_env(
            rules,
            reward=reward,
            suit_order=suit_order,
            horizon=horizon,
            observation=observation,
            match=3 if horizon == "match" else None,
        )
        env.reset(seed=2)
        total = np.zeros(2)
        while not env.is_over:
            env.step(pick(env.observe(env.agent_selection)["action_mask"], rng))
            total += list(env.rewards.values())
        points = np.array(env.game().points)
        low, record = env.game().low, env.options.rules
        for seat in (0, 1):
            result = env.infos[f"player_{seat}"]["result"]
            mine, others = result["tricks"].tolist()
            reached = record.race is None or max(mine, others) >= record.race
            assert record.race or mine + others == record.counting_tricks
            assert result["points"].tolist() == points[[seat, 1 - seat]].tolist()
            if horizon == "match":
                worth = {"points": points[seat] - points[1 - seat], "win": result["won"]}
                assert result["won"] == np.sign(points[seat] - points[1 - seat])
            else:
                margin = (others - mine) if low else (mine - others)
                assert result["won"] == np.sign(margin) * reached
                worth = {"margin": margin * reached, "tricks": margin, "win": result["won"]}
                if horizon == "hand":
                    worth["points"] = env.game().payoffs[seat]
            if reward in worth:
                assert total[seat] == worth[reward]
        assert (total >= -env.worst).all()


@pytest.mark.parametrize("reward", ["points", "win"])
def test_best_of_match_is_won_by_hands_not_points(reward: str) -> None:
    env = german_whist_v0.raw_env("margin", horizon="match", match=Match(best_of=3), reward=reward)
    rng = np.random.default_rng(4)
    apart = 0
    for seed in range(40):
        env.reset(seed=seed)
        total = 0.0
        while not env.is_over:
            env.step(pick(env.observe(env.agent_selection)["action_mask"], rng))
            total += env.rewards["player_0"]
        result = env.infos["player_0"]["result"]
        mine, others = env.view("player_0").array[0]["hands_won"].astype(int)
        hands, points = mine - others, result["points"][0] - result["points"][1]
        assert result["won"] == np.sign(hands)
        assert total == (points if reward == "points" else result["won"])
        apart += np.sign(hands) != np.sign(points)
    assert apart > 0
