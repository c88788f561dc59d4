"""The pool draws, counts and resumes as it says, and plays as fixed opponents do."""

from __future__ import annotations

import copy
import gc
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from walks import picks

from german_whist.agents.heuristic.random import RandomAgent
from german_whist.agents.registry import load_agent
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv, OpponentPool
from support import dealt

Array = np.ndarray[Any, Any]
ID = "german_whist/GermanWhist-v0"
NAMED = ["threshold", "random", "upcard-value"]


class Forgetful(RandomAgent):
    """Keeps state: counts its decisions in each game since the last reset."""

    name = "forgetful"
    keeps_state = True

    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.count = np.zeros(64, int)

    def reset(self, indices: Array) -> None:
        self.count[indices] = 0

    def act(self, views: Array, rng: Array, indices: Any = None) -> Array:
        self.count[indices] += 1
        assert (self.count[indices] <= 26).all()
        return super().act(views, rng)


class Watchful(RandomAgent):
    """Keeps state: the cards of each game's hand, of which none is ever lost."""

    keeps_state = True

    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.cards: dict[int, int] = {}

    def reset(self, indices: Array) -> None:
        for index in indices.tolist():
            self.cards.pop(index, None)

    def act(self, views: Array, rng: Array, indices: Any = None) -> Array:
        for view, index in zip(views, indices.tolist(), strict=True):
            cards, before = int(view["hand"] | view["played"][0]), self.cards.get(index, 0)
            assert cards & before == before, f"game {index} is another one"
            self.cards[index] = cards
        return super().act(views, rng)


def play(envs: Any, info: Any, steps: int, seed: int = 0, each: Any = None) -> list[Any]:
    """Steps of random legal actions; `each` sees what they give."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(steps):
        step = envs.step(picks(info["action_mask"], rng))
        info = step[4]
        found.append(step)
        if each is not None:
            each(step)
    return found


def same(one: list[Any], other: list[Any]) -> bool:
    return all(
        np.array_equal(a, b)
        for first, second in zip(one, other, strict=True)
        for a, b in zip(first[:3], second[:3], strict=True)
    )


def test_pfsp_draws_by_the_published_weights_of_recent_win_rates() -> None:
    pool = OpponentPool(["random", "threshold", "upcard-value", "counting"], sampling="pfsp")
    assert pool.probabilities.tolist() == [0.25] * 4
    rng = np.random.default_rng(0)
    games, score = [0.0] * 4, [0.0] * 4
    for _ in range(3000):
        opponent, won = int(rng.integers(3)), int(rng.integers(-1, 2))
        won = 1 if opponent == 0 and rng.random() < 0.7 else won
        pool.record(np.array([opponent]), np.array([won]))
        games[opponent] = 0.999 * games[opponent] + 1
        score[opponent] = 0.999 * score[opponent] + (won + 1) / 2
    rates = [score[k] / games[k] if games[k] else 0.5 for k in range(4)]
    np.testing.assert_allclose(pool.win_rates, rates)
    assert rates[0] > 0.7
    hard = np.array([(1 - rate) ** 2 for rate in rates])
    np.testing.assert_allclose(pool.probabilities, hard / hard.sum())
    drawn = np.bincount(pool.draw(40_000), minlength=4) / 40_000
    np.testing.assert_allclose(drawn, pool.probabilities, atol=0.01)
    # Whoever is always beaten is still met if there is nobody else.
    sure = OpponentPool(["random", "threshold"], sampling="pfsp")
    sure.record(np.array([0, 1]), np.array([1, 1]))
    assert sure.probabilities.tolist() == [0.5, 0.5]


def test_pool_results_at_once_count_as_in_turn() -> None:
    at_once, in_turn = (OpponentPool(["random", "threshold"], sampling="pfsp") for _ in range(2))
    for won in (1, -1, 0):
        at_once.record(np.repeat([0, 1], 500), np.full(1000, won))
        for _ in range(500):
            in_turn.record(np.array([1, 0]), np.full(2, won))
    np.testing.assert_allclose(at_once.win_rates, in_turn.win_rates)
    assert at_once.results()["random"] == pytest.approx(in_turn.results()["random"])
    # Recent results count most.
    assert at_once.win_rates[0] < 0.45


def test_pool_draws_follow_the_seed_and_latest_the_newest() -> None:
    draws = [OpponentPool(NAMED, seed=seed).draw(3000) for seed in (5, 5, 6)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    assert (np.abs(np.bincount(draws[0]) - 1000) < 120).all()
    pool = OpponentPool(NAMED, sampling="latest")
    assert set(pool.draw(50)) == {2}
    pool.add("random-exact")
    assert set(pool.draw(50)) == {3}


def test_full_pool_keeps_the_newest_and_drops_at_random() -> None:
    pool = OpponentPool(["threshold"], size=3, sampling="uniform", seed=2)
    agent = load_agent("random")
    left = set()
    for count in range(1, 30):
        before = set(pool.agents)
        assert pool.add(agent) == ("random" if count == 1 else f"random-{count}")
        assert {0, count} <= set(pool.agents)
        assert len(pool) == min(4, 1 + count)
        left |= {count - member for member in before - set(pool.agents)}
    # Neither the oldest alone.
    assert len(left) > 2
    assert set(np.flatnonzero(pool.probabilities)) == set(pool.agents)
    assert len(pool.results()) == 30


@pytest.mark.filterwarnings("ignore:.*illegal action ends")
@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
def test_a_pool_of_one_plays_as_the_fixed_opponent(mode: str) -> None:
    for opponent in ("random", "threshold", Forgetful):
        options: dict[str, Any] = {"reward": "tricks", "autoreset_mode": mode, "illegal": "lose"}
        pool = OpponentPool([opponent], seed=8)
        fixed, pooled = (GermanWhistVectorEnv(9, opponent=by, **options) for by in (opponent, pool))
        infos = [envs.reset(seed=3)[1] for envs in (fixed, pooled)]
        rng = np.random.default_rng(1)
        for _ in range(60):
            masks = infos[0]["action_mask"]
            actions = np.where(rng.random(9) < 0.95, masks.argmax(axis=1), rng.integers(52, size=9))
            steps = [envs.step(actions) for envs in (fixed, pooled)]
            assert same(steps[:1], steps[1:])
            infos = [step[4] for step in steps]
            if mode == "Disabled" and (ended := steps[0][2]).any():
                reset = {"reset_mask": ended.copy()}
                infos = [envs.reset(options=reset)[1] for envs in (fixed, pooled)]


@pytest.mark.parametrize("pooled", [True, False])
def test_one_stateful_agent_serves_several_environments(pooled: bool) -> None:
    agent = Watchful("classic")
    opponent: Any = OpponentPool([agent, "threshold"]) if pooled else agent
    one, two = (GermanWhistVectorEnv(4, opponent=opponent) for _ in range(2))
    infos = [env.reset(seed=seed)[1] for seed, env in enumerate((one, two))]
    for step in range(40):
        for index, env in enumerate((one, two)):
            infos[index] = play(env, infos[index], 1, seed=step)[0][4]
    # A copy goes on with the memory of its own agent.
    twin, info = copy.deepcopy((two, infos[1]))
    play(twin, info, 40)
    assert {*agent.cards} <= {*range(8)}
    # The numbers of an environment that is gone are free again.
    del one
    gc.collect()
    play(three := GermanWhistVectorEnv(4, opponent=opponent), three.reset(seed=3)[1], 40)
    play(two, infos[1], 40)
    assert {*agent.cards} <= {*range(8)}


def test_results_add_up_and_deals_are_those_without_a_pool() -> None:
    pool = OpponentPool(NAMED, "small-last", sampling="pfsp", seed=4)
    envs: Any = gymnasium.make_vec(ID, num_envs=40, rules="small-last", opponent=pool)
    plain = GermanWhistVectorEnv(40, "small-last")
    infos = [envs.reset(seed=2)[1], plain.reset(seed=2)[1]]
    np.testing.assert_array_equal(infos[0]["seat"], infos[1]["seat"])
    counted: dict[int, list[int]] = {index: [] for index in range(3)}
    ended_by = []

    def count(step: Any) -> None:
        info, ended = step[4], step[2]
        if not ended.any():
            return
        final = info["final_info"]
        assert final["_opponent"].tolist() == ended.tolist()
        np.testing.assert_array_equal(final["opponent"][ended], before[0][ended])
        ended_by.append(sorted(final["result"]["deal"][ended].tolist()))
        results = final["opponent"][ended], final["result"]["won"][ended]
        for opponent, won in zip(*results, strict=True):
            counted[int(opponent)].append(int(won))
        before[0] = info["opponent"].copy()

    before = [infos[0]["opponent"].copy()]
    play(envs, infos[0], 70, each=count)
    assert ended_by == [list(range(40 * k, 40 * k + 40)) for k in range(5)]
    results = pool.results()
    assert sum(result["games"] for result in results.values()) == 200
    for index, name in enumerate(NAMED):
        result, won = results[name], counted[index]
        assert result["games"] == len(won) > 20
        for key, value in (("wins", 1), ("draws", 0), ("losses", -1)):
            assert result[key] == won.count(value)


def test_pool_changes_take_effect_with_the_next_episodes() -> None:
    pool = OpponentPool({"first": "random"}, "small-last", sampling="latest", size=1)
    envs = GermanWhistVectorEnv(4, "small-last", opponent=pool)
    single = GermanWhistEnv("small-last", opponent=pool)
    info = envs.reset(seed=1)[1]
    pool.add(RandomAgent("small-last"), name="second")
    assert single.reset(seed=1)[1]["opponent"] == 1
    played = []

    def each(step: Any) -> None:
        played.append(set(step[4]["opponent"].tolist()))
        if len(played) == 18:
            pool.add("threshold")
            assert list(pool.agents) == [0, 2]

    play(envs, info, 30, each=each)
    assert played == [{0}] * 13 + [{1}] * 14 + [{2}] * 3
    over = False
    while not over:
        *_, over, _, single_info = single.step(int(single.action_masks().argmax()))
    assert single_info["opponent"] == 1
    assert pool.results()["second"]["games"] == 5
    assert single.reset()[1]["opponent"] == 2


@pytest.mark.parametrize("sampling", ["uniform", "pfsp"])
def test_pool_and_environment_are_gone_on_from_elsewhere(sampling: str) -> None:
    later = {"later": RandomAgent("small-last"), "last": RandomAgent("small-last")}

    def make() -> tuple[OpponentPool, GermanWhistVectorEnv]:
        pool = OpponentPool(NAMED, "small-last", sampling=sampling, size=1, seed=7)
        return pool, GermanWhistVectorEnv(25, "small-last", opponent=pool, reward="tricks")

    pool, envs = make()
    info = envs.reset(seed=5)[1]
    pool.add(later["later"], "later")
    step = play(envs, info, 20)[-1]
    pool.add(later["last"], "last")
    assert 3 in step[4]["opponent"]
    assert 3 not in pool.agents
    states = pool.state(), envs.state()
    expected = play(envs, step[4], 40, seed=9)
    again, restored = make()
    again.restore(states[0], later)
    info = restored.restore(states[1])[1]
    assert same(play(restored, info, 40, seed=9), expected)
    assert again.results() == pool.results()
    assert all(np.array_equal(a, again.state()[name]) for name, a in pool.state().items())
    with pytest.raises(ValueError, match=r"has a policy 'last', .* restore\(state, {'last'"):
        make()[0].restore(states[0])
    again, restored = make()
    with pytest.raises(ValueError, match=r"are not all of the 3 .*pool's own state before"):
        restored.restore(states[1])
    again.restore(states[0], {"last": later["last"]})
    with pytest.raises(ValueError, match="against 'later', which left the opponent pool"):
        restored.restore(states[1])
    with pytest.raises(ValueError, match=r"are not all of the 5 policies"):
        restored.restore({**states[1], "opponents": np.full_like(states[1]["opponents"], -1)})
    results = np.full_like(states[0]["results"], np.nan)
    for wrong in (
        {"members": np.array([9])},
        {"members": np.array([0, 0])},
        {"results": results},
        {"members": np.array([], int)},
        {"stream": np.array([0.5])},
    ):
        with pytest.raises(ValueError, match="not of an opponent pool"):
            again.restore({**states[0], **wrong})


def test_a_model_plays_by_a_copy_of_its_policy() -> None:
    torch = pytest.importorskip("torch")
    from sb3_contrib import MaskablePPO

    from german_whist.envs.sb3 import GermanWhistVecEnv

    pool = OpponentPool(["random"], "small-last", sampling="latest")
    env = GermanWhistVecEnv(8, "small-last", opponent=pool)
    how: dict[str, Any] = {"n_steps": 4, "batch_size": 32, "policy_kwargs": {"net_arch": [8]}}
    model = MaskablePPO("MlpPolicy", env, seed=1, **how)
    assert pool.add(model) == "MaskablePPO"
    model.learn(32)
    assert pool.add(model) == "MaskablePPO-2"
    opponent = pool.agents[2]
    views = dealt("small-last", 8, seed=1).views()
    before = opponent.act(views, np.arange(8, dtype=np.uint64))
    with torch.no_grad():
        for param in model.policy.parameters():
            param.mul_(-3)
    assert np.array_equal(opponent.act(views, np.arange(8, dtype=np.uint64)), before)
    # It samples.
    draws = [opponent.act(views, np.full(8, k, np.uint64)).tolist() for k in range(9)]
    assert len(set(map(tuple, draws))) > 1
    model.learn(160)
    assert pool.results()["MaskablePPO-2"]["games"] >= 8


@pytest.mark.parametrize(
    ("arguments", "options", "why"),
    [
        ([["treshold"]], {}, "did you mean 'threshold'"),
        ([["random", "random"]], {}, r"has a policy 'random' already: .*name='random-1'"),
        (["threshold"], {}, r"policies are 'threshold', a str: give a list"),
        ([3], {}, "policies are 3, an int: give a list"),
        ([[3]], {}, "3 is an int: an agent is given by name"),
        ([["random"]], {"sampling": "prioritized"}, "sampling is 'prioritized': it has to be one"),
        ([["random"]], {"size": 0}, "size is 0: it has to be a number from 1"),
        ([["random"]], {"seed": -1}, "seed is -1"),
        ([[RandomAgent("humbug")]], {}, "made for the rules humbug, and classic are played here"),
        ([[RandomAgent()]], {"match": 9}, r"made for single hands, and a match .to 9 points. is"),
        ([["random"]], {"match": "9"}, "match is '9': give a number of points or a Match"),
    ],
)
def test_bad_pool_arguments_raise_a_sentence(arguments: Any, options: Any, why: str) -> None:
    with pytest.raises((ValueError, TypeError), match=why):
        OpponentPool(*arguments, **options)


def test_an_empty_pool_and_one_of_other_rules_get_a_sentence() -> None:
    pool = OpponentPool()
    env = GermanWhistEnv(opponent=pool)
    with pytest.raises(ValueError, match="pool is empty: add a policy"):
        env.reset(seed=1)
    pool.add("random")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="pool is empty"):
        env.opponent = OpponentPool()
    with pytest.raises(ValueError, match="did you mean"):
        env.opponent = "treshold"
    assert env.opponent is pool
    assert "opponent" in env.step(int(env.action_masks().argmax()))[4]
    with pytest.raises(ValueError, match="made for classic, and humbug is played here"):
        GermanWhistEnv("humbug", opponent=pool)
    with pytest.raises(ValueError, match=r"and classic in a match .to 25 points. is played here"):
        GermanWhistEnv(opponent=pool, horizon="match")
    GermanWhistEnv(horizon="match", opponent=OpponentPool(["random"], match=25))


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (
            lambda views, _: np.full(len(views), np.nan),
            r"agent broken answered with float64 of shape .*one whole number",
        ),
        (
            lambda views, _: np.zeros(len(views) + 1, int),
            r"agent broken answered with int64 of shape .*one whole number",
        ),
        (
            lambda views, _: np.full(len(views), 51),
            r"opponent broken chose 51 \(AS\) in game \d, which is not legal",
        ),
        (
            lambda views, _: {}["lost"],
            r"opponent broken raised KeyError: 'lost' \(.*test_opponent_pool.py.*\)",
        ),
    ],
)
def test_illegal_pool_policy_is_named_and_reset_recovers(policy: Any, why: str) -> None:
    pool = OpponentPool({"fine": "random", "broken": policy})
    envs = GermanWhistVectorEnv(8, opponent=pool, seat=0)
    with pytest.raises(ValueError, match=why):
        play(envs, envs.reset(seed=1)[1], 1)
    envs.opponent = "random"
    play(envs, envs.reset(seed=1)[1], 3)
    envs.opponent = OpponentPool(NAMED)
    assert len(set(play(envs, {"action_mask": envs.action_masks()}, 1)[0][4]["opponent"])) > 1


def changed(results: Array, row: int, values: list[float]) -> Array:
    results[row] = values
    return results


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("members", lambda members: members.astype(float)),
        ("results", lambda results: results - 1),
        ("results", lambda results: results.astype(np.float32)),
        ("results", lambda results: results[:2]),
        ("results", lambda results: changed(results, 0, [0.5, 0, 0.5, 1, 0.5])),
        ("results", lambda results: changed(results, 1, [0, 0, 0, 1, 1])),
        ("results", lambda results: changed(results, 1, [0, 0, 1, 1, 0.5])),
        ("results", lambda results: changed(results, 1, [1, 0, 0, 0.5, 0.5])),
        ("results", lambda results: changed(results, 1, [1, 0, 0, 1, 0.9])),
        ("results", lambda results: changed(results, 1, [1, 0, 0, 1, 1.1])),
        (
            "names",
            lambda names: np.frombuffer(b'["threshold", "threshold", "upcard-value"]', np.uint8),
        ),
        ("names", lambda names: np.frombuffer(b'["threshold", 1, "upcard-value"]', np.uint8)),
        ("names", lambda names: np.frombuffer(b"3", np.uint8)),
        ("names", lambda names: np.frombuffer(b"[" * 100_000, np.uint8)),
        ("names", lambda names: names[1:]),
        ("members", lambda members: members[::-1]),
        ("members", lambda members: members[1:]),
        ("members", lambda members: members[:-1]),
        ("members", lambda members: members[None]),
        ("fixed", lambda fixed: fixed + 10**12),
        ("fixed", lambda fixed: fixed - 4),
        ("fixed", lambda fixed: fixed / 1),
    ],
)
def test_restore_refuses_arrays_that_no_pool_writes(name: str, change: Any) -> None:
    pool = OpponentPool(NAMED)
    pool.record(np.array([0, 0, 1]), np.array([1, 0, -1]))
    state = pool.state()
    state[name] = change(state[name])
    with pytest.raises(ValueError, match="not of an opponent pool"):
        pool.restore(state)


@pytest.mark.parametrize("won", [(1, 0, -1), (-1, 0, 1), (0, 1, -1)])
def test_restore_takes_results_in_any_order(won: tuple[int, ...]) -> None:
    pool, rng = OpponentPool(NAMED, sampling="pfsp"), np.random.default_rng(1)
    for result in np.repeat(won, 400):
        pool.record(np.array([0]), np.array([result]))
    for _ in range(50):
        pool.record(rng.integers(3, size=40), rng.integers(-1, 2, size=40))
    restored = OpponentPool(NAMED, sampling="pfsp")
    restored.restore(pool.state())
    assert restored.results() == pool.results()
