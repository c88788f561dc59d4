# pyright: strict
"""A record as a replay: every step of the hand with what lay where before it.

Both hands are open in it. What one seat could see is told as well (`known`, `open`, and who
drew what unseen), so that a page can show that seat's view and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from ...engine.cards import SUITS, Card, action_word, cards_of
from ...engine.game import Game
from ...engine.records import GameRecord, MatchScore
from ...engine.view import Trick, View
from ..text import words
from ..text.labels import say, you
from ..text.words import plain_text

KINDS = {"lead": "led", "follow": "followed", "choose": "chose", "exchange": "exchanged"}
_LONGEST_TITLE = 200


class PlayedCard(Struct):
    """A card on the table, and whose it is."""

    who: int
    card: str


class Draw(Struct):
    """A card drawn from the stock; `open` where the other saw it."""

    who: int
    card: str
    open: bool


class BoardState(Struct):
    """What lies where: all of it, and which of it everybody has seen."""

    turn: int | None
    hands: list[list[str]]
    known: list[list[str]]
    stock_left: int
    upcards: list[str]
    trump: str | None
    low: bool
    trick: list[PlayedCard]
    last_trick: list[PlayedCard]
    tricks: list[int]
    open: bool
    turned: str | None
    """The dealer's card that was turned up before an exchange."""
    exchanged: list[bool | None]
    """Whether each seat took a blind hand; None before it decides, and where none may."""


class Step(Struct):
    """One action: what lay on the table before it, and what came of it."""

    n: int
    who: int
    kind: str
    action: int
    card: str
    trick: int
    prompt: str
    text: str
    won: int | None
    drew: list[Draw]
    before: BoardState


class MatchInfo(Struct):
    """The match that a hand belongs to, before it."""

    kind: str
    n: int | None
    points: tuple[int, ...]
    hands_won: tuple[int, ...]
    hand: int


class ReplayResult(Struct):
    """How a hand ended."""

    tricks: tuple[int, ...]
    pays: tuple[int, ...]
    text: str


class Replay(Struct):
    """A whole hand."""

    rules: str
    rules_title: str
    players: tuple[str, str]
    dealer: int
    match: MatchInfo | None
    result: ReplayResult
    steps: list[Step]
    final: BoardState


def make_replay(record: GameRecord) -> Replay:
    """The whole hand, step by step; a record that does not play to its result is refused."""
    record.replay()
    game, names = record.start(), player_names(record)
    before = _position(game)
    steps: list[Step] = []
    for action in record.actions:
        steps.append(_step(len(steps), game, action, before, names))
        before = _position(game)
    rules = record.rules
    return Replay(
        rules=plain_text(rules.name),
        rules_title=plain_text(rules.about or rules.name, _LONGEST_TITLE),
        players=names,
        dealer=record.dealer,
        match=None if record.match is None else _match(record.match),
        result=replay_result(record),
        steps=steps,
        final=before,
    )


def player_names(record: GameRecord) -> tuple[str, str]:
    """What the two players are called, as far as the record tells it."""
    told = record.meta.get("players")
    found = [say("site.seat", n=seat) for seat in (0, 1)]
    if isinstance(told, list):
        for seat, name in enumerate(cast("list[object]", told)[: len(found)]):
            if isinstance(name, str) and plain_text(name):
                found[seat] = you() if name == words.ME else plain_text(name)
    if found[0] == found[1]:
        found = [f"{name} ({seat})" for seat, name in enumerate(found)]
    return found[0], found[1]


def replay_result(record: GameRecord) -> ReplayResult:
    """How the hand ended."""
    low = record.rules.contract != "high" and record.start().low
    text = words.result(record.counting_tricks, record.pays, player_names(record), low)
    return ReplayResult(record.counting_tricks, record.pays, text)


def _match(score: MatchScore) -> MatchInfo:
    kind, n = words.match_kind(score.match)
    return MatchInfo(kind, n, score.points, score.hands_won, score.hands + 1)


# -- steps


def _step(n: int, game: Game, action: int, before: BoardState, names: Sequence[str]) -> Step:
    """An action, which is played, and what came of it: what both drew, the winner first."""
    who, phase, trick = game.turn or 0, game.phase, game.trick + 1
    stock, upcards = game.stock, game.upcards
    game.play(action)
    leader = int(game.record["leader"][0])
    prompt = words.turn_text(names[who], phase)
    text = words.action_text(names[who], phase, action)
    won = leader if phase == "follow" else None
    if won is not None:
        text += "; " + say("event.win", name=names[won])
    drew = [
        Draw(0 if each in game.hands[0] else 1, str(each), each in upcards)
        for each in stock[: len(stock) - len(game.stock)]
    ]
    drew.sort(key=lambda draw: draw.who != leader)
    card = action_word(action)
    return Step(n, who, KINDS[phase], int(action), card, trick, prompt, text, won, drew, before)


def _position(game: Game) -> BoardState:
    view = game.view(0)
    trick, last_trick = table_tricks(view)
    return BoardState(
        turn=game.turn,
        hands=[card_texts(hand) for hand in game.hands],
        known=[card_texts(cards_of(cards)) for cards in game.record["known"][0].tolist()],
        stock_left=view.stock_left,
        upcards=card_texts(game.upcards),
        trump=None if game.trump is None else SUITS[game.trump],
        low=game.low,
        trick=trick,
        last_trick=last_trick,
        tricks=list(game.counting_tricks),
        open=view.open,
        turned=None if game.turned is None else str(game.turned),
        exchanged=list(game.exchanged),
    )


def card_texts(cards: Sequence[Card]) -> list[str]:
    """Cards as messages name them."""
    return [str(card) for card in cards]


def table_tricks(view: View) -> tuple[list[PlayedCard], list[PlayedCard]]:
    """The trick under way, whose winner may still have to choose, and the last one that is over.

    Whoever looks is 0, the other 1.
    """
    tricks = [_cards_of(trick) for trick in view.tricks()]
    now = [tricks.pop()] if view.phase in ("follow", "choose") else []
    return (now or [[]])[0], (tricks or [[]])[-1]


def _cards_of(trick: Trick) -> list[PlayedCard]:
    leader = 0 if trick.i_led else 1
    cards = [(leader, trick.led), (1 - leader, trick.followed)]
    return [PlayedCard(who, str(card)) for who, card in cards if card is not None]
