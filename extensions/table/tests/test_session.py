"""A session plays whole matches, reveals nothing in advance, and is restored unchanged."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from german_whist import Game, IllegalAction, Match, load_rules
from german_whist.agents.heuristic.random import RandomAgent
from german_whist.table import Session, SessionError, SessionSettings

QUICK = load_rules("quick")


def play_on(session: Session, rng: random.Random, moves: int = 1_000_000) -> None:
    """Play random cards for the person, and let agents answer, for some moves or a match."""
    for _ in range(moves):
        if session.over:
            return
        if session.turn is None:
            session.next_hand()
        elif session.agent_to_move:
            session.answer()
        else:
            session.play(rng.choice(session.view(0).legal()))


@pytest.mark.parametrize("rules", ["classic", "draft", "open-stock", "race-7"])
def test_a_session_is_restored_unchanged_after_every_move(rules: str) -> None:
    settings = SessionSettings(load_rules(rules), "counting", match=Match(best_of=3), seed=11)
    session = Session(settings)
    rng = random.Random(rules)
    while not session.over:
        state = json.loads(json.dumps(session.state()))
        again = Session.from_state(state)
        assert again.settings == settings
        assert again.state() == state
        assert [again.view(seat) for seat in (0, 1)] == [session.view(seat) for seat in (0, 1)]
        assert again.game.stock == session.game.stock
        assert (again.moves, again.turn, again.over) == (session.moves, session.turn, session.over)
        if session.agent_to_move:
            assert again.decide() == session.decide()
        play_on(session, rng, 1)
    again = Session.from_state(session.state())
    assert (again.over, again.game.points) == (True, session.game.points)


def test_person_cannot_play_for_watched_agents() -> None:
    session = Session(SessionSettings(QUICK, "easy", "medium", seed=2))
    assert session.settings.names == ("medium", "easy")
    with pytest.raises(IllegalAction, match="Both players at this table are agents"):
        session.play(session.game.legal()[0])
    play_on(session, random.Random(0))
    assert session.records[0].meta["players"] == ["medium", "easy"]


def test_new_sessions_have_different_seeds() -> None:
    assert len({SessionSettings().seed for _ in range(100)}) == 100


class StatefulAgent(RandomAgent):
    """Its actions depend on the number of its decisions in this hand."""

    keeps_state = True

    def __init__(self, rules: Any = "classic", *, match: Match | None = None) -> None:
        super().__init__(rules, match=match)
        self.decisions = 0

    def reset(self, indices: Any) -> None:
        self.decisions = 0

    def act(self, views: Any, rng: Any, indices: Any = None) -> Any:
        self.decisions += 1
        return super().act(views, rng + self.decisions)


def test_stateful_agent_replays_the_hand_of_a_restored_session() -> None:
    def make(name: str, rules: Any, match: Match | None) -> Any:
        return StatefulAgent(rules, match=match)

    session = Session(SessionSettings(opponent="stateful", seed=4), make)
    while len(session.game.actions) < 30:
        play_on(session, random.Random(0), 1)
    again = Session.from_state(session.state(), make)
    for _ in range(22):
        if session.agent_to_move:
            assert session.answer() == again.answer()
        else:
            action = session.view(0).legal()[-1]
            session.play(action)
            again.play(action)


def test_stateful_agent_takes_over_no_hand_that_others_began() -> None:
    def make(name: str, rules: Any, match: Match | None) -> Any:
        return StatefulAgent(rules, match=match)

    session = Session(SessionSettings(QUICK, "threshold", seed=4))
    play_on(session, random.Random(0), 3)
    settings = replace(session.settings, prior_actions=tuple(session.game.actions))
    assert list(Session(settings).game.actions) == list(session.game.actions)
    with pytest.raises(SessionError, match="threshold remembers what it did in a hand"):
        Session(settings, make)


def test_refusal_to_take_over_a_hand_names_the_agent_with_memory() -> None:
    def make(name: str, rules: Any, match: Match | None) -> Any:
        agent_class = StatefulAgent if name == "stateful" else RandomAgent
        return agent_class(rules, match=match)

    first = Game(QUICK, seed=4).legal()[0]
    with pytest.raises(SessionError, match="stateful remembers"):
        Session(SessionSettings(QUICK, "easy", "stateful", seed=4, prior_actions=(first,)), make)


def test_restored_session_takes_back_no_prior_action() -> None:
    session = Session(SessionSettings(QUICK, "threshold", seed=4))
    play_on(session, random.Random(0), 3)
    prior_actions = tuple(session.game.actions)
    session = Session(replace(session.settings, prior_actions=prior_actions))
    play_on(session, random.Random(0), 3)
    again = Session.from_state(session.state())
    assert again.settings == session.settings
    for _ in prior_actions:
        with suppress(IllegalAction):
            again.take_back()
    assert tuple(again.game.actions)[: len(prior_actions)] == prior_actions


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 99}, "version 99"),
        ({"actions": [1, 1]}, "be resumed"),
        ({"dealer": 5}, "dealer is 5"),
        ({"settings": {}}, "be resumed"),
        ({"settings": None}, "be resumed"),
        ({"number": "x"}, "number is 'x': it has to be a whole number"),
        ({"points": "many"}, "points is 'many'"),
        ({"results": [1]}, "results"),
        ({"actions": ["AS"]}, "actions"),
        ({"helped": 1}, "helped is 1: it has to be true or false"),
    ],
)
def test_an_invalid_state_is_refused(change: dict[str, Any], words: str) -> None:
    session = Session(SessionSettings(QUICK, "easy", seed=1))
    with pytest.raises(SessionError, match=words):
        Session.from_state({**session.state(), **change})
