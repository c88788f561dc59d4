"""Functions of texts play wherever agents do, and records keep what they were asked and said."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

from german_whist import Game, View, evaluate, load_agent
from german_whist.agents import as_agent
from german_whist.agents.calls import AgentFault
from german_whist.agents.external.policies import CallableAgent
from german_whist.agents.external.text import TextAgent
from german_whist.agents.player import Player
from german_whist.engine.records import GameRecord
from german_whist.engine.rules import load_rules
from german_whist.engine.text.position import position_text, prompt
from german_whist.envs import GermanWhistEnv
from german_whist.evaluation import EveryHandForfeited


def last_legal(text: str) -> str:
    """Answers with the last legal card, which it names among other words."""
    return f"I play [{text.rpartition('Legal: ')[2].rstrip('.').split(', ')[-1]}]."


def mute(text: str) -> str:
    return "no idea"


def number(text: str) -> Any:
    return 7


LED_BY_OPPONENT = next(seed for seed in range(9) if Game("small-last", seed).turn == 1)


class Stubborn:
    """Names no card until it has been refused `times` times."""

    def __init__(self, times: int) -> None:
        self.times, self.prompts = times, list[str]()

    def __call__(self, text: str) -> str:
        self.prompts.append(text)
        return last_legal(text) if text.count("Refused: ") or not self.times else "hm"


def test_function_with_one_parameter_is_an_agent_by_texts() -> None:
    for source in (last_legal, Stubborn(0), "test_text:last_legal"):
        assert type(as_agent(source, "small-last")) is TextAgent
    assert type(as_agent(lambda views, rng: None)) is CallableAgent
    assert as_agent("test_text:last_legal", "small-last").name == "test_text:last_legal"
    game = Game("draft", seed=3)
    agent = load_agent(last_legal, "draft")
    while not game.over:
        legal = game.legal()
        action = agent.act(game.view())
        assert action == legal[-1]
        game.play(action)


def with_option(prompt: str, temperature: float = 0) -> str:
    assert temperature in (0, 0.5)
    return last_legal(prompt)


def with_keyword(prompt: str, *, temperature: float = 1) -> str:
    return with_option(prompt, temperature / 2)


def with_more(prompt: str, **options: Any) -> str:
    return with_option(prompt, **options)


def with_two(prompt: str, temperature: float) -> str:
    return with_option(prompt, temperature)


class Model:
    def __call__(self, prompt: str, temperature: float = 0) -> str:
        return with_option(prompt, temperature)

    def ask(self, prompt: str, /, *, temperature: float = 0) -> str:
        return with_option(prompt, temperature)


def first_legal(views: Any, rng: Any, exploration: float = 0) -> Any:
    return [View(load_rules("small-last"), views[i]).legal()[0] for i in range(len(views))]


with_half, model, first = partial(with_two, temperature=0.5), Model(), partial(first_legal)


@pytest.mark.parametrize(
    "function",
    [
        with_option,
        with_keyword,
        with_more,
        with_half,
        partial(partial(with_option), temperature=0.5),
        model,
        Model().ask,
        "test_text:with_option",
        "test_text:with_keyword",
        "test_text:with_half",
        "test_text:model",
    ],
)
def test_function_of_prompt_and_options_plays_by_texts(function: Any) -> None:
    assert type(as_agent(function, "small-last")) is TextAgent
    result = evaluate(function, "random", hands=2, rules="small-last", workers=1).pairings[0]
    assert not result.forfeits


@pytest.mark.parametrize(
    "function",
    [
        first_legal,
        first,
        lambda obs, rng=None: first_legal(obs, rng),
        lambda views, rng=None: first_legal(views, rng),
        lambda *both: first_legal(*both),
        lambda first, *others: first_legal(first, *others),
        "test_text:first_legal",
        "test_text:first",
    ],
)
def test_function_of_views_and_options_plays_by_views(function: Any) -> None:
    assert type(as_agent(function, "small-last")) is CallableAgent
    result = evaluate(function, "random", hands=2, rules="small-last", workers=1).pairings[0]
    assert not result.forfeits


def test_partial_is_called_as_its_function() -> None:
    assert as_agent(with_half, "small-last").name == "with_two"
    assert as_agent(partial(partial(first_legal), exploration=1)).name == "first_legal"


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (lambda: "AS", r"<lambda>\(\)"),
        (lambda views: None, r"<lambda>\(views\)"),
        (lambda prompt, *, temperature: "AS", r"<lambda>\(prompt, \*, temperature\)"),
        (lambda views, rng, exploration: None, r"<lambda>\(views, rng, exploration\)"),
    ],
)
def test_function_that_fits_neither_is_refused(function: Any, signature: str) -> None:
    sentence = rf"^{signature} is no agent: write f\(views, rng\), .* or f\(prompt\), a function of"
    with pytest.raises(ValueError, match=sentence):
        as_agent(function)


def test_prompt_holds_rules_and_position_and_refusals_a_sentence() -> None:
    view, model = Game("classic", seed=1).view(), Stubborn(1)
    agent = TextAgent(model, "classic")
    agent.act(view)
    assert model.prompts[0] == prompt(view)
    refusal = model.prompts[1].removeprefix(prompt(view))
    assert refusal.startswith("\n\nRefused: 'hm' names no action: end your answer with ")
    assert agent.transcript is not None
    (texts,) = agent.transcript
    assert texts is not None
    assert texts["prompt"] == position_text(view)
    assert texts["answers"][0] == "hm"
    assert (texts["seat"], texts["trick"]) == (view.seat, 1)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (mute, "'no idea' names no action"),
        (
            number,
            "answered with an int, not with a text: return one that ends with an action, such as",
        ),
    ],
)
def test_agent_without_a_card_loses_with_a_sentence(function: Any, why: str) -> None:
    with pytest.raises(EveryHandForfeited) as raised:
        evaluate(function, "random", hands=4, rules="small-last", workers=1)
    (forfeit,) = raised.value.result.pairings[0].forfeits
    assert forfeit.hands == 4
    assert why in str(forfeit)
    with pytest.raises(AgentFault, match=why):
        GermanWhistEnv("small-last", opponent=function, seat=0).reset(seed=LED_BY_OPPONENT)


def test_arena_records_keep_prompts_and_answers() -> None:
    lines: list[str] = []
    evaluate(last_legal, "threshold", hands=4, rules="small-last", records=lines.append, workers=1)
    assert len(lines) == 4
    for line in lines:
        record = GameRecord.from_line(line)
        seat = record.meta["players"].index("last_legal")
        game, asked = record.start(), iter(record.meta["texts"])
        for action in record.actions:
            if game.turn == seat:
                texts = next(asked)
                assert texts["prompt"] == position_text(game.view(seat))
                assert texts["answers"] == [last_legal(prompt(game.view(seat)))]
                assert texts["seat"] == seat
            game.play(action)
        assert next(asked, None) is None
        assert json.loads(record.to_line())["meta"] == record.meta


def test_exact_endings_ask_no_questions() -> None:
    model = Stubborn(0)
    agent = TextAgent(model, "small-last", "endgame=exact")
    game, player = Game("small-last", seed=2), Player(agent, seed=1)
    while not game.over:
        before = len(model.prompts)
        view: View = game.view()
        game.play(player.choose(view))
        assert len(model.prompts) == before + (not view.open)
    assert np.array(agent.transcript == [None]).all()
