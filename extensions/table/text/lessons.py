# pyright: strict
"""What a coach says before each card, and of the card played last, by what the person may know."""

from __future__ import annotations

from msgspec import Struct

from german_whist.engine.cards import Card
from german_whist.engine.endgame import moves_of
from german_whist.engine.game import Game
from german_whist.engine.view import View

from .labels import label
from .words import action_symbol, suit_name, symbols

FIRST_HAND, _LOSING, _ENDINGS = 0, 2, 3
"""The number of a hand that is coached in its first tricks, and those of the lessons."""
_COACHED_TRICKS = 3
_FAR = 4
"""Ranks between two cards of which one is clearly the worse to throw away."""


class Guide(Struct):
    """The coach's sentences; `wrong`: the first says why the last card was a mistake."""

    text: list[str]
    wrong: bool


def guide(view: View, names: tuple[str, str], lesson: int, game: Game) -> Guide:
    """What to say in the present position, in which `game` ends."""
    mistake = _last_mistake(view, lesson, game)
    text = [] if mistake is None else [mistake or label("guide.right")]
    if view.phase == "over":
        result = view.counting_tricks
        winner = names[0 if result[0] > result[1] else 1]
        tie = result[0] == result[1]
        key = "guide.over_tie" if tie else "guide.over"
        text.append(label(key, name=winner, own=result[0], other=result[1]))
    elif not view.to_move:
        text.append(label("guide.wait", name=names[1]))
    elif lesson == _ENDINGS:
        text += _ending(view)
    elif view.endgame:
        text += _endgame(view)
    elif lesson == FIRST_HAND and view.trick >= _COACHED_TRICKS:
        text.append(label("guide.alone"))
    else:
        text += _foreplay(view, lesson)
    return Guide(text, bool(mistake))


def _last_mistake(view: View, lesson: int, game: Game) -> str | None:
    """What was wrong with the person's last card, empty if nothing; None without a choice."""
    before, foreplay = game.clone(), 2 * view.rules.foreplay_tricks
    while len(before.actions) > (foreplay if lesson == _ENDINGS else 0):
        action = int(before.actions[-1])
        before.undo()
        earlier = before.view(view.seat)
        if not earlier.to_move:
            continue
        alone = lesson == FIRST_HAND and earlier.trick >= _COACHED_TRICKS
        return None if alone or len(earlier.legal()) == 1 else mistake_of(earlier, action)
    return None


def mistake_of(view: View, action: int) -> str:
    """Why another card is better: exactly in an open ending; empty if none is."""
    if not view.endgame:
        return _foreplay_mistake(view, Card(action))
    values = {int(card): value for card, value in moves_of(view).items()}
    cost = max(values.values()) - values[action]
    cards = symbols(Card(card) for card, value in values.items() if value == max(values.values()))
    return label("guide.cost", n=cost, card=Card(action).symbol, cards=cards) if cost else ""


# -- tricks for the stock


def _foreplay(view: View, lesson: int) -> list[str]:
    sentences: list[str] = []
    (upcard, *_), legal = view.upcards, view.legal()
    if view.trick == 0 and lesson != _LOSING:
        suit = "" if view.trump is None else suit_name(view.trump)
        sentences.append(label("guide.upcard", card=upcard.symbol, suit=suit))
        sentences.append(label("guide.stock", n=view.rules.foreplay_tricks))
    if lesson == _LOSING:
        n, unseen = len(better_cards(view)), len(view.unseen)
        sentences.append(label("guide.better", all=unseen, n=n, card=upcard.symbol))
    if view.trick == 1 and lesson != _LOSING:
        sentences.append(label("guide.drawn"))
    if len(legal) == 1:
        return [*sentences, label("guide.only", card=action_symbol(legal[0]))]
    if view.led is None:
        key = "guide.lead_to_win" if is_good(view) else "guide.lead_to_lose"
    else:
        wins = [beats(view, view.led, card) for card in legal]
        key = "guide.win" if is_good(view) else "guide.lose"
        if all(wins) or not any(wins):
            key = "guide.wins_anyway" if all(wins) else "guide.can_not_beat"
    return [*sentences, label(key, card=upcard.symbol)]


def _foreplay_mistake(view: View, played: Card) -> str:
    (upcard, *_), good = view.upcards, is_good(view)
    values = {"played": played.symbol, "upcard": upcard.symbol}
    cards = [Card(action) for action in view.legal()]
    worst = min(cards, key=lambda card: _worth(view, card))
    if view.led is None:
        best = min(cards, key=lambda card: (beaten_by(view, card), _worth(view, card)))
        n = beaten_by(view, played)
        if good and n - beaten_by(view, best) > 1:
            return label("guide.led_low", card=best.symbol, n=n, **values)
        if not good and n < 2 < beaten_by(view, worst):
            return label("guide.led_high", card=worst.symbol, **values)
        return ""
    winners = [card for card in cards if beats(view, view.led, card)]
    losers = [card for card in cards if card not in winners]
    if played not in winners:
        if good and winners:
            cheapest = min(winners, key=lambda card: _worth(view, card))
            return label("guide.missed", card=cheapest.symbol, **values)
        worst = min(losers, key=lambda card: _worth(view, card))
        trump = played.suit == view.trump != worst.suit
        wasted = trump or played.rank - worst.rank >= _FAR
        return label("guide.thrown", card=worst.symbol, **values) if wasted else ""
    if not good and losers:
        worst = min(losers, key=lambda card: _worth(view, card))
        return label("guide.won_weak", card=worst.symbol, **values)
    cheapest = min(winners, key=lambda card: _worth(view, card))
    unlike = played.suit != cheapest.suit or any(
        cheapest < card < played for card in _out(view) if card.suit == played.suit
    )
    return label("guide.dear", card=cheapest.symbol, **values) if unlike else ""


def better_cards(view: View) -> list[Card]:
    """The unseen cards that are worth more than the upcard."""
    upcard = view.upcards[0]
    return [card for card in view.unseen if _worth(view, card) > _worth(view, upcard)]


def is_good(view: View) -> bool:
    """Whether at most half of the unseen cards are worth more than the upcard."""
    return 2 * len(better_cards(view)) <= len(view.unseen)


def beats(view: View, led: Card, action: int) -> bool:
    """Whether a card wins the trick."""
    card = Card(action)
    return card > led if card.suit == led.suit else card.suit == view.trump


def beaten_by(view: View, card: Card) -> int:
    """The number of higher cards of the suit that the opponent may hold."""
    return sum(other.suit == card.suit and other > card for other in _out(view))


def _out(view: View) -> list[Card]:
    return [*view.unseen, *view.known_opponent_cards]


def _worth(view: View, card: Card) -> tuple[bool, int]:
    return card.suit == view.trump, card.rank


# -- tricks that count


def _endgame(view: View) -> list[str]:
    sentences: list[str] = []
    if view.trick == view.rules.foreplay_tricks:
        hand = view.rules.hand
        sentences += [label("guide.counts", n=hand, need=hand // 2 + 1), label("guide.open")]
    if len(view.legal()) > 1:
        sentences.append(label("guide.lead" if view.led is None else "guide.answer"))
    return sentences


def _ending(view: View) -> list[str]:
    sentences: list[str] = []
    if view.trick == view.rules.foreplay_tricks:
        sentences.append(label("guide.begin_endings"))
    values = moves_of(view)
    best = max(values.values())
    if len(values) == 1:
        return [*sentences, label("guide.only", card=symbols(values))]
    n_best = sum(value == best for value in values.values())
    return [*sentences, label("guide.can_win", value=best, left=len(view.hand), n=n_best)]
