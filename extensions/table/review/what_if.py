# pyright: strict
"""A finished hand with another action at one decision, played on from there for both seats."""

from __future__ import annotations

from functools import lru_cache

from german_whist.agents.base import Agent, CannotPlay
from german_whist.agents.player import Player
from german_whist.agents.registry import load_agent
from german_whist.engine.checks import IllegalAction
from german_whist.engine.endgame import NotOpenError, best_card_of
from german_whist.engine.records import GameRecord, record_of
from german_whist.engine.rules import Rules
from german_whist.engine.view import View

from ..text.labels import label
from ..text.words import action_text, display_name, refusal_reason
from .analysis import CHAMPION
from .puzzles import position_before
from .replay import AGENT, NOTE, SUBSTITUTED, player_names, substituted

_OTHERWISE = "counting"
"""Plays on where the champion does not play the rules."""


@lru_cache(maxsize=256)
def what_if(line: str, n: int, action: int) -> str:
    """The record, as a line, of the hand that another action at decision `n` leads to.

    Open endings are played perfectly, and what is before them by the champion.
    """
    record = GameRecord.from_line(line)
    game = position_before(record, n)
    view = game.view()
    if action not in view.legal():
        raise IllegalAction(refusal_reason(view, action))
    agent = _agent(record.rules)
    note = label(
        "replay.what_if",
        did=action_text(player_names(record)[view.seat], view.phase, action),
        trick=view.trick + 1,
        agent=display_name(agent.name),
    )
    player = Player(agent, record.rules)
    game.play(action)
    while not game.over:
        game.play(_choose(player, game.view()))
    notes = f"{record.meta.get(NOTE, '')} {note}".strip()
    before = [k for k in substituted(record) if isinstance(k, int) and k < n]
    others = [*before, *range(n + 1, len(game.actions))]
    meta = {NOTE: notes, SUBSTITUTED: others, AGENT: display_name(agent.name)}
    return record_of(game, {**record.meta, **meta}).to_line()


def _choose(player: Player, view: View) -> int:
    try:
        return int(best_card_of(view))
    except NotOpenError:
        return player.choose(view)


@lru_cache(maxsize=8)  # some hold networks
def _agent(rules: Rules) -> Agent:
    try:
        return load_agent(CHAMPION, rules)
    except CannotPlay:
        return load_agent(_OTHERWISE, rules)
