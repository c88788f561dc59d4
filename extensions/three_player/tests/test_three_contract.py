"""The environments of three keep what those of two do, and their play is frozen."""

from __future__ import annotations

import copy
import itertools
import pickle
import re
import runpy
import subprocess
import sys
from hashlib import sha256
from inspect import getdoc
from pathlib import Path
from typing import Any

import numpy as np
import pettingzoo
import pytest
from action_kinds import (
    of_aec,
    of_game,
    of_gymnasium,
    refuses_what_holds_no_whole_number,
    takes_the_number_that_is_held,
)
from aec_contract import (
    REFUSED_RESETS,
    costs_the_worst_result,
    raises_a_sentence_and_goes_on,
    refuses_the_reset,
    refuses_what_it_does_not_have,
    tells_to_reset_after_the_end,
    warns_once_of_the_mask,
)
from gymnasium.spaces import Discrete
from walks import api_test, seed_test

from german_whist.agents import agent_key
from german_whist.three_player import GermanWhistThreeEnv, german_whist_three_v0
from german_whist.three_player.agents import agent_for_three, play_hand
from german_whist.three_player.game import ThreeGame
from german_whist.three_player.observation import THREE_SPEC, observation_for_three
from support import digest

FOLDER = Path(__file__).resolve().parents[1]


# PettingZoo's api_test warns of every dict observation; ours is one because of its mask.
@pytest.mark.filterwarnings(
    "ignore:Observation space for each agent probably should be:UserWarning",
    "ignore:Observation is not a NumPy array:UserWarning",
)
@pytest.mark.parametrize("make", [german_whist_three_v0.env, german_whist_three_v0.raw_env])
def test_api_test_and_seed_test_pass(make: Any) -> None:
    api_test(make(), num_cycles=120)
    seed_test(make, num_cycles=60)


def test_pettingzoo_makes_it_by_name() -> None:
    made = pettingzoo.make("aec", "german_whist/german_whist_three_v0")
    assert made.possible_agents == [f"player_{seat}" for seat in range(3)]
    assert [made.action_space(agent) for agent in made.possible_agents] == [Discrete(52)] * 3


def test_gymnasium_makes_it_by_the_module_and_its_name() -> None:
    code = (
        "import gymnasium;"
        "gymnasium.make('german_whist.three_player:german_whist/GermanWhistThree-v0').reset(seed=1)"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_the_environments_keep_what_all_do(monkeypatch: pytest.MonkeyPatch) -> None:
    raises_a_sentence_and_goes_on(german_whist_three_v0)
    tells_to_reset_after_the_end(german_whist_three_v0)
    refuses_what_it_does_not_have(german_whist_three_v0)
    warns_once_of_the_mask(GermanWhistThreeEnv, monkeypatch)


@pytest.mark.filterwarnings("ignore:.*Illegal move made")
@pytest.mark.parametrize("steps", [0, 1, 23, 43, 51])
def test_an_illegal_action_costs_the_worst_result(steps: int) -> None:
    costs_the_worst_result(german_whist_three_v0.env, THREE_SPEC, 7, steps)


@pytest.mark.parametrize(("seed", "options", "why"), REFUSED_RESETS)
@pytest.mark.parametrize("make", [german_whist_three_v0.raw_env, GermanWhistThreeEnv])
def test_refused_reset_leaves_nothing_to_step(make: Any, seed: Any, options: Any, why: str) -> None:
    refuses_the_reset(make, seed, options, why)


@pytest.mark.parametrize(
    "way",
    [
        lambda act: of_game(ThreeGame(seed=1), act),
        lambda act: of_aec(german_whist_three_v0.env, act),
        lambda act: of_gymnasium("german_whist/GermanWhistThree-v0", act),
    ],
)
def test_actions_are_the_numbers_that_they_hold(way: Any) -> None:
    takes_the_number_that_is_held(way)
    refuses_what_holds_no_whole_number(way)


def test_copies_are_independent_and_what_was_handed_out_stays() -> None:
    env = german_whist_three_v0.env()
    env.reset(seed=2)
    for _ in range(33):
        env.step(int(env.last()[0]["action_mask"].argmax()))
    twins = [env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    kept = [(each, each.copy()) for twin in twins for each in twin.last()[0].values()]
    for _ in range(19):
        seen = [twin.last()[0] for twin in twins]
        assert len({each["observation"].tobytes() for each in seen}) == 1
        kept += [(array, array.copy()) for each in seen for array in each.values()]
        action = int(seen[0]["action_mask"].argmax())
        for twin in twins:
            twin.step(action)
    assert all((each == copied).all() for each, copied in kept)
    for one, other in itertools.combinations(kept, 2):
        assert not np.shares_memory(one[0], other[0])


def test_every_option_is_accepted_and_described() -> None:
    for make in (german_whist_three_v0.env, german_whist_three_v0.raw_env):
        with pytest.raises(TypeError, match="no option 'x': there are render_mode, render_view"):
            make(x=1)  # pyright: ignore[reportCallIssue]
    described = re.findall(r"^- `(\w+)`: ", getdoc(german_whist_three_v0.env) or "", re.MULTILINE)
    assert described == ["render_mode", "render_view"]


def test_the_documentation_holds_the_index_table() -> None:
    table = THREE_SPEC.table().splitlines()
    assert all(line in (german_whist_three_v0.__doc__ or "") for line in table)


@pytest.mark.parametrize(
    ("names", "frozen"),
    [
        (("random", "random", "random"), "aad9c1580f743124"),
        (("thrifty", "random", "thrifty"), "d1357d9cd67ad1ff"),
    ],
)
def test_players_play_as_they_did(names: tuple[str, ...], frozen: str) -> None:
    key, players = agent_key(5), [agent_for_three(name) for name in names]
    games = [play_hand(ThreeGame(4, number), players, key) for number in range(6)]
    assert digest(*([int(a) for a in game.actions] for game in games)) == frozen


def test_observations_are_as_they_were() -> None:
    found, game = sha256(), ThreeGame(seed=5, number=3)
    while not game.over:
        found.update(observation_for_three(game.view()).tobytes())
        game.play(game.legal()[0])
    assert found.hexdigest()[:16] == "7a24bdf89c021605"


def test_the_example_runs(tmp_path, monkeypatch, capsys) -> None:
    pytest.importorskip("sb3_contrib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["three_players.py", "--steps", "1024", "--hands", "2"])
    runpy.run_path(str(FOLDER / "examples" / "three_players.py"), run_name="__main__")
    assert "against two random" in capsys.readouterr().out
