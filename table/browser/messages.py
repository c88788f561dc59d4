# pyright: strict
"""What goes to the browser: the state that one seat may see, and the events between two states.

Both are made from `View`s, which hold what a seat may know and nothing else. The other
hand is added when no secret is left: two agents are watched, the endgame is open, or the
hand is over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from ...engine.cards import CARDS, CARDS_IN_ALL, SUITS, Card
from ...engine.view import View
from ..game.opponents import AgentInfo, RulesInfo
from ..game.session import OPPONENT, PERSON, HandResult, Session, leading_seat, winner_of
from ..review.replay import KINDS, MatchInfo, PlayedCard, card_texts, table_tricks
from ..text import words
from ..text.labels import capital, say, you

_HANDS_TOLD = 200
"""Results of a match that are told, the last ones."""


def _text(card: Card | None) -> str | None:
    return None if card is None else str(card)


# -- the state


class HandScore(Struct):
    """How a hand of a match ended."""

    tricks: tuple[int, ...]
    pay: tuple[int, ...]


class MatchState(MatchInfo):
    """How the match stands."""

    hands: list[HandScore]
    over: bool
    winner: int | None


class HandEnd(Struct):
    """How the hand ended: pairs are the person's and the opponent's."""

    headline: str
    tricks: tuple[int, ...]
    pay: tuple[int, ...]
    text: str
    compared: str
    """With the same cards before, where the hand was played again."""


class TableText(Struct):
    """The table in words."""

    match: str
    stage: str
    prompt: str
    answer: str
    """What is waited for once the person has played."""
    last: str
    guide: list[str]
    table: list[str]


class HandRef(Struct):
    """Where the replay of a hand is found."""

    id: str
    hand: int


class Speed(Struct):
    """How fast agents are watched."""

    delay_ms: int
    paused: bool


class VisibleState(Struct, kw_only=True):
    """What a view shows of the table: the viewer is 0, the other 1."""

    hand: list[str]
    hand_size_other: int
    known_other: list[str]
    open: bool
    other_hand: list[str] | None
    stock_left: int
    upcards: list[str]
    trump: str | None
    low: bool
    phase: str
    turn: int | None
    legal: list[int]
    trick: list[PlayedCard]
    last_trick: list[PlayedCard]
    tricks: tuple[int, ...]
    stock_tricks: tuple[int, int] | None
    """Tricks that won no more than a card of the stock; None where every trick counts."""
    dealer: int
    turned: str | None
    """The dealer's card that was turned up before an exchange."""
    exchanged: tuple[bool | None, bool | None]
    """Whether the two took a blind hand; None before they decide, and where none may."""
    said: TableText


class TableState(VisibleState, kw_only=True):
    """A table as seat 0 may see it; with two agents, both hands."""

    id: str
    n: int
    move: int
    rules: str
    rules_title: str
    opponent: str
    player: str
    names: tuple[str, str]
    watched: bool
    rated: bool
    lesson: bool
    match: MatchState
    result: HandEnd | None
    thinking: bool
    trouble: str | None
    notice: str | None
    left: bool
    replay: HandRef | None
    speed: Speed | None


class TableContext(NamedTuple):
    """What a table knows beside its session."""

    id: str
    n: int
    thinking: bool
    trouble: str | None
    notice: str | None
    left: bool
    speed: Speed | None
    compared: str


def table_state(session: Session, around: TableContext) -> TableState:
    """The session as seat 0 may see it; with two agents, both hands."""
    settings, game, view = session.settings, session.game, session.view(PERSON)
    names = display_names(session)
    match, other, here = match_state(session), _other_hand(session, view), around._asdict()
    compared = here.pop("compared")
    shown = visible_fields(view, _said(session, view, around, other), other)
    if settings.watched:
        shown["legal"] = []
    return TableState(
        **here,
        **shown,
        move=session.moves,
        rules=settings.rules.name,
        rules_title=words.title_of(settings.rules.name),
        opponent=settings.opponent,
        player=settings.player,
        names=names,
        watched=settings.watched,
        rated=settings.rated and not session.helped,
        lesson=settings.lesson,
        match=match,
        result=_hand_end(session, match, names, compared) if game.over else None,
        replay=HandRef(around.id, game.number + 1) if game.over else None,
    )


def visible_fields(view: View, said: TableText, other: list[Card] | None) -> dict[str, Any]:
    """The fields of `VisibleState`; `other` is the other's hand where it lies open."""
    trick, last_trick = table_tricks(view)
    over = view.phase == "over"
    return {
        "hand": card_texts(view.hand),
        "hand_size_other": view.other_cards,
        "known_other": card_texts(view.known),
        "open": view.open,
        "other_hand": None if other is None else card_texts(other),
        "stock_left": view.stock_left,
        "upcards": card_texts(view.upcards),
        "trump": None if view.trump is None else SUITS[view.trump],
        "low": view.low,
        "phase": view.phase,
        "turn": None if over else PERSON if view.to_move else OPPONENT,
        "legal": list(map(int, view.legal())),
        "trick": trick,
        "last_trick": last_trick,
        "tricks": view.counting_tricks,
        "stock_tricks": words.stock_tricks(view),
        "dealer": PERSON if view.i_deal else OPPONENT,
        "turned": _text(view.turned),
        "exchanged": view.exchanged,
        "said": said,
    }


def describe_view(view: View, names: tuple[str, str], score: str, prompt: str = "") -> TableText:
    """A view in words, outside of any match."""
    prompt = prompt or words.prompt(view, names)
    known = view.theirs
    return TableText(
        match=score,
        stage=words.stage(view),
        prompt=prompt,
        answer="",
        last=words.last_trick(view, names),
        guide=[],
        table=[f"{words.spoken(prompt)}.", *words.table(view, names, known, "")],
    )


def display_names(session: Session) -> tuple[str, str]:
    """What the two are called in sentences: the person is `you`."""
    first, second = map(words.display_name, session.settings.names)
    return (first if session.settings.watched else you()), second


def _said(
    session: Session, view: View, around: TableContext, other: list[Card] | None
) -> TableText:
    settings, game, names = session.settings, session.game, display_names(session)
    score = words.score(settings.match, game.points, game.hands_won)
    prompt = words.prompt(view, names, around.thinking)
    if around.left:
        prompt = say("hand.closed")
    elif session.over and settings.match is not None:
        prompt = say("headline.match_over")
    theirs = session.view(OPPONENT) if settings.watched else None
    known = view.theirs if other is None else other
    return TableText(
        match=words.match_words(settings.match),
        stage=words.stage(view),
        prompt=prompt,
        answer=say("hand.waits", name=names[1]),
        last=words.last_trick(view, names, theirs),
        guide=words.guide(view, names) if settings.lesson else [],
        table=[f"{words.spoken(prompt)}.", *words.table(view, names, known, score)],
    )


def _other_hand(session: Session, view: View) -> list[Card] | None:
    if session.settings.watched or session.game.over:
        return session.game.hands[OPPONENT]
    return view.theirs if view.open else None


def match_state(session: Session) -> MatchState:
    """How the match stands."""
    kind, n = words.match_kind(session.settings.match)
    return MatchState(
        kind=kind,
        n=n,
        points=session.game.points,
        hands_won=session.game.hands_won,
        hand=session.game.number + 1,
        hands=[HandScore(each.tricks, each.pays) for each in session.results[-_HANDS_TOLD:]],
        over=session.over,
        winner=winner_of(session),
    )


def _hand_end(
    session: Session, match: MatchState, names: tuple[str, str], compared: str
) -> HandEnd:
    last: HandResult = session.results[-1]
    told = words.headline(names, leading_seat(last.pays))
    if match.over and match.kind != "single":
        told = words.headline(names, match.winner, "match")
    text = words.result(last.tricks, last.pays, names, last.low)
    return HandEnd(told, last.tricks, last.pays, text, compared)


# -- events


class TableEvent(Struct):
    """Something that happened, in words for screen readers."""

    kind: str
    who: int | None
    text: str
    card: str | None = None
    cards: list[str] | None = None
    n: int = 0


class TableUpdate(Struct):
    """A state, and the events that led to it."""

    state: TableState
    events: list[TableEvent]


class Snapshot(NamedTuple):
    """What is compared to tell events: both views, the other one only where it may be told."""

    mine: View
    theirs: View | None


def take_snapshot(session: Session) -> Snapshot:
    """What may be seen now."""
    theirs = session.view(OPPONENT) if session.settings.watched else None
    return Snapshot(session.view(PERSON), theirs)


def deal_events(session: Session) -> Iterator[TableEvent]:
    """The events of a new hand."""
    dealer, view = session.game.dealer, session.view(PERSON)
    yield _event("dealt", dealer, say("event.deal", name=display_names(session)[dealer]))
    if view.upcards:
        yield _turned(view)
    if view.turned is not None:
        text = say(
            "event.turned_dealers", name=display_names(session)[dealer], card=view.turned.symbol
        )
        yield _event("shown", dealer, text, str(view.turned))


def play_events(session: Session, before: Snapshot, action: int) -> Iterator[TableEvent]:
    """The events of one action, from what was and is to be seen."""
    names, after = display_names(session), take_snapshot(session)
    was, now = before.mine, after.mine
    who = PERSON if was.to_move else OPPONENT
    card = CARDS[action] if action < CARDS_IN_ALL else None
    yield _event(
        KINDS[was.phase], who, words.action_text(names[who], was.phase, action), _text(card)
    )
    if was.phase == "follow":
        winner = PERSON if words.won_last(now) else OPPONENT
        yield _event("won", winner, say("event.win", name=names[winner]))
    if now.stock_left < was.stock_left:
        yield from _drawn(names, after)
        if now.upcards:
            yield _turned(now)
        if not now.stock_left:
            yield _event("stock_gone", None, words.stock_is_gone(now, names))
    if session.game.over:
        last = session.results[-1]
        yield _event("hand_over", None, words.result(last.tricks, last.pays, names, last.low))
        if session.over and session.settings.match is not None:
            winner = winner_of(session)
            yield _event("match_over", winner, words.headline(names, winner, "match"))


def _drawn(names: tuple[str, str], after: Snapshot) -> Iterator[TableEvent]:
    """Who drew what, the winner of the trick first."""
    last = list(after.mine.tricks())[-1]
    theirs = last.other_draw
    if after.theirs is not None:
        theirs = list(after.theirs.tricks())[-1].my_draw
    drawn = {PERSON: last.my_draw, OPPONENT: theirs}
    winner = PERSON if words.won_last(after.mine) else OPPONENT
    for who in (winner, 1 - winner):
        text = say("event.draw", name=names[who], card=words.drawn_card(drawn[who]))
        yield _event("drew", who, text, _text(drawn[who]))


def _turned(view: View) -> TableEvent:
    cards = words.join_words([card.symbol for card in view.upcards])
    text = say("event.turned", cards=cards, n=len(view.upcards))
    return TableEvent("turned", None, words.spoken(text), cards=card_texts(view.upcards))


def _event(kind: str, who: int | None, text: str, card: str | None = None) -> TableEvent:
    return TableEvent(kind, who, capital(words.spoken(text)), card)


class Refusal(Struct, omit_defaults=True):
    """Why a request was refused, and the table as it stands where it was asked for one."""

    error: str
    state: TableState | None = None


# -- lists


class Menu(Struct):
    """What can be played, against whom, and what has to be said about the store."""

    rules: list[RulesInfo]
    agents: list[AgentInfo]
    notice: str | None


class TableSummary(Struct):
    """A table in a list: what is played, and how it stands."""

    id: str
    title: str
    match: str
    score: tuple[int, ...]
    over: bool
