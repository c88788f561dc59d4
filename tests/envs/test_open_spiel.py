"""OpenSpiel sees the game that the engine plays: its deals, its actions, what players know."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest

from german_whist.engine.cards import CARDS, CHOICES
from german_whist.engine.enumerate_deals import all_deals
from german_whist.engine.game import Game
from german_whist.engine.rules import load_rules
from german_whist.engine.text.position import position_text

pyspiel: Any = pytest.importorskip("pyspiel")
from german_whist.envs.open_spiel import open_spiel_game  # noqa: E402

SMALL: dict[str, Any] = {"suits": 2, "ranks": 4, "hand": 2}
DRAFT = SMALL | {"choice": True, "pay": "margin", "counts": "all"}
EXCHANGE = SMALL | {"exchange": True}
WORDS = {52: "hidden", 53: "keep", 54: "blind"}


@pytest.mark.parametrize("rules", [SMALL, DRAFT, EXCHANGE], ids=["plain", "draft", "exchange"])
def test_it_plays_as_the_engine_does(rules: dict[str, Any]) -> None:
    game, loaded = open_spiel_game(rules), load_rules(rules)
    deals = all_deals(loaded)
    chance = random.Random(7)
    longest = 0
    for number in [0, 1, len(deals), 2 * len(deals) - 1, *chance.sample(range(len(deals)), 60)]:
        state = game.new_initial_state()
        assert (state.current_player(), str(state)) == (pyspiel.PlayerId.CHANCE, "before the deal")
        assert state.information_state_string(0) == ""
        assert state.returns() == [0.0, 0.0]
        assert not state.is_terminal()
        assert state.action_to_string(pyspiel.PlayerId.CHANCE, 3) == "deal 3"
        state.apply_action(number)
        plain = Game(loaded)
        plain.deal_cards([int(card) for card in deals[number % len(deals)]], number // len(deals))
        while not plain.over:
            assert state.current_player() == plain.turn
            assert not state.is_terminal()
            assert state.returns() == [0.0, 0.0]
            assert state.legal_actions() == sorted(plain.legal())
            for seat in (0, 1):
                assert state.information_state_string(seat) == known(plain, seat)
            assert state.information_state_string() == known(plain, state.current_player())
            action = chance.choice(plain.legal())
            said = CHOICES.get(action) or str(CARDS[action])
            assert state.action_to_string(state.current_player(), action) == said
            twin, deep = state.clone(), copy.deepcopy(state)
            state.apply_action(action)
            assert str(twin) == str(deep) == words(plain)
            plain.play(action)
            assert str(state) == words(plain)
        longest = max(longest, len(plain.actions))
        assert state.is_terminal()
        assert state.current_player() == pyspiel.PlayerId.TERMINAL
        assert state.legal_actions() == []
        assert state.returns() == [float(pay) for pay in plain.payoffs]
    assert longest <= game.max_game_length()
    more = 2 * loaded.exchange + loaded.foreplay_tricks * loaded.choice
    assert longest == 2 * loaded.tricks + more


def known(game: Game, seat: int) -> str:
    return position_text(game.view(seat))


def words(game: Game) -> str:
    return " ".join(WORDS.get(each) or str(CARDS[each]) for each in game.actions)


@pytest.mark.parametrize("rules", [SMALL, DRAFT, EXCHANGE], ids=["plain", "draft", "exchange"])
def test_it_says_of_itself_what_is_true(rules: dict[str, Any]) -> None:
    game, loaded = open_spiel_game(rules), load_rules(rules)
    outcomes = game.new_initial_state().chance_outcomes()
    assert [number for number, _ in outcomes] == list(range(2 * len(all_deals(loaded))))
    assert sum(chance for _, chance in outcomes) == pytest.approx(1)
    assert len({chance for _, chance in outcomes}) == 1
    assert game.max_chance_outcomes() == len(outcomes)
    assert game.num_distinct_actions() == loaded.actions
    assert (game.num_players(), game.utility_sum()) == (2, 0.0)
    assert (game.min_utility(), game.max_utility()) == (-loaded.max_payoff, loaded.max_payoff)
    more = 2 * loaded.exchange
    assert game.max_game_length() == (3 if loaded.choice else 2) * loaded.tricks + more
    kind = game.get_type()
    assert (kind.short_name, kind.long_name) == ("python_german_whist", "German Whist")
    provided = [name for name in dir(kind) if name.startswith("provides_") and getattr(kind, name)]
    assert provided == ["provides_information_state_string"]
    assert (kind.min_num_players, kind.max_num_players) == (2, 2)


def test_it_is_loaded_by_its_name_and_observed_by_text() -> None:
    game = pyspiel.load_game("python_german_whist")
    assert game.num_distinct_actions() == 52
    assert game.max_game_length() == 8
    state = game.new_initial_state()
    state.apply_action(5)
    observer = game.make_py_observer()
    observer.set_from(state, 0)
    assert observer.string_from(state, 1) == state.information_state_string(1)
    assert observer.tensor.shape == (0,)
    assert observer.dict == {}


@pytest.mark.parametrize("rules", [SMALL, DRAFT, EXCHANGE], ids=["plain", "draft", "exchange"])
def test_resampled_states_look_the_same_to_the_player(rules: dict[str, Any]) -> None:
    game, chance = open_spiel_game(rules), random.Random(3)
    for _ in range(5):
        state, hidden = game.new_initial_state(), set()
        state.apply_action(chance.randrange(game.max_chance_outcomes()))
        while not state.is_terminal():
            player = state.current_player()
            for _ in range(6):
                other = state.resample_from_infostate(player, chance.random)
                assert other.information_state_string(player) == state.information_state_string()
                assert other.legal_actions() == state.legal_actions()
                hidden.add(other.information_state_string(1 - player))
            with pytest.raises(ValueError, match=f"player {1 - player} is not to move"):
                state.resample_from_infostate(1 - player, chance.random)
            state.apply_action(chance.choice(state.legal_actions()))
        assert len(hidden) > len(state.game.actions)


def test_open_spiels_search_plays_a_hand() -> None:
    from open_spiel.python.algorithms.ismcts import ISMCTSBot
    from open_spiel.python.algorithms.mcts import RandomRolloutEvaluator

    game = open_spiel_game(SMALL)
    chance = np.random.RandomState(2)
    bot = ISMCTSBot(
        game,
        RandomRolloutEvaluator(1, chance),
        uct_c=1.4,
        max_simulations=20,
        random_state=chance,
        allow_inconsistent_action_sets=True,
    )
    state = game.new_initial_state()
    state.apply_action(7)
    while not state.is_terminal():
        state.apply_action(int(bot.step(state)))
    assert sum(state.returns()) == 0
