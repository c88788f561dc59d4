"""The global state: the same in every environment, complete, and given to no agent."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from walks import check_state_space, check_states, pick

from german_whist import Game, german_whist_v0, network_inputs
from german_whist.agents import Agent
from german_whist.engine.game import tricks_in
from german_whist.engine.observation.state import state_spec_of
from german_whist.envs import GermanWhistEnv, GermanWhistVectorEnv, SelfPlayEnv
from support import EVERY_SET, engine_rules

PHASES = ("lead", "follow", "choose", "over", "exchange")


def numbers(cards: dict[int, int], bits: int) -> list[int]:
    """A group of 52 places for each bit of the cards' numbers."""
    return [cards.get(card, 0) >> place & 1 for place in range(bits) for card in range(52)]


def members(cards: Any) -> list[int]:
    return numbers(dict.fromkeys(map(int, cards), 1), 1)


def first(count: int, size: int = 26) -> list[int]:
    return [int(place < count) for place in range(size)]


def one_hot(place: int, size: int) -> list[int]:
    return [int(place == each) for each in range(size)]


def expected(game: Game) -> dict[str, list[int]]:
    """The groups of the state, from a game with open cards, in real suits."""
    record, rules = game.array[0], game.rules
    mover = int(record["turn"])
    seats = {"mover": mover, "other": 1 - mover}
    views = {name: game.view(seat) for name, seat in seats.items()}
    view, tricks = views["mover"], tricks_in(rules, record)
    played = {card: t for t, (_, cards) in enumerate(tricks, 1) for card in cards[:2] if card < 52}
    drawn = game.cards_dealt[2 * rules.hand :][: int(record["drawn"])]
    groups: dict[str, list[int]] = {
        "led": members([] if game.led is None else [game.led]),
        "upcards": members(game.upcards),
        "stock": members(game.stock),
        "stock_place": numbers({int(c): n for n, c in enumerate(game.stock, 1)}, 6),
        "played_at": numbers(played, 5),
        "drawn_at": numbers({int(c): n // 2 + 1 for n, c in enumerate(drawn)}, 5),
        "mover_led": [int(leader == mover) for leader, _ in tricks] + [0] * (26 - len(tricks)),
        "took_second": [int(s) * (2 * t < len(drawn)) for t, s in enumerate(record["took_second"])],
        "trumps": one_hot(4 if game.trump is None else game.trump, 5),
        "decision": [int(game.phase == phase) for phase in PHASES],
        "seat": one_hot(mover, 2),
        "leads": [int(view.i_lead)],
        "dealer": [int(game.dealer == mover)],
        "contract": [int(not game.low), int(game.low)],
        "draws_left": first(len(game.stock) // 2),
        "match": [int(game.match is not None)],
    }
    for name, seat in seats.items():
        other = views["other" if name == "mover" else "mover"]
        groups[f"hand_{name}"] = members(game.hands[seat])
        groups[f"known_{name}"] = members(other.opponent_known)
        groups[f"played_{name}"] = members(views[name].played_by_me)
        groups[f"tricks_{name}"] = first(game.counting_tricks[seat])
        target = 0 if game.match is None else game.match.target
        needs = max(0, (target or 0) - game.points[seat]) if target else 0
        groups[f"match_needs_{name}"] = [needs >> place & 1 for place in range(7)]
        if rules.exchange:
            hands = [game.cards_dealt[place : 4 * rules.hand : 4] for place in range(4)]
            took = game.exchanged[seat]
            groups[f"exchanged_{name}"] = [int(took is False), int(took is True)]
            groups[f"blind_{name}"] = members(hands[2 if game.dealer == seat else 0])
            groups[f"dealt_{name}"] = members(hands[3 if game.dealer == seat else 1])
    return groups


def relabeled(group: list[int], order: list[int]) -> list[int]:
    if len(group) % 52:
        return group
    shown = np.array(group).reshape(-1, 4, 13)[:, order]
    return shown.ravel().tolist()


def check(env: Any, state: Any, order: list[int]) -> None:
    groups, suit_order = expected(env.game()), state_spec_of(env.rules)
    assert {group.name for group in suit_order.groups} == {*groups}
    assert state.shape == (suit_order.size,)
    assert state in env.state_space
    groups["trumps"] = [*(groups["trumps"][suit] for suit in order), groups["trumps"][4]]
    for name, group in groups.items():
        assert state[suit_order.slice(name)].tolist() == relabeled(group, order), name


@pytest.mark.parametrize("suit_order", ["raw", "trump-first"])
@pytest.mark.parametrize("name", EVERY_SET)
def test_state_is_that_of_the_open_game(name: str, suit_order: str) -> None:
    env, rng = (
        german_whist_v0.raw_env(engine_rules(name), suit_order=suit_order),
        np.random.default_rng(1),
    )
    env.reset(seed=1)
    while not env.is_over:
        seen = env.observe(env.agent_selection)
        if rng.random() < 0.3:
            order = (
                network_inputs(env.view(env.agent_selection), suit_order=suit_order)
                .orders[0]
                .tolist()
            )
            check(env, env.state(), order)
        env.step(pick(seen["action_mask"], rng))
    assert env.state() in env.state_space


def test_state_of_a_match_holds_its_score() -> None:
    env = german_whist_v0.raw_env("small-all", horizon="match", match=10)
    env.reset(seed=1)
    while not env.is_over:
        check(env, env.state(), [0, 1, 2, 3])
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))


def states_of(env: Any, infos: Any) -> Any:
    return np.array(
        [info["state"] for info in infos] if isinstance(infos, list) else infos["state"]
    )


@pytest.mark.parametrize("rules", ["classic", "draft", "humbug"])
@pytest.mark.parametrize("suit_order", ["raw", "trump-first"])
def test_environments_give_equal_states(rules: str, suit_order: str) -> None:
    from german_whist.envs.sb3 import GermanWhistVecEnv

    options: dict[str, Any] = {"suit_order": suit_order, "with_state": True}
    vector = GermanWhistVectorEnv(3, rules, copy=False, threads=2, **options)
    vec_env = GermanWhistVecEnv(3, rules, **options)
    vec_env.seed(5)
    info = vector.reset(seed=5)[1]
    vec_env.reset()
    infos = vec_env.reset_infos
    first_states = info["state"]
    for _ in range(60):
        np.testing.assert_array_equal(info["state"], [each["state"] for each in infos])
        np.testing.assert_array_equal(info["state"], vector._batch.batch.global_states())
        assert info["_state"].all()
        actions = info["action_mask"].argmax(axis=1)
        info, infos = vector.step(actions)[4], vec_env.step(actions)[3]
    assert np.shares_memory(first_states, info["state"])
    single = GermanWhistEnv(rules, **options)
    info = single.reset(seed=5)[1]
    for _ in range(10):
        game, view = single._batch.batch.game(), single.view()
        order = network_inputs(view, suit_order=suit_order).orders[0].tolist()
        own = state_spec_of(game.rules).slice("hand_mover")
        assert info["state"][own].tolist() == relabeled(members(view.hand), order)
        assert info["state"] in single.state_space
        info = single.step(int(info["action_mask"].argmax()))[4]


@pytest.mark.parametrize("copy", [True, False])
def test_self_play_states_are_those_of_each_rule_set(copy: bool) -> None:
    env = SelfPlayEnv(4, ["classic", "draft"], with_state=True, copy=copy)
    assert SelfPlayEnv(2).states is None
    step = env.reset(seed=1)
    before = env.states
    for _ in range(30):
        for batch, rows in env.parts:
            np.testing.assert_array_equal(env.states[rows], batch.global_states())
        step = env.step(step.masks.argmax(axis=1))
    assert np.shares_memory(before, env.states) != copy
    with pytest.raises(ValueError, match="some have an exchange"):
        SelfPlayEnv(4, ["classic", "humbug"], with_state=True)


def test_pettingzoo_finds_nothing_wrong_with_states() -> None:
    env = german_whist_v0.env("small-last")
    check_state_space(env)
    check_states(env, 60)
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before state"):
        german_whist_v0.env().state()


class Seen(Agent):
    """Plays its lowest card, and keeps all that it is given."""

    keeps_state = True

    def __init__(self, rules: Any, *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.given: list[bytes] = []

    def act(self, views: Any, rng: Any, indices: Any = None) -> Any:
        self.given += [array.tobytes() for array in (views, rng, indices)]
        return network_inputs(views, self.rules).masks.argmax(axis=1)


def test_opponents_get_nothing_of_the_state() -> None:
    given = []
    for with_state in (False, True):
        opponent = Seen("small-last")
        env = GermanWhistVectorEnv(5, "small-last", opponent=opponent, with_state=with_state)
        info = env.reset(seed=1)[1]
        for _ in range(40):
            info = env.step(info["action_mask"].argmax(axis=1))[4]
        given.append(opponent.given)
        assert ("state" in info) == with_state
    assert given[0] == given[1]


@pytest.mark.parametrize("make", [GermanWhistVectorEnv, SelfPlayEnv])
def test_with_state_is_true_or_false(make: Any) -> None:
    with pytest.raises(ValueError, match="with_state is 'no': it has to be True or False"):
        make(2, "small-last", with_state="no")


def test_states_are_compiled_only_when_asked_for() -> None:
    code = (
        "from german_whist import german_whist_v0\n"
        "from german_whist.engine.batch.kernels import encode_states\n"
        "from german_whist.engine.batch.step import step_single\n"
        "env = german_whist_v0.env()\n"
        "env.reset(seed=1)\n"
        "print(*[len(getattr(each, 'overloads', [])) for each in (encode_states, step_single)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert done.stdout.split()[0] == "0"
