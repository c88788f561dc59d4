"""Every field of a message is read by the page; events agree with the rules."""

from __future__ import annotations

import random
import re
from inspect import getmembers, isclass
from pathlib import Path

import pytest
from msgspec import Struct

import german_whist.table
from german_whist import load_rules
from german_whist.table.browser import finished_hands, messages, serve_learning
from german_whist.table.browser.messages import play_events, take_snapshot
from german_whist.table.game.session import PERSON, Session, SessionSettings
from german_whist.table.review import replay

SCRIPTS = (Path(german_whist.table.__file__).parent / "browser" / "static" / "js").rglob("*.js")


def test_no_message_has_a_field_that_no_page_reads() -> None:
    source = "\n".join(script.read_text(encoding="utf-8") for script in SCRIPTS)
    for module in (messages, serve_learning, finished_hands, replay):
        for name, kind in getmembers(module, isclass):
            if issubclass(kind, Struct) and kind.__module__ == module.__name__:
                for field in kind.__struct_fields__:
                    assert re.search(rf"\b{field}\b", source), f"{name}.{field}"


@pytest.mark.parametrize("rules", ["classic", "draft"])
def test_a_trick_is_told_as_won_by_the_seat_that_moves_next(rules: str) -> None:
    session, rng = (
        Session(SessionSettings(load_rules(rules), "threshold", seed=3)),
        random.Random(3),
    )
    count = 0
    while session.turn is not None:
        before, legal = take_snapshot(session), session.game.legal()
        action = rng.choice(legal) if session.turn == PERSON else session.decide()
        session.play(action) if session.turn == PERSON else session.play_decided(action)
        events = play_events(session, before, action)
        winners = [event.who for event in events if event.kind == "won"]
        if winners and session.turn is not None:
            assert winners == [session.turn]
            count += 1
    assert count == 25
