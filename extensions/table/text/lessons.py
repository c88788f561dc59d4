# pyright: strict
"""What the lessons say before each card; it follows from what the person may know."""

from __future__ import annotations

from german_whist.engine.cards import Card
from german_whist.engine.endgame import moves_of, value_of
from german_whist.engine.game import Game
from german_whist.engine.view import View

from .labels import label
from .words import action_symbol, suit_name, symbols

_FIRST, _LOSING, _TRUMPS, _VOIDS, _ENDINGS = range(1, 6)


def guide(view: View, names: tuple[str, str], lesson: int, game: Game) -> list[str]:
    """A lesson's sentences for the present position; `game` ends in it."""
    topics = {_TRUMPS: _trumps, _VOIDS: _voids}
    if lesson == _ENDINGS:
        return _ending(view, game)
    if view.phase == "over":
        return [label("guide.over")]
    if not view.to_move:
        return [label("guide.wait")]
    sentences: list[str] = []
    if view.trick == 0 and lesson != _FIRST:
        sentences.append(label(f"guide.begin_{lesson}", n=view.rules.ranks))
    if lesson in topics:
        sentences += topics[lesson](view, names[1])
    elif view.endgame:
        sentences += _endgame(view)
    else:
        sentences += _foreplay(view, names, lesson)
    if len(view.legal()) == 1:
        sentences.append(label("guide.only", card=action_symbol(view.legal()[0])))
    return sentences


def _foreplay(view: View, names: tuple[str, str], lesson: int) -> list[str]:
    sentences: list[str] = []
    if lesson == _FIRST and view.trick == 0:
        suit = "" if view.trump is None else suit_name(view.trump)
        sentences.append(label("guide.upcard", n=view.rules.hand, suit=suit))
        sentences.append(label("guide.stock", n=view.rules.foreplay_tricks))
    if lesson == _FIRST and view.led is not None:
        suit = suit_name(view.led.suit)
        sentences.append(label("guide.follow", name=names[1], card=view.led.symbol, suit=suit))
    (upcard, *_) = view.upcards
    if lesson == _LOSING:
        better = [card for card in view.unseen if _worth(view, card) > _worth(view, upcard)]
        n = len(view.unseen)
        text = label("guide.better", all=n, n=len(better), card=upcard.symbol)
        return [*sentences, text, *_advice(view, 2 * len(better) <= n, "")]
    low, high = view.rules.deck[0].rank, view.rules.deck[-1].rank
    is_trump = upcard.suit == view.trump
    return [*sentences, *_advice(view, is_trump or upcard.rank * 2 > low + high, upcard.symbol)]


def _advice(view: View, win: bool, upcard: str) -> list[str]:
    """How to win the trick, or to lose it; none where there is no choice."""
    led, legal = view.led, view.legal()
    if len(legal) == 1:
        return []
    if led is not None and not any(_beats(view, led, card) for card in legal):
        return [label("guide.can_not_beat", card=led.symbol)]
    if led is not None and all(_beats(view, led, card) for card in legal):
        return [label("guide.wins_anyway")]
    if not upcard:
        return [label("guide.so_win" if win else "guide.so_lose")]
    is_trump = view.upcards[0].suit == view.trump
    return [
        label("guide.win_trump" if is_trump else "guide.win" if win else "guide.lose", card=upcard)
    ]


def _beats(view: View, led: Card, action: int) -> bool:
    card = Card(action)
    return card > led if card.suit == led.suit else card.suit == view.trump


def _worth(view: View, card: Card) -> tuple[bool, int]:
    return card.suit == view.trump, card.rank


def _endgame(view: View) -> list[str]:
    sentences: list[str] = []
    if view.trick == view.rules.foreplay_tricks:
        hand = view.rules.hand
        sentences += [label("guide.counts", n=hand, need=hand // 2 + 1), label("guide.open")]
    if len(view.legal()) > 1:
        sentences.append(label("guide.lead" if view.led is None else "guide.answer"))
    return sentences


def _trumps(view: View, name: str) -> list[str]:
    def count(cards: list[Card]) -> int:
        return sum(card.suit == view.trump for card in cards)

    own, known = count(view.hand), count(view.known_opponent_cards)
    unseen = 0 if view.open else count(view.unseen)
    gone = view.rules.ranks - own - known - unseen
    counted = {"n": view.rules.ranks, "own": own, "known": known, "gone": gone, "unseen": unseen}
    sentences = [label("guide.trumps", name=name, **counted)]
    if view.open and view.led is None and len(view.legal()) > 1:
        idea = "none" if not known else "more" if own > known else "fewer"
        sentences.append(label(f"guide.trumps_{idea}", name=name))
    return sentences


def _voids(view: View, name: str) -> list[str]:
    if view.open:
        held = {card.suit for card in view.known_opponent_cards}
        voids = dict.fromkeys([suit for suit in range(view.rules.suits) if suit not in held], 0)
    else:
        voids = view.void_draws
    sentences = [
        label("guide.void" if draws else "guide.void_now", name=name, suit=suit_name(suit), n=draws)
        for suit, draws in voids.items()
    ]
    if not voids:
        sentences.append(label("guide.no_void", name=name))
    led, trumps = view.led, [card for card in view.hand if card.suit == view.trump]
    if (
        led is not None
        and trumps
        and led.suit not in {trumps[0].suit, *(c.suit for c in view.hand)}
    ):
        sentences.append(label("guide.own_void", suit=suit_name(led.suit)))
    elif led is None and voids and view.open:
        sentences.append(label("guide.lead_void"))
    return sentences


def _ending(view: View, game: Game) -> list[str]:
    """How many tricks are left to win, and what the last card cost."""
    sentences: list[str] = []
    before = game.clone()
    while len(before.actions) > 2 * view.rules.foreplay_tricks:
        before.undo()
        earlier = before.view(view.seat)
        if earlier.to_move:
            sentences += _judged(view, earlier)
            break
    else:
        sentences.append(label("guide.begin_5"))
    if view.phase == "over":
        return [*sentences, label("guide.over")]
    if not view.to_move:
        return [label("guide.wait")]
    values = moves_of(view)
    best = max(values.values())
    if len(values) == 1:
        return [*sentences, label("guide.only", card=symbols(values))]
    n_best = sum(value == best for value in values.values())
    return [*sentences, label("guide.can_win", value=best, left=len(view.hand), n=n_best)]


def _judged(view: View, earlier: View) -> list[str]:
    values = moves_of(earlier)
    best = max(values.values())
    won = view.counting_tricks[0] - earlier.counting_tricks[0]
    left = 0 if view.phase == "over" else value_of(view) if view.to_move else None
    if len(values) == 1 or left is None:
        return []
    cost = best - won - left
    if cost <= 0:
        return [label("guide.right")]
    cards = symbols([card for card, value in values.items() if value == best])
    return [label("guide.cost", n=cost, cards=cards)]
