"""No player learns what is hidden: attacks find nothing, and their likes find all without guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agent_checks import plays_alike, views_and_twins
from attacks import Attacker, Rememberer, StreamThief, in_the_arena, unprotected

from german_whist import Game, Match
from german_whist.agents import agent_names, load_agent
from german_whist.agents.base import CannotPlay, agent_key, decision_streams
from german_whist.agents.checkpoints.bundled import CLASSIC_WEIGHTS
from german_whist.agents.heuristic.random import RandomAgent
from german_whist.engine.dtypes import GAME, VIEW
from german_whist.engine.rules import load_rules
from german_whist.envs import GermanWhistVecEnv, GermanWhistVectorEnv
from german_whist.evaluation import evaluate, kernels
from german_whist.evaluation.kernels import new_decisions
from support import KEY, with_other_hidden_cards

SEED, PAIRS = 3, 20


# -- by streams and by memory


@pytest.mark.parametrize(("attack", "known"), [(StreamThief, 1.0), (Rememberer, 0.9)])
def test_an_attack_finds_the_cards_where_nothing_guards_them(
    attack: type[Attacker], known: float
) -> None:
    right, decisions, rate = unprotected(attack, SEED, PAIRS)
    assert right >= known * decisions > 0
    assert rate > 0.5


@pytest.mark.parametrize("attack", [StreamThief, Rememberer])
@pytest.mark.parametrize("match", [None, Match(best_of=3)])
def test_an_attack_in_the_arena_finds_no_card_and_wins_half(
    attack: type[Attacker], match: Match | None
) -> None:
    pairs = PAIRS if match is None else 6
    right, decisions, wins = in_the_arena(attack, SEED, pairs, key=KEY, match=match)
    assert decisions > 12 * pairs
    assert right == 0
    assert wins.value == pytest.approx(0.5, abs=0.02)


class Placed(Rememberer):
    """Takes the game that is next to it, or was at its place before, for the other half."""

    def __init__(self, rules: Any = "classic", *, match: Any = None) -> None:
        super().__init__(rules, match=match)
        self.before: dict[int, int] = {}

    def reset(self, indices: Any) -> None:
        self.before = dict(self.at)
        super().reset(indices)

    def other_half(self, index: int) -> int | None:
        near = (self.before.get(index), self.before.get(index ^ 1), self.at.get(index ^ 1))
        return next((each for each in near if each is not None), None)


def test_neither_place_nor_number_tells_the_other_half_of_a_deal() -> None:
    """One object in both halves: what it saw tells it the deal, but not what it is told."""
    right, _, _ = unprotected(Placed, SEED, PAIRS)
    assert right > 0
    right, decisions, _ = in_the_arena(Placed, SEED, 64, key=KEY, player=Placed())
    assert len(Placed.claims) > 0.9 * decisions
    # Chunks have 8 pairs: in the second half one place in 8 is that of the first by chance.
    assert right < 0.15 * decisions


def test_streams_of_a_typed_seed_can_be_found_by_trying() -> None:
    """What the documentation says of environments: a seed must be secret to hide anything."""
    game = Game("classic", seed=4, number=9)
    views = np.array(game.view(game.turn or 0).array, VIEW)
    rng = decision_streams(agent_key(4), np.array([9]), views)
    thief = StreamThief()
    StreamThief.begin()
    thief.act(views, rng)
    assert StreamThief.right(4, 10) == 1


# -- what reaches a player


class Watchful(RandomAgent):
    """Looks at all that it is given, and at what that is a part of."""

    keeps_state = True
    calls: list[tuple[bytes, ...]]

    def act(self, views: Any, rng: Any, indices: Any = None) -> Any:
        for array in (views, rng, indices):
            assert array.base is None
            assert len(array) == len(views)
        actions = super().act(views, rng)
        for array in (views.view(np.uint8), rng, indices):
            array.fill(255)  # and all of it is the player's own, to write to
        return actions


def test_what_a_player_gets_is_its_own_and_a_part_of_nothing() -> None:
    found = evaluate(Watchful, "threshold", hands=40, key=KEY)
    assert not found.pairings[0].forfeits
    env = GermanWhistVectorEnv(8, opponent=Watchful)
    _, info = env.reset(seed=1)
    for _ in range(60):
        info = env.step(info["action_mask"].argmax(axis=1))[4]


@pytest.mark.parametrize("rules", ["classic", "open-stock", "draft"])
def test_what_the_arena_collects_does_not_depend_on_hidden_cards(rules: str) -> None:
    chance = np.random.default_rng(2)
    game = Game(rules, seed=6)
    record, key = load_rules(rules).array(), agent_key(1)
    while not game.over:
        seat = game.turn or 0
        games = np.concatenate([game.array, with_other_hidden_cards(game, seat, chance).array])
        assert games.dtype == GAME
        seats, (views, choices) = np.zeros(2, np.uint8), new_decisions(2)
        count = kernels.collect(
            record,
            games,
            seats,
            side=seat,
            with_tricks=True,
            key=key,
            views=views,
            choices=choices,
        )
        assert count == 2
        assert views[0] == views[1]
        assert choices[0][["rng", "legal"]] == choices[1][["rng", "legal"]]
        game.play(game.legal()[-1])


# -- every player there is

QUICK = {
    "upcard-value": "upcard-value",
    "flat-mc": "flat-mc:3",
    "ismcts": "ismcts:20",
    "responder": "responder:3,against=threshold",
    "network": f"network:{CLASSIC_WEIGHTS}",
}
VARIANTS = ["champion:sample", "flat-mc:3,voids", "flat-mc:3,playout=counting"]
VARIANTS += ["thinker:20,belief=voids"]
RULES = ["classic", "open-stock", "draft", "2x4-h2", "no-trump", "race-9"]
PLAYERS = [QUICK.get(name, name) for name, entry in agent_names().items() if entry.about]


@pytest.fixture(scope="module")
def with_path(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], str]:
    """A name with the path that it asks for."""
    folder = tmp_path_factory.mktemp("policies")

    def named(name: str, rules: str) -> str:
        path = folder / ("policy.onnx" if name == "onnx" else "policy.zip")
        if name == "onnx":
            pytest.importorskip("onnxruntime")
            from german_whist.training.export.export import export_onnx

            export_onnx(CLASSIC_WEIGHTS, path)
            return f"onnx:{path}"
        if name == "sb3":
            contrib = pytest.importorskip("sb3_contrib")
            games = GermanWhistVecEnv(2, rules)
            model = contrib.MaskablePPO(
                "MlpPolicy", games, n_steps=8, batch_size=8, seed=1, device="cpu"
            )
            model.save(path)
            return f"sb3:{path},trusted"
        return name

    return named


@pytest.mark.parametrize("name", [*PLAYERS, *VARIANTS])
def test_no_player_plays_otherwise_when_hidden_cards_are_others(
    name: str, with_path: Callable[[str, str], str]
) -> None:
    played = 0
    for rules in RULES:
        try:
            agent = load_agent(with_path(name, rules), rules)
        except CannotPlay:
            continue
        plays_alike(agent, *views_and_twins(rules))
        played += 1
    assert played
