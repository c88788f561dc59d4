# pyright: strict
"""Messages to the browser: the table's state for one seat, and the events between two states.

Both are made from `View`s, which hold only what a seat may know. The opponent's hand is added
when it is no secret: two agents are watched, the endgame is open, or the hand is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from german_whist.engine.cards import CARDS, N_CARDS, SUITS, Card
from german_whist.engine.view import View

from ..game.opponents import AgentInfo, RulesInfo
from ..game.session import OPPONENT, PERSON, HandResult, Session, leading_seat, winner_of
from ..review.replay import KINDS, MatchInfo, PlayedCard, ReplayResult, card_texts, table_tricks
from ..text import words
from ..text.labels import YOU, begin, label
from ..text.lessons import Guide, guide

_MAX_RESULTS = 200


def _text(card: Card | None) -> str | None:
    return None if card is None else str(card)


# -- the state


class MatchState(MatchInfo):
    """The match so far."""

    hands: list[HandResult]
    over: bool
    winner: int | None


class HandEnd(ReplayResult):
    """The result of the hand; pairs are the person's and the opponent's."""

    headline: str
    notes: list[str]
    """The comparison with the earlier hand of the same deal, and how the rating has changed."""


class TableText(Struct):
    """The table in sentences."""

    match: str
    stage: str
    prompt: str
    answer: str
    """The prompt after the person's action."""
    last: str
    guide: Guide | None
    """What the coach says; None without one."""
    table: list[str]


class HandRef(Struct):
    """The id and hand number of a replay."""

    id: str
    hand: int


class Speed(Struct):
    """The speed of watched agents."""

    delay_ms: int
    paused: bool


class VisibleState(Struct, kw_only=True):
    """The table as a view shows it: the viewer is 0, the opponent 1."""

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
    """Tricks that won only a stock card; None where every trick counts."""
    dealer: int
    turned: str | None
    """The dealer's card that was turned up before an exchange."""
    exchanged: tuple[bool | None, bool | None]
    """Whether each took the blind hand; None before the decision, and without one."""
    texts: TableText


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
    claim_refused: bool
    memory: bool
    lesson: int
    match: MatchState
    result: HandEnd | None
    replay: HandRef | None
    thinking: bool = False
    trouble: str | None = None
    notice: str | None = None
    left: bool = False
    speed: Speed | None = None


def table_state(
    session: Session, notes: list[str], *, coached: bool = False, **live: Any
) -> TableState:
    """The session as seat 0 may see it; of two agents, with both hands.

    `live`: the fields that the session does not have, and `notes`, sentences for the result.
    `coached`: whether the hand has a coach, as lessons do.
    """
    settings, game, view = session.settings, session.game, session.view(PERSON)
    names, match = display_names(session), match_state(session)
    if settings.watched or game.over:
        other_hand = game.hands[OPPONENT]
    else:
        other_hand = view.known_opponent_cards if view.open else None
    memory = settings.memory and not game.over
    other_hand = None if memory else other_hand
    texts = _table_text(session, view, live, other_hand)
    if coached or settings.lesson:
        texts.guide = guide(view, names, settings.lesson, game)
    fields = live | visible_fields(view, texts, other_hand)
    if memory:
        fields |= {"known_other": [], "open": False, "last_trick": []}
        fields["turned"] = fields["turned"] if view.phase == "exchange" else None
    if settings.watched:
        fields["legal"] = []
    return TableState(
        **fields,
        move=session.moves,
        rules=settings.rules.name,
        rules_title=words.title_of(settings.rules.name),
        opponent=settings.opponent,
        player=settings.player,
        names=names,
        watched=settings.watched,
        rated=settings.rated and not session.helped,
        claim_refused=session.claim_refused,
        memory=settings.memory,
        lesson=settings.lesson,
        match=match,
        result=_hand_end(session, match, names, notes) if game.over else None,
        replay=HandRef(live["id"], game.number + 1) if game.over else None,
    )


def visible_fields(view: View, texts: TableText, other_hand: list[Card] | None) -> dict[str, Any]:
    """The fields of `VisibleState`; `other_hand` is the opponent's if it is open."""
    trick, last_trick = table_tricks(view)
    over = view.phase == "over"
    return {
        "hand": card_texts(view.hand),
        "hand_size_other": view.opponent_hand_size,
        "known_other": card_texts(view.opponent_known),
        "open": view.open,
        "other_hand": None if other_hand is None else card_texts(other_hand),
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
        "texts": texts,
    }


def describe_view(view: View, names: tuple[str, str]) -> TableText:
    """A view in sentences, outside of any match."""
    prompt = words.prompt(view, names)
    return TableText(
        match="",
        stage=words.stage(view),
        prompt=prompt,
        answer="",
        last=words.last_trick(view, names),
        guide=None,
        table=[
            f"{words.spoken(prompt)}.",
            *words.table(view, names, view.known_opponent_cards, ""),
        ],
    )


def display_names(session: Session) -> tuple[str, str]:
    """The players' names in sentences: the person is `you`."""
    names = session.settings.names
    first, second = (words.display_name(name, names) for name in names)
    return words.distinct((first if session.settings.watched else YOU, second))


def _table_text(
    session: Session, view: View, live: Mapping[str, Any], other_hand: list[Card] | None
) -> TableText:
    settings, game, names = session.settings, session.game, display_names(session)
    score = words.score(settings.match, game.points, game.hands_won)
    prompt = words.prompt(view, names, live.get("thinking", False))
    if live.get("left"):
        prompt = label("hand.closed")
    elif live.get("trouble") is not None:
        prompt = label("hand.failed", name=names[PERSON if view.to_move else OPPONENT])
    elif session.over and settings.match is not None:
        prompt = label("headline.match_over")
    opponent_view = session.view(OPPONENT) if settings.watched else None
    opponent_cards = view.known_opponent_cards if other_hand is None else other_hand
    memory = settings.memory and not game.over
    return TableText(
        match=words.match_words(settings.match),
        stage=words.stage(view),
        prompt=prompt,
        answer=label("hand.waits", name=names[1]),
        last="" if memory else words.last_trick(view, names, opponent_view),
        guide=None,
        table=[
            f"{words.spoken(prompt)}.",
            *words.table(view, names, None if memory else opponent_cards, score),
        ],
    )


def match_state(session: Session) -> MatchState:
    """The match so far."""
    kind, n = words.match_kind(session.settings.match)
    return MatchState(
        kind=kind,
        n=n,
        points=session.game.points,
        hands_won=session.game.hands_won,
        hand=session.game.number + 1,
        hands=session.results[-_MAX_RESULTS:],
        over=session.over,
        winner=winner_of(session),
    )


def _hand_end(
    session: Session, match: MatchState, names: tuple[str, str], notes: list[str]
) -> HandEnd:
    last = session.results[-1]
    headline = words.headline(names, leading_seat(last.payoffs))
    if match.over and match.kind != "single":
        headline = words.headline(names, match.winner, "match")
    text = words.result(last.tricks, last.payoffs, names, last.low)
    return HandEnd(last.tricks, last.payoffs, text, headline, notes)


# -- events


class TableEvent(Struct):
    """An event, with a sentence for screen readers."""

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


def deal_events(session: Session) -> Iterator[TableEvent]:
    """The events of a new hand."""
    dealer, view = session.game.dealer, session.view(PERSON)
    name = display_names(session)[dealer]
    yield _event("dealt", dealer, label("event.deal", name=name))
    if view.upcards:
        yield _upcards_event(view)
    if view.turned is not None:
        text = label("event.turned_dealers", name=name, card=view.turned.symbol)
        yield _event("shown", dealer, text, str(view.turned))


def play_events(session: Session, old: View, action: int) -> Iterator[TableEvent]:
    """The events of one action, by the person's views before and after it."""
    names, new = display_names(session), session.view(PERSON)
    who = PERSON if old.to_move else OPPONENT
    card = CARDS[action] if action < N_CARDS else None
    text = words.action_text(names[who], old.phase, action)
    yield _event(KINDS[old.phase], who, text, _text(card))
    if old.phase == "follow":
        winner = PERSON if words.won_last(new) else OPPONENT
        yield _event("won", winner, label("event.win", name=names[winner]))
    if new.stock_left < old.stock_left:
        yield from _draw_events(session, new)
        if new.upcards:
            yield _upcards_event(new)
        if not new.stock_left:
            open_hands = new.open and not session.settings.memory
            text = words.stock_is_gone(new, names, open_hands)
            yield _event("stock_gone", None, text)
    if session.game.over:
        last = session.results[-1]
        yield _event("hand_over", None, words.result(last.tricks, last.payoffs, names, last.low))
        if session.over and session.settings.match is not None:
            winner = winner_of(session)
            yield _event("match_over", winner, words.headline(names, winner, "match"))


def _draw_events(session: Session, view: View) -> Iterator[TableEvent]:
    """Both draws, the winner of the trick first; the opponent's only if both hands are open."""
    last, names = list(view.tricks())[-1], display_names(session)
    draws = [last.my_draw, last.opponent_draw]
    if session.settings.watched:
        draws[OPPONENT] = list(session.view(OPPONENT).tricks())[-1].my_draw
    winner = PERSON if words.won_last(view) else OPPONENT
    for who in (winner, 1 - winner):
        text = label("event.draw", name=names[who], card=words.drawn_card(draws[who]))
        yield _event("drew", who, text, _text(draws[who]))


def _upcards_event(view: View) -> TableEvent:
    cards = words.join_words([card.symbol for card in view.upcards])
    text = label("event.turned", cards=cards, n=len(view.upcards))
    return TableEvent("turned", None, words.spoken(text), cards=card_texts(view.upcards))


def _event(kind: str, who: int | None, text: str, card: str | None = None) -> TableEvent:
    return TableEvent(kind, who, begin(words.spoken(text)), card)


class Refusal(Struct, omit_defaults=True):
    """Why a request was refused, and the present state if it was for a table."""

    error: str
    state: TableState | None = None


class Refused(ValueError):
    """A request that is refused with a sentence and an HTTP status."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


# -- lists


class Menu(Struct):
    """Rule sets and agents on offer, and a notice about the store."""

    rules: list[RulesInfo]
    agents: list[AgentInfo]
    notice: str | None


class TableSummary(Struct):
    """A table in a list."""

    id: str
    title: str
    match: str
    score: tuple[int, ...]
    over: bool
