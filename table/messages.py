# pyright: strict
"""What goes to the browser: the state that one seat may see, and the events between two states.

Both are made from `View`s, which hold what a seat may know and nothing else. The other
hand is added when no secret is left: two agents are watched, the endgame is open, or the
hand is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..engine.cards import CARDS, SUITS, TAKE_HIDDEN, Card
from ..engine.rules import Match
from ..engine.state import SEATS
from ..engine.view import Trick, View
from ..envs.scene import result_text
from .sitting import HUMAN, OPPONENT, PERSON, HandResult, Settings, Sitting

Message = dict[str, Any]

_HANDS_TOLD = 200
"""Results of a match that are told, the last ones."""


def texts(cards: Iterable[Card]) -> list[str]:
    """Cards as messages name them."""
    return [str(card) for card in cards]


def _text(card: Card | None) -> str | None:
    return None if card is None else str(card)


# -- the state


def state_of(sitting: Sitting) -> Message:
    """The sitting as seat 0 may see it; with two agents, both hands."""
    settings, view = sitting.settings, sitting.view(PERSON)
    rules = settings.rules
    tricks = list(view.tricks())
    other = _other_hand(sitting, view)
    counting = view.counting_tricks
    foreplay = view.stock_left > 0
    return {
        "move": sitting.moves,
        "rules": rules.name,
        "rules_title": title_of(rules.name),
        "opponent": settings.opponent,
        "player": settings.player,
        "names": list(settings.names),
        "watched": settings.watched,
        "seat": PERSON,
        "match": _match(sitting, view),
        "hand": texts(view.hand),
        "hand_size_other": view.other_cards,
        "known_other": texts(view.known),
        "open": _is_open(view),
        "other_hand": None if other is None else texts(other),
        "stock_left": view.stock_left,
        "upcards": texts(view.upcards),
        "trump": None if view.trump is None else SUITS[view.trump],
        "low": view.low,
        "phase": view.phase,
        "turn": sitting.turn,
        "legal": [] if settings.watched else view.legal(),
        "trick": _cards_of(tricks[-1]) if _under_way(view) else [],
        "last_trick": _last_trick(view, tricks),
        "last_taken": _last_taken(sitting, view, tricks),
        "tricks": list(counting),
        "trick_number": view.trick + (not sitting.game.over),
        "tricks_in_hand": rules.tricks,
        "stage": "foreplay" if foreplay else "endgame",
        "dealer": PERSON if view.i_deal else OPPONENT,
        "result": _result(sitting, view),
    }


def _is_open(view: View) -> bool:
    """Whether a player who remembers everything knows the other hand."""
    return view.stock_left == 0 and view.rules.open_endgame


def _other_hand(sitting: Sitting, view: View) -> list[Card] | None:
    if sitting.settings.watched or sitting.game.over:
        return sitting.game.hands[OPPONENT]
    return sorted([*view.known, *view.unseen]) if _is_open(view) else None


def _under_way(view: View) -> bool:
    return view.phase in ("follow", "choose")


def _cards_of(trick: Trick) -> list[Message]:
    leader = PERSON if trick.i_led else OPPONENT
    cards = [{"who": leader, "card": str(trick.led)}]
    if trick.followed is not None:
        cards.append({"who": 1 - leader, "card": str(trick.followed)})
    return cards


def _finished(view: View, tricks: list[Trick]) -> Trick | None:
    """The last trick that is over, if there is one."""
    over = tricks[:-1] if _under_way(view) else tricks
    return over[-1] if over else None


def _last_trick(view: View, tricks: list[Trick]) -> list[Message]:
    last = _finished(view, tricks)
    return [] if last is None else _cards_of(last)


def _winner_of_last(view: View, tricks: list[Trick]) -> int:
    # Whoever won a trick leads the next one.
    led = tricks[-1].i_led if _under_way(view) else view.i_lead
    return PERSON if led else OPPONENT


def _last_taken(sitting: Sitting, view: View, tricks: list[Trick]) -> Message | None:
    """Who drew what after the last trick; None stands for a card drawn face down."""
    last = _finished(view, tricks)
    if last is None or last.my_draw is None:
        return None
    other = last.other_draw
    if sitting.settings.watched:
        theirs = list(sitting.view(OPPONENT).tricks())
        finished = _finished(sitting.view(OPPONENT), theirs)
        other = None if finished is None else finished.my_draw
    winner = _winner_of_last(view, tricks)
    return {
        "by": winner,
        "trick_winner": winner,
        "my_drawn": _text(last.my_draw),
        "other_drawn": _text(other),
    }


def _match(sitting: Sitting, view: View) -> Message:
    match = sitting.settings.match
    kind, n = kind_of(match)
    return {
        "kind": kind,
        "n": n,
        "points": list(view.points),
        "hands_won": list(sitting.game.hands_won),
        "hand": sitting.game.number + 1,
        "hands": [_hand_told(each) for each in sitting.results[-_HANDS_TOLD:]],
        "over": sitting.over,
        "winner": winner_of(sitting),
    }


def _hand_told(result: HandResult) -> Message:
    tricks, pays = list(result.tricks), list(result.pays)
    return {"winner": _ahead(result.pays), "tricks": tricks, "pay": pays}


def _ahead(pays: tuple[int, ...]) -> int | None:
    return None if pays[0] == pays[1] else max(range(SEATS), key=lambda seat: pays[seat])


def kind_of(match: Match | None) -> tuple[str, int | None]:
    """A match as messages tell it: `single`, `points` or `best`, and how many."""
    if match is None:
        return "single", None
    return ("points", match.target) if match.target else ("best", match.best_of)


def winner_of(sitting: Sitting) -> int | None:
    """Who won the match, or the single hand; None while it lasts, or for a tie."""
    if not sitting.over:
        return None
    match, game = sitting.settings.match, sitting.game
    if match is None:
        return _ahead(game.pays)
    return _ahead(game.points if match.target else game.hands_won)


def _result(sitting: Sitting, view: View) -> Message | None:
    if not sitting.game.over:
        return None
    pays = sitting.game.pays
    text = result_text(view, sitting.settings.names)
    return {"tricks": list(view.counting_tricks), "pay": list(pays), "text": text}


def title_of(name: str) -> str:
    """A name as a heading: `open-stock` is `Open stock`."""
    return name.replace("-", " ").capitalize()


def listed(sitting: Sitting) -> Message:
    """The sitting in a list: what is played, and how it stands."""
    settings, game = sitting.settings, sitting.game
    kind, n = kind_of(settings.match)
    score = {"single": game.counting_tricks, "points": game.points, "best": game.hands_won}[kind]
    return {
        "title": f"{title_of(settings.rules.name)}, {' and '.join(settings.names)}",
        "rules": settings.rules.name,
        "opponent": settings.opponent,
        "player": settings.player,
        "match": {"kind": kind, "n": n},
        "score": list(score),
    }


# -- events


class Glance(NamedTuple):
    """What is compared to tell events: both views, the other one only where it may be told."""

    mine: View
    theirs: View | None


def glance(sitting: Sitting) -> Glance:
    """What may be seen now."""
    theirs = sitting.view(OPPONENT) if sitting.settings.watched else None
    return Glance(sitting.view(PERSON), theirs)


def dealt(sitting: Sitting) -> Iterator[Message]:
    """The events of a new hand."""
    told = Words(sitting.settings)
    yield _event("dealt", sitting.game.dealer, told.does(sitting.game.dealer, "deal"))
    if sitting.view(PERSON).upcards:
        yield _turned(sitting.view(PERSON))


def played(sitting: Sitting, before: Glance, action: int) -> Iterator[Message]:
    """The events of one action, from what was and is to be seen."""
    told = Words(sitting.settings)
    after = glance(sitting)
    was, now = before.mine, after.mine
    who = PERSON if was.to_move else OPPONENT
    if was.phase == "choose":
        yield _chosen(told, who, action)
    else:
        kind, verb = ("led", "lead") if was.phase == "lead" else ("followed", "play")
        card = CARDS[action]
        yield _event(kind, who, f"{told.does(who, verb)} {card.symbol}", card=str(card))
    if was.phase == "follow":
        winner = _trick_winner(sitting, now)
        yield _event("won", winner, told.does(winner, "win") + " the trick")
    if now.stock_left < was.stock_left:
        yield from _drawn(told, after)
        if now.upcards:
            yield _turned(now)
    if sitting.game.over:
        yield _event("hand_over", None, result_text(now, sitting.settings.names))
        if sitting.over and sitting.settings.match is not None:
            winner = winner_of(sitting)
            yield _event("match_over", winner, told.does(winner or 0, "win") + " the match")


def _trick_winner(sitting: Sitting, now: View) -> int:
    """Who won the trick that was just followed: the one who chooses, or leads next."""
    if now.phase == "choose":
        return sitting.turn or 0
    return PERSON if now.i_lead else OPPONENT


def _chosen(told: Words, who: int, action: int) -> Message:
    if action == TAKE_HIDDEN:
        return _event("chose", who, told.does(who, "take") + " the hidden card")
    card = CARDS[action]
    return _event("chose", who, f"{told.does(who, 'take')} {card.symbol}", card=str(card))


def _drawn(told: Words, after: Glance) -> Iterator[Message]:
    """Who drew what, the winner of the trick first."""
    last = list(after.mine.tricks())[-1]
    theirs = last.other_draw
    if after.theirs is not None:
        theirs = list(after.theirs.tricks())[-1].my_draw
    drawn = {PERSON: last.my_draw, OPPONENT: theirs}
    winner = PERSON if after.mine.i_lead else OPPONENT
    for who in (winner, 1 - winner):
        card = drawn[who]
        what = "a card face down" if card is None else card.symbol
        yield _event("drew", who, f"{told.does(who, 'draw')} {what}", card=_text(card))


def _turned(view: View) -> Message:
    cards = view.upcards
    verb = "is" if len(cards) == 1 else "are"
    text = f"{' and '.join(card.symbol for card in cards)} {verb} turned up"
    return {"kind": "turned", "who": None, "cards": texts(cards), "text": text}


def _event(kind: str, who: int | None, text: str, **more: str | None) -> Message:
    return {"kind": kind, "who": who, **more, "text": text}


class Words:
    """Who does what, as a sentence begins: `You lead`, `Medium leads`."""

    def __init__(self, settings: Settings) -> None:
        self._you = settings.player == HUMAN
        self._names = settings.names

    def does(self, who: int, verb: str) -> str:
        """The seat and its verb."""
        if self._you and who == PERSON:
            return f"You {verb}"
        return f"{self._names[who]} {verb}s"
