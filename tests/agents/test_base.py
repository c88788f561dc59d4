"""Agents: names, plug-ins, answers and perfect endgames."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from german_whist import Game
from german_whist.agents import (
    Agent,
    CannotPlay,
    Player,
    agent_names,
    as_agent,
    load_agent,
    register_agent,
)
from german_whist.common.jit import compiler as compiled
from german_whist.engine.rules import Match, Rules
from support import ODD

NAMES = ["random", "random-exact", "threshold"]


def test_the_open_end_of_a_race_is_perfect() -> None:
    from german_whist.engine.endgame import race_moves_of

    player = Player("threshold", ODD["race of the endgame"])
    for seed in range(10):
        game = Game(ODD["race of the endgame"], seed=seed)
        while not game.over:
            view = game.view(game.turn or 0)
            action = player.choose(view, deal=seed)
            if view.endgame:
                values = race_moves_of(view)
                assert values[action] == max(values.values())
            game.play(action)


def echo(rules: Any, *parameters: str, match: Any = None) -> Agent:
    agent = load_agent("random", rules, match=match)
    agent.parameters = parameters  # type: ignore[attr-defined]
    return agent


def test_names_take_parameters_and_modules_name_objects() -> None:
    register_agent("echo", echo, "keeps its parameters", "echo:A,B")
    assert load_agent("echo:64,voids").parameters == ("64", "voids")  # type: ignore[attr-defined]
    assert load_agent("echo:64").name == "echo:64"
    assert load_agent("test_base:echo:7").parameters == ("7",)  # type: ignore[attr-defined]
    assert agent_names()["echo"].usage == "echo:A,B"
    with pytest.raises(ValueError, match="is taken"):
        register_agent("echo", echo)


def broken(rules: Any, match: Any = None) -> Any:
    raise TypeError(3)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("randon", "did you mean 'random'"),
        ("xyzzy", "there are "),
        ("random:3", "parameters '3' do not fit random:3: random takes none"),
        ("flat-mc:1,voids,2", "'2' is no option of flat-mc: there are voids, by"),
        ("champion:sample=yes", "'sample=yes' is no option of a network: there are greedy, sample"),
        ("thinker:2,last=", "'last=' is no option of a thinker: it takes last=TRICKS"),
        ("no.such:thing", "module no.such cannot be imported: No module named 'no'"),
        ("nomod:Thing", "module nomod cannot be imported: No module named 'nomod'"),
        ("test_base:broken", "test_base:broken is no agent: TypeError: 3"),
        ("runs/none-1", "there is no such file or folder$"),
        ("players.py:Mine", "there is no such file or folder$"),
        ("games.jsonl", "there is no such file or folder$"),
        ("test_base:nothing", "has no 'nothing'"),
        ("test_base:NAMES", "is not an agent"),
    ],
)
def test_names_that_do_not_fit_get_a_sentence(name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        load_agent(name)


def test_modules_of_the_current_folder_are_found(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "players_here.py").write_text(
        "from german_whist.agents.heuristic.random import RandomAgent as Mine\n\n\n"
        "class One(Mine):\n"
        "    def __init__(self, rules, word='', match=None):\n"
        "        super().__init__(rules, match=match)\n"
    )
    (tmp_path / "broken_here.py").write_text("def\n")
    (tmp_path / "other_here.py").write_text("class Not:\n    def __init__(self, *_, match): ...\n")
    monkeypatch.setattr("sys.path", [entry for entry in sys.path if entry])
    monkeypatch.chdir(tmp_path)
    assert load_agent("players_here:Mine").name == "players_here:Mine"
    assert load_agent("players_here:One:a").rules.name == "classic"
    message = "^the parameters 'a,b' do not fit players_here:One:a,b: give fewer, or other ones$"
    with pytest.raises(ValueError, match=message):
        load_agent("players_here:One:a,b")
    with pytest.raises(ValueError, match="module broken_here cannot be imported: SyntaxError"):
        load_agent("broken_here:Mine")
    with pytest.raises(ValueError, match=r"makes a Not.*subclass of german_whist\.agents\.Agent"):
        load_agent("other_here:Not")
    with pytest.raises(ValueError, match=r"named as a module.* as players_here:Mine"):
        load_agent("players_here.py:Mine")


class Counter(Agent):
    """Holds a list that it adds to."""

    name = "counter"

    def __init__(self, keeps_state: bool, **options: Any) -> None:
        super().__init__(**options)
        self.keeps_state, self.memory = keeps_state, [0]


STATELESS, STATEFUL = Counter(keeps_state=False), Counter(keeps_state=True)
IN_A_MATCH = Counter(keeps_state=True, match=9)


@pytest.mark.parametrize("instance", ["STATELESS", "STATEFUL"])
def test_names_of_one_instance_make_agents_of_their_own(instance: str) -> None:
    one, two = (load_agent(f"{name}=test_base:{instance}") for name in ("a", "b"))
    original = globals()[instance]
    assert (one.name, two.name, original.name) == ("a", "b", "counter")
    assert (one.memory is two.memory) is not original.keeps_state


def test_stateful_instance_that_cannot_be_copied_is_refused(monkeypatch: Any) -> None:
    monkeypatch.setattr(STATEFUL, "memory", (number for number in range(3)))
    with pytest.raises(ValueError, match=r"STATEFUL keeps state and cannot be copied .*its class"):
        load_agent("test_base:STATEFUL")


@pytest.mark.parametrize(
    ("make", "match", "reason"),
    [
        (lambda match: as_agent(STATELESS, match=match), 9, "made for single hands, and a match"),
        (lambda match: as_agent(IN_A_MATCH, match=match), None, "match .to 9 points., and single"),
        (lambda match: load_agent("test_base:IN_A_MATCH", match=match), 25, "to 9 points.*to 25"),
    ],
)
def test_agent_object_of_another_match_is_refused(make: Any, match: Any, reason: str) -> None:
    with pytest.raises(CannotPlay, match=reason):
        make(match)
    assert as_agent(IN_A_MATCH, match=9) is IN_A_MATCH
    assert load_agent(IN_A_MATCH) is IN_A_MATCH


@pytest.mark.parametrize("name", ["random", "threshold", "champion", "flat-mc:2", "thinker:2"])
def test_match_of_an_agent_may_be_a_number_of_points(name: str) -> None:
    assert load_agent(name, match=25).match == Match(target=25)


def test_rules_of_one_name_are_told_apart_by_what_differs() -> None:
    one, other = (Rules("t2", hand=hand, suits=2) for hand in (6, 8))
    with pytest.raises(CannotPlay, match=r"t2 \(hand 6, stock 14\), and t2 \(hand 8, stock 10\)"):
        as_agent(load_agent("random", one), other)


def test_players_of_one_agent_object_remember_apart() -> None:
    agent = Counter(keeps_state=True)
    numbers: list[list[int]] = []
    agent.reset = lambda indices: numbers.append(indices.tolist())  # type: ignore[method-assign]
    one, two = Player(agent), Player(agent)
    one.begin()
    two.begin()
    assert numbers == [[0], [1]]


class Loud(Agent):
    def act(self, views: Any, rng: Any) -> Any:
        return np.zeros(0, int)


def test_what_a_player_can_not_answer_is_told() -> None:
    game = Game("classic")
    with pytest.raises(ValueError, match="agent agent answered with int64 of shape"):
        Player(Loud()).choose(game.view())
    with pytest.raises(ValueError, match="not to move"):
        Player("random").choose(game.view(1 - (game.turn or 0)))
    with pytest.raises(CannotPlay, match="made for the rules classic, and draft are played"):
        as_agent(load_agent("random"), "draft")


class Remembering:
    """Mixin that adds state, and so an `act` with another signature."""

    keeps_state = True

    def act(self, views: Any, rng: Any, indices: Any) -> Any:
        return super().act(views, rng)  # type: ignore[misc]


@pytest.mark.parametrize("name", ["threshold", "counting", "upcard-value", "champion"])
def test_a_player_can_be_made_into_one_that_remembers(name: str, monkeypatch: Any) -> None:
    kind = type(load_agent(name))
    # As in a process where it is the first of its kind: it compiles by a call of its own.
    monkeypatch.setattr(compiled, "_warm", set())
    agent = type("Mine", (Remembering, kind), {})()
    assert agent.keeps_state
