"""Exploitability asks agents as they play; illegal answers and errors are told by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from german_whist.agents.base import Agent, Array
from german_whist.agents.perfect_endgame import EndgamePlayer
from german_whist.engine.bitset import ONE
from german_whist.engine.rules import load_rules
from german_whist.engine.view import legal_in_views
from german_whist.evaluation.exploitability.exact import measure_exploitability

PUBLIC, FULL = "2x4-h2", {"name": "small", "suits": 2, "ranks": 3, "hand": 2, "stock": 2}
"""Rules that are walked on the public tree, and, by agents that err in endings, deal by deal."""

TREES = pytest.mark.parametrize("rules", [PUBLIC, FULL], ids=["public tree", "full tree"])


def legal(agent: Agent, views: Array) -> Array:
    masks = np.zeros(len(views), np.uint64)
    legal_in_views(agent.rules.array(), views, masks)
    return (masks[:, None] >> np.arange(agent.rules.actions, dtype=np.uint64)) & ONE == 1


class Lowest(Agent):
    """Plays its lowest legal card; on the public tree with perfect endings."""

    name = "lowest"

    def __init__(self, rules: Any) -> None:
        super().__init__(rules)
        self._endgame = EndgamePlayer(self.rules) if self.rules.name == PUBLIC else None

    def act(self, views: Array, rng: Array, **_: Array) -> Array:
        return self.improved(views, legal(self, views).argmax(axis=1))

    def improved(self, views: Array, actions: Array) -> Array:
        if self._endgame is not None:
            self._endgame.improve(views, actions)
        return actions


class Mixed(Lowest):
    """Plays the lowest legal card with a probability of 0.7, otherwise the highest."""

    name = "mixed"

    def act(self, views: Array, rng: Array, **_: Array) -> Array:
        allowed = legal(self, views)
        highest = allowed.shape[1] - 1 - allowed[:, ::-1].argmax(axis=1)
        return self.improved(views, np.where(rng < 0.7 * 2.0**64, allowed.argmax(axis=1), highest))

    def probabilities(self, views: Array) -> Any:
        allowed, rows = legal(self, views), np.arange(len(views))
        probs = np.zeros(allowed.shape)
        probs[rows, allowed.argmax(axis=1)] += 0.7
        probs[rows, allowed.shape[1] - 1 - allowed[:, ::-1].argmax(axis=1)] += 0.3
        if self._endgame is not None:
            self._endgame.replace_probabilities(views, probs)
        return probs


def found(agent: Agent) -> float:
    return measure_exploitability(agent, agent.rules).exploitability


@TREES
@pytest.mark.parametrize("wrong", [-1, 99, "another"])
def test_an_illegal_action_is_refused(rules: Any, wrong: Any) -> None:
    class Wrong(Lowest):
        name = "wrong"

        def act(self, views: Array, rng: Array, **_: Array) -> Array:
            actions = super().act(views, rng)
            illegal = (~legal(self, views)).argmax(axis=1)
            late = views["stock_left"] < self.rules.stock
            late |= self._endgame is None
            actions[late] = illegal[late] if wrong == "another" else wrong
            return actions

    with pytest.raises(ValueError, match=r"wrong plays action -?\d+ where \[\d+.*\] are legal: "):
        found(Wrong(load_rules(rules)))


class Static(Mixed):
    @staticmethod
    def probabilities(views: Array) -> Array:  # type: ignore[override]
        return Mixed.probabilities(Mixed(load_rules(FULL)), views)


class Bound(Mixed):
    """Has the method under another name, as agents that only sometimes have it."""

    def __init__(self, rules: Any) -> None:
        super().__init__(rules)
        self.probabilities = self.others  # type: ignore[method-assign]

    def others(self, views: Array) -> Any:
        return Mixed.probabilities(self, views)


@pytest.mark.parametrize("base", [Static, Bound, Mixed])
def test_form_of_method_probabilities_does_not_matter(base: Any) -> None:
    rules = load_rules(FULL)

    class Own(base):
        def act(self, views: Array, rng: Array, **_: Array) -> Array:
            return lowest.act(views, rng)

    class Delegating(Mixed):
        """Has the method of another agent."""

        def __init__(self, rules: Any) -> None:
            super().__init__(rules)
            self.probabilities = base(rules).probabilities

    lowest = Lowest(rules)
    assert found(Own(rules)) == found(lowest)
    assert found(base(rules)) == found(Delegating(rules)) == found(Mixed(rules)) != found(lowest)


def test_an_agent_that_keeps_state_is_asked_by_its_actions() -> None:
    class Remembering(Mixed):
        keeps_state = True
        act = Lowest.act

    assert found(Remembering(load_rules(FULL))) == found(Lowest(load_rules(FULL)))


@TREES
def test_reused_answers_and_changed_views_do_no_harm(rules: Any) -> None:
    class Reusing(Mixed):
        answers = np.zeros((0, 0))

        def probabilities(self, views: Array) -> Any:
            probs = super().probabilities(views)
            if len(self.answers) < len(probs):
                self.answers = np.zeros((max(len(probs), 50_000), probs.shape[1]))
            self.answers[: len(probs)] = 0.9995 * probs
            views["hand"] = 0
            return self.answers[: len(probs)]

    loaded = load_rules(rules)
    assert found(Reusing(loaded)) == pytest.approx(found(Mixed(loaded)), abs=1e-6)


@TREES
def test_past_tricks_are_blank_for_an_agent_that_reads_none(rules: Any) -> None:
    class Peeking(Lowest):
        reads_tricks = False

        def act(self, views: Array, rng: Array, **_: Array) -> Array:
            allowed = legal(self, views)
            highest = allowed.shape[1] - 1 - allowed[:, ::-1].argmax(axis=1)
            peeked = (views["led_cards"][:, 0] % 2 == 0) | (views["my_draws"][:, 0] % 2 == 0)
            return self.improved(views, np.where(peeked, highest, allowed.argmax(axis=1)))

    class Reading(Peeking):
        reads_tricks = True

    loaded = load_rules(rules)
    assert found(Peeking(loaded)) == found(Lowest(loaded)) != found(Reading(loaded))


@TREES
def test_nobody_is_asked_in_no_views(rules: Any) -> None:
    class Listing(Lowest):
        def act(self, views: Array, rng: Array, **_: Array) -> Array:
            return np.array([int(action) for action in super().act(views, rng)])

    loaded = load_rules(rules)
    assert found(Listing(loaded)) == found(Lowest(loaded))


@TREES
@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("act", RuntimeError("lost")),
        ("act", SystemExit(3)),
        ("probabilities", KeyError("lost")),
        ("probabilities", SystemExit(3)),
        ("perfect_endgame", RuntimeError("lost")),
    ],
)
def test_an_error_names_the_player_and_the_line(rules: Any, place: str, error: Any) -> None:
    class Faulty(Mixed):
        name = "faulty"

    def fail(*_: Any) -> Any:
        raise error

    agent = Faulty(load_rules(rules))
    if place == "act":
        Faulty.act = fail  # type: ignore[method-assign]
        Faulty.probabilities = None  # type: ignore[assignment]
    elif place == "probabilities":
        Faulty.probabilities = fail  # type: ignore[method-assign]
    else:
        Faulty.perfect_endgame = property(fail)  # type: ignore[assignment]
    where = r" \(test_action_probabilities\.py:\d+\)"
    with pytest.raises(ValueError, match=rf"faulty.* raised {type(error).__name__}: .*{where}"):
        found(agent)


SHAPE, VALUES = "of the shape .*give numbers", "illegal actions 0, and their sum 1"


@TREES
@pytest.mark.parametrize(
    ("wronged", "told"),
    [
        *(
            (lambda _, answer=answer: answer, SHAPE)
            for answer in (None, "abc", [[0.5], [0.5, 0.5]])
        ),
        (lambda probs: probs * 1j, SHAPE),
        (lambda probs: probs[:, :-1], SHAPE),
        (lambda probs: np.full_like(probs, 1 / 52), VALUES),
        *(
            (
                lambda probs, factor=factor: np.multiply(
                    probs, factor, out=0 * probs, where=probs > 0
                ),
                VALUES,
            )
            for factor in (0.5, 2.0, np.nan, np.inf, -1.0)
        ),
    ],
)
def test_what_is_no_probability_is_refused(rules: Any, wronged: Any, told: str) -> None:
    class Wrong(Mixed):
        name = "wrong"

        def probabilities(self, views: Array) -> Any:
            return wronged(super().probabilities(views))

    with pytest.raises(ValueError, match=f"^wrong gives .*{told}"):
        found(Wrong(load_rules(rules)))
