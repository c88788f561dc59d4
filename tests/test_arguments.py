"""Public functions refuse arguments of a wrong type with a sentence that names the value."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import german_whist as gw
from german_whist.agents.costs import CostModel
from german_whist.engine.text.answers import parse_answer
from german_whist.engine.text.position import observation_text, position_text, prompt

NOTHING: Any = None
NO_VIEW = "is no view: give a View, as of game.view()"


def view() -> gw.View:
    return gw.Game("small-last", seed=1).view()


def threshold() -> Any:
    return gw.load_agent("threshold", "small-last")


def network_inputs(views: Any = None, **options: Any) -> object:
    return gw.network_inputs(view() if views is None else views, **options)


def evaluate(agent: Any = "random", against: Any = "threshold", **options: Any) -> object:
    return gw.evaluate(agent, against, rules="small-last", hands=2, **options)


CASES: dict[str, tuple[Any, str]] = {
    "prompt": (lambda: prompt(NOTHING), f"None {NO_VIEW}"),
    "prompt of a game": (lambda: prompt(gw.Game()), "Game(classic"),  # type: ignore[arg-type]
    "position_text": (lambda: position_text(NOTHING), f"None {NO_VIEW}"),
    "observation_text": (lambda: observation_text("x"), f"'x' {NO_VIEW}"),  # type: ignore[arg-type]
    "parse_answer, view": (lambda: parse_answer("x", NOTHING), f"None {NO_VIEW}"),
    "parse_answer, text": (
        lambda: parse_answer(21, view()),  # type: ignore[arg-type]
        "the answer is 21, an int: it has to be a text",
    ),
    "CostModel.of": (lambda: CostModel("small-last").of(""), f"'' {NO_VIEW}"),  # type: ignore[arg-type]
    "CostModel.of several": (
        lambda: CostModel("small-last").of([view(), view()]),  # type: ignore[arg-type]
        f"a list of 2 {NO_VIEW}",
    ),
    "View": (
        lambda: gw.View(gw.load_rules("classic"), np.zeros(3)),
        "is no array of one VIEW record",
    ),
    "View of several": (
        lambda: gw.View(gw.load_rules("classic"), np.repeat(view().array, 2)),
        "is no array of one VIEW record",
    ),
    "network_inputs, a text": (lambda: network_inputs("x"), f"'x' {NO_VIEW}, or several"),
    "network_inputs, empty text": (lambda: network_inputs(""), f"'' {NO_VIEW}, or several"),
    "network_inputs, a number": (lambda: network_inputs(3), f"3 {NO_VIEW}, or several"),
    "network_inputs, numbers": (lambda: network_inputs([3]), f"3 {NO_VIEW}, or several"),
    "network_inputs, rules": (lambda: network_inputs(rules=np.zeros(2)), "rules are given as a"),
    "network_inputs, suit_order": (
        lambda: network_inputs(suit_order=np.zeros(2)),
        "it has to be one of raw, trump-first",
    ),
    "act": (lambda: threshold().act(None), f"None {NO_VIEW}, or several"),
    "act, rng": (lambda: threshold().act(view(), "x"), "rng is 'x': give a seed, a generator"),
    "act, negative rng": (lambda: threshold().act(view(), -1), "rng is -1: give a seed"),
    "cards": (lambda: gw.cards(NOTHING), "None is a NoneType: cards are a text such as AS KD"),
    "card_set": (lambda: gw.card_set(5), "5 is an int: cards are a text"),  # type: ignore[arg-type]
    "cards_of, infinite": (
        lambda: gw.cards_of(math.inf),  # type: ignore[arg-type]
        "inf is a float: a set of cards is a whole number",
    ),
    "cards_of, a fraction": (
        lambda: gw.cards_of(1.5),  # type: ignore[arg-type]
        "1.5 is a float: a set of cards is a whole number",
    ),
    "cards_of, nothing": (lambda: gw.cards_of(NOTHING), "None is a NoneType: a set of cards"),
    "text_of": (lambda: gw.text_of(NOTHING), "None is a NoneType: cards are a text"),
    "text_of, no id": (lambda: gw.text_of([99]), "99 is not a card id"),
    "seat": (lambda: gw.Game().view(np.zeros(3)), "seat is array"),  # type: ignore[arg-type]
    "record_of": (lambda: gw.record_of(NOTHING), "None is no game: give a Game whose hand is over"),
    "from_line": (lambda: gw.GameRecord.from_line(NOTHING), "is not a line of JSON"),
    "read_records": (lambda: gw.read_records(NOTHING), "the path is None, a NoneType: give that"),
    "write_records, path": (lambda: gw.write_records("", []), "the path is '', a str: give that"),
    "write_records, NUL": (lambda: gw.write_records("a\0b", []), r"the path is 'a\x00b', a str"),
    "write_records": (lambda: gw.write_records("hands", NOTHING), "None is no record: give a list"),
    "append_records": (lambda: gw.append_records("hands", ["x"]), "'x' is no record: give a list"),  # type: ignore[list-item]
    "Dataset": (lambda: gw.Dataset(NOTHING), "the folder is None, a NoneType: give its path"),
    "resume": (lambda: gw.resume(NOTHING), "the folder is None, a NoneType: give its path"),
    "train": (lambda: gw.train("tiny", folder=5), "the folder is 5, an int: give its path"),  # type: ignore[arg-type]
    "train_seeds": (lambda: gw.train_seeds("tiny", NOTHING), "seeds are None: give a list, as in"),
    "legal_text": (lambda: gw.legal_text(NOTHING), "None lists no actions: give those of view"),
    "legal_text of a number": (lambda: gw.legal_text([99]), "99 is not a card id"),
    "load_rules": (lambda: gw.load_rules("a" * 3000), f"{'a' * 59}… is not a rule set; there are"),
    "load_policy": (lambda: gw.load_policy(NOTHING), "None is a NoneType: a checkpoint has a path"),
    "evaluate against nobody": (lambda: evaluate(against=[]), "there is no opponent: name one"),
    "evaluate, records": (
        lambda: evaluate(Unplayable, records="hands.jsonl"),
        "records is 'hands.jsonl': give a function that takes each hand's line",
    ),
    "evaluate, records without a parameter": (
        lambda: evaluate(Unplayable, records=lambda: None),
        "give a function that takes each hand's line",
    ),
    "evaluate, progress": (
        lambda: evaluate(Unplayable, progress=5),
        "progress is 5: give a function that takes the Arena",
    ),
    "ladder, progress": (
        lambda: gw.ladder([Unplayable, "random"], "small-last", hands=2, progress=lambda: None),  # type: ignore[arg-type, misc]
        "give a function that takes the Arena",
    ),
    "evaluate, until": (lambda: evaluate(Unplayable, until="1%"), "until is '1%': it has to be"),
    "generate_dataset, progress": (
        lambda: gw.generate_dataset(["random"], "data", hands=2, progress=5),  # type: ignore[arg-type]
        "progress is 5: give a function that takes the finished fraction",
    ),
    "exploitability, progress": (
        lambda: gw.exploitability("random-exact", "2x4-h2", progress=print()),  # type: ignore[arg-type, func-returns-value]
        "progress is None: give a function that takes the finished fraction and a message",
    ),
    "evaluate, resume": (lambda: evaluate(Unplayable, resume=5), "the path is 5, an int"),
    "ladder": (lambda: gw.ladder(NOTHING), "a ladder needs two agents or more"),
    "ladder of a text": (lambda: gw.ladder("random"), "a ladder needs two agents or more"),
}


class Unplayable(gw.PolicyAgent):
    """Fails where it is made, which is after the options are checked."""

    def __init__(self, *_: object, **__: object) -> None:
        raise AssertionError("an agent was made before the options were checked")


@pytest.mark.parametrize("name", CASES)
def test_argument_of_wrong_type_is_refused_in_a_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, sentence = CASES[name]
    with pytest.raises((ValueError, TypeError)) as refused:
        call()
    assert sentence in str(refused.value)
    assert [*tmp_path.iterdir()] == []
