"""Agents by texts sit at the table, which keeps what they were asked and said."""

from __future__ import annotations

from german_whist import Game
from german_whist.table.game.opponents import Opponents
from german_whist.table.game.session import OPPONENT, Session, SessionSettings


def last_legal(text: str) -> str:
    """Answers with the last legal card."""
    return text.rpartition("Legal: ")[2].rstrip(".").split(", ")[-1]


def test_table_records_keep_prompts_and_answers() -> None:
    settings = SessionSettings(
        rules=Game("small-last").rules, opponent="test_table_texts:last_legal", seed=4
    )
    session = Session(settings)
    while session.turn is not None:
        if session.turn == OPPONENT:
            session.answer()
        else:
            session.play(session.view(0).legal()[0])
    texts = session.records[0].meta["texts"]
    assert len(texts) == session.game.rules.tricks
    assert {each["seat"] for each in texts} == {OPPONENT}


def test_texts_of_cards_taken_back_are_forgotten() -> None:
    settings = SessionSettings(
        rules=Game("small-last").rules, opponent="test_table_texts:last_legal", seed=4
    )
    session = Session(settings)
    while session.turn == OPPONENT:
        session.answer()
    kept = dict(session._texts)
    session.play(session.view(0).legal()[0])
    session.answer()
    assert session._texts != kept
    session.take_back()
    assert session._texts == kept


def test_each_table_has_its_own_agent_by_texts() -> None:
    name, rules = "test_table_texts:last_legal", Game("small-last").rules
    opponents = Opponents([name])
    assert opponents.make(name, rules, None) is not opponents.make(name, rules, None)
    assert opponents.make("easy", rules, None) is opponents.make("easy", rules, None)
