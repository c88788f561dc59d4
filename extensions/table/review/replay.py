# pyright: strict
"""A record as a replay: every action of the hand with the state of the table before it.

Both hands are open in it. The information of one seat (`known`, `open`, and who drew what unseen)
is included, so that a page can show that seat's view and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from german_whist.engine.cards import SUITS, Card, action_word, cards_of
from german_whist.engine.game import Game
from german_whist.engine.records import GameRecord, MatchScore
from german_whist.engine.view import Trick, View

from ..text import words
from ..text.labels import label
from ..text.words import plain_text

KINDS = {"lead": "led", "follow": "followed", "choose": "chose", "exchange": "exchanged"}
AGENT = "agent"
"""The field of a record's `meta` with the name of that agent."""
_MAX_TITLE = 200
_MAX_NOTE = 10_000
"""A sentence for each change of a hand: sixty of them at most."""
NOTE = "note"
"""The field of a record's `meta` that a replay shows."""
SUBSTITUTED = "substituted"
"""The field of a record's `meta` with the decisions that an agent made for both players."""


class PlayedCard(Struct):
    """A card on the table, and the seat that played it."""

    who: int
    card: str


class Draw(Struct):
    """A card drawn from the stock; `open` if the opponent saw it."""

    who: int
    card: str
    open: bool


class BoardState(Struct):
    """All cards of a table, and the cards of each hand that the opponent knows."""

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
    stock_tricks: tuple[int, int] | None
    """Tricks that won only a stock card; None where every trick counts."""
    open: bool
    turned: str | None
    """The dealer's card that was turned up before an exchange."""
    exchanged: list[bool | None]
    """Whether each seat took a blind hand; None before it decides, and where none may."""


class Step(Struct):
    """One action: the table before it, and its consequences."""

    n: int
    who: int
    kind: str
    action: int
    card: str
    legal: list[int]
    trick: int
    prompt: str
    text: str
    won: int | None
    drew: list[Draw]
    before: BoardState


class MatchInfo(Struct):
    """The match before the hand."""

    kind: str
    n: int | None
    points: tuple[int, ...]
    hands_won: tuple[int, ...]
    hand: int


class ReplayResult(Struct):
    """The result of a hand."""

    tricks: tuple[int, ...]
    payoffs: tuple[int, ...]
    text: str


class Replay(Struct):
    """A whole hand."""

    rules: str
    rules_title: str
    players: tuple[str, str]
    note: str
    """How the hand differs from the one that was played; empty if it does not."""
    dealer: int
    match: MatchInfo | None
    result: ReplayResult
    steps: list[Step]
    final: BoardState


def make_replay(record: GameRecord) -> Replay:
    """The whole hand, step by step; a record that does not play to its result is refused."""
    record.replay()
    game, names = record.start(), player_names(record)
    before = _board_state(game)
    steps: list[Step] = []
    by_others = substituted(record)
    agent = plain_text(str(record.meta.get(AGENT, "")))
    for action in record.actions:
        n = len(steps)
        shown = (
            tuple(label("replay.instead", agent=agent, name=name) for name in names)
            if n in by_others
            else names
        )
        steps.append(_step(n, game, action, before, shown))
        before = _board_state(game)
    rules = record.rules
    return Replay(
        rules=plain_text(rules.name),
        rules_title=plain_text(rules.about or rules.name, _MAX_TITLE),
        players=names,
        note=plain_text(str(record.meta.get(NOTE, "")), _MAX_NOTE),
        dealer=record.dealer,
        match=None if record.match is None else _match_info(record.match),
        result=replay_result(record),
        steps=steps,
        final=before,
    )


def player_names(record: GameRecord) -> tuple[str, str]:
    """The names of the two players, as far as the record has them."""
    names = [label("site.seat", n=seat) for seat in (0, 1)]
    recorded = record.meta.get("players")
    if isinstance(recorded, list):
        written = cast("list[object]", recorded)[: len(names)]
        others = [name for name in written if isinstance(name, str)]
        for seat, name in enumerate(written):
            if isinstance(name, str):
                names[seat] = plain_text(words.display_name(name, others)) or names[seat]
    return words.distinct(names)


def substituted(record: GameRecord) -> list[object]:
    """The decisions that an agent made for both players."""
    others = record.meta.get(SUBSTITUTED)
    return cast("list[object]", others) if isinstance(others, list) else []


def replay_result(record: GameRecord) -> ReplayResult:
    """The result of the hand."""
    low = record.rules.contract != "high" and record.start().low
    text = words.result(record.counting_tricks, record.payoffs, player_names(record), low)
    return ReplayResult(record.counting_tricks, record.payoffs, text)


def _match_info(score: MatchScore) -> MatchInfo:
    kind, n = words.match_kind(score.match)
    return MatchInfo(kind, n, score.points, score.hands_won, score.hands + 1)


def _step(n: int, game: Game, action: int, before: BoardState, names: Sequence[str]) -> Step:
    who, phase, trick = game.turn or 0, game.phase, game.trick + 1
    stock, upcards, legal = game.stock, game.upcards, list(map(int, game.legal()))
    game.play(action)
    leader = int(game.array["leader"][0])
    prompt = words.turn_text(names[who], phase)
    text = words.action_text(names[who], phase, action)
    winner = leader if phase == "follow" else None
    if winner is not None:
        text += "; " + label("event.win", name=names[winner])
    draws = [
        Draw(0 if card in game.hands[0] else 1, str(card), card in upcards)
        for card in stock[: len(stock) - len(game.stock)]
    ]
    draws.sort(key=lambda draw: draw.who != leader)  # the winner of the trick draws first
    return Step(
        n=n,
        who=who,
        kind=KINDS[phase],
        action=int(action),
        card=action_word(action),
        legal=legal,
        trick=trick,
        prompt=prompt,
        text=text,
        won=winner,
        drew=draws,
        before=before,
    )


def _board_state(game: Game) -> BoardState:
    view = game.view(0)
    trick, last_trick = table_tricks(view)
    return BoardState(
        turn=game.turn,
        hands=[card_texts(hand) for hand in game.hands],
        known=[card_texts(cards_of(cards)) for cards in game.array["known_cards"][0].tolist()],
        stock_left=view.stock_left,
        upcards=card_texts(game.upcards),
        trump=None if game.trump is None else SUITS[game.trump],
        low=game.low,
        trick=trick,
        last_trick=last_trick,
        tricks=list(game.counting_tricks),
        stock_tricks=words.stock_tricks(view),
        open=view.open,
        turned=None if game.turned is None else str(game.turned),
        exchanged=list(game.exchanged),
    )


def card_texts(cards: Sequence[Card]) -> list[str]:
    """Cards as they stand in messages: `TD` is the ten of diamonds."""
    return [str(card) for card in cards]


def table_tricks(view: View) -> tuple[list[PlayedCard], list[PlayedCard]]:
    """The trick under way, or waiting for its winner's choice, and the last completed one.

    The viewer is 0, the opponent 1.
    """
    tricks = [_trick_cards(trick) for trick in view.tricks()]
    current = tricks.pop() if view.phase in ("follow", "choose") else []
    return current, (tricks or [[]])[-1]


def _trick_cards(trick: Trick) -> list[PlayedCard]:
    leader = 0 if trick.i_led else 1
    cards = [(leader, trick.led), (1 - leader, trick.followed)]
    return [PlayedCard(who, str(card)) for who, card in cards if card is not None]
