# pyright: strict
"""A replay in plain text: the hands, each trick with what was drawn, and what decisions were worth.

Told from one seat, it leaves out what that seat did not see until the other's cards are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...engine.cards import SUIT_SYMBOLS, SUITS, card
from ...engine.rules import Match
from ..review.analysis import WIN, Analysis, DecisionValues
from ..review.replay import BoardState, Draw, Replay, Step
from ..text.labels import capital, say
from ..text.words import action_symbol, match_words, percent, suit_name

_BARS = "▁▂▃▄▅▆▇█"
_SUIT_ORDER = "SHCD"


def replay_lines(
    replay: Replay, analysis: Analysis | None = None, seat: int | None = None
) -> Iterator[str]:
    """The lines of a hand; `seat` is whose view it is, None for both hands open."""
    names = replay.players
    steps = replay.steps
    yield from _heading(replay, steps[0].before, seat)
    values = {each.n: each for each in analysis.decisions} if analysis else {}
    stock = True
    exchange = [step for step in steps if step.kind == "exchanged"]
    for step in exchange:
        yield f"  {capital(step.text)}"
        if step.n in values and seat in (None, step.who):
            yield f"       {_value(values[step.n], names)}"
    if exchange:
        stock = False
        yield ""
        yield from _hands(steps[len(exchange)].before, names, seat)
    for trick in _tricks(steps[len(exchange) :]):
        before = trick[0].before
        if stock and not before.stock_left:
            stock = False
            yield from ("", say("printed.stock_gone", name=names[before.turn or 0]), "")
            yield from _hands(before, names, seat)
        yield _trick(trick, before, names, seat)
        for step in trick:
            if step.n in values and seat in (None, step.who):
                yield f"       {_value(values[step.n], names)}"
    yield from ("", replay.result.text)
    if analysis:
        yield from _mistakes(analysis, seat)
        if seat != 1:  # it is told by what the first player knew
            yield from _story(analysis, names)


# -- what lies on the table


def _heading(replay: Replay, before: BoardState, seat: int | None) -> Iterator[str]:
    names = replay.players
    first, second = names
    told = {"first": first, "second": second, "dealer": names[replay.dealer]}
    yield say("printed.heading", rules=replay.rules, **told)
    match = replay.match
    if match is not None:
        points = match.kind == "points"
        kind = match_words(Match(target=match.n) if points else Match(best_of=match.n))
        mine, others = match.points if points else match.hands_won
        yield say("printed.match", hand=match.hand, match=kind, mine=mine, others=others)
    trump = before.trump
    trumps = say("printed.no_trumps")
    if trump is not None:
        suit = SUITS.index(trump)
        trumps = say("printed.trumps", suit=suit_name(suit), symbol=SUIT_SYMBOLS[suit])
    if before.turned is not None:
        trumps += say("printed.turned", card=_symbol(before.turned))
    yield trumps + (say("printed.low") if before.low else "")
    yield ""
    yield from _hands(before, names, seat)


def _hands(before: BoardState, names: Sequence[str], seat: int | None) -> Iterator[str]:
    width = max(map(len, names))
    for who, name in enumerate(names):
        shown = before.hands[who]
        if seat not in (None, who) and not before.open:
            shown = before.known[who]
        hidden = len(before.hands[who]) - len(shown)
        backs = say("printed.and_unseen" if hidden and shown else "printed.unseen", n=hidden)
        yield f"  {name:<{width}}  {_by_suit(shown)}{backs if hidden else ''}"
    yield ""


def _by_suit(texts: Sequence[str]) -> str:
    ordered = sorted(texts, key=lambda text: (_SUIT_ORDER.index(text[1]), -int(card(text))))
    suits = [[text for text in ordered if text[1] == suit] for suit in _SUIT_ORDER]
    return "  ".join(" ".join(map(_symbol, suit)) for suit in suits if suit)


def _symbol(text: str) -> str:
    return card(text).symbol


# -- tricks


def _tricks(steps: Sequence[Step]) -> Iterator[list[Step]]:
    trick: list[Step] = []
    for step in steps:
        if step.kind == "led" and trick:
            yield trick
            trick = []
        trick.append(step)
    yield trick


def _trick(
    trick: Sequence[Step], before: BoardState, names: Sequence[str], seat: int | None
) -> str:
    """One line: the upcards, both cards, who won, and what both drew."""
    width = max(map(len, names)) + 4
    up = " ".join(map(_symbol, before.upcards))
    wide = 8 if len(before.upcards) > 1 else 4
    led, followed = (f"{names[step.who]} {_symbol(step.card)}" for step in trick[:2])
    told = f"{trick[0].trick:>4}  {up:<{wide}} {led:<{width}}  {followed:<{width}}"
    told += say("printed.to", name=names[trick[1].won or 0])
    drew = [f"{names[draw.who]} {_drawn(draw, seat)}" for step in trick for draw in step.drew]
    return told + (say("printed.drew", cards=", ".join(drew)) if drew else "")


def _drawn(draw: Draw, seat: int | None) -> str:
    if draw.open:
        return _symbol(draw.card)
    if seat in (None, draw.who):
        return say("printed.card_unseen", card=_symbol(draw.card))
    return say("printed.a_card_unseen")


# -- analysis


def _amount(value: float, unit: str) -> str:
    return percent(value) if unit == WIN else f"{value:+.2f}"


def _value(decision: DecisionValues, names: Sequence[str]) -> str:
    """What the action played was worth, and what a better one had been."""
    unit = decision.unit
    chosen = next(each for each in decision.cards if each.action == decision.action)
    told = f"{names[decision.who]} {action_symbol(decision.action)}:"
    if chosen.value is None:
        return say("printed.no_choice", card=told)
    told += f" {_amount(chosen.value, unit)}"
    if chosen.tricks is not None:
        told += say("printed.tricks_left", n=chosen.tricks)
    if chosen.half_width is not None:
        told += f" ±{chosen.half_width:.{0 if unit == WIN else 2}f}"
    if chosen.probability is not None:
        told += say("printed.network", share=percent(100 * chosen.probability))
    if decision.cost > 0:
        best = next(each for each in decision.cards if each.cost == 0)
        told += f"; {action_symbol(best.action)} {_amount(best.value or 0.0, unit)}"
        told += "" if decision.sure else say("printed.noise")
    return told


def _mistakes(analysis: Analysis, seat: int | None) -> Iterator[str]:
    found = [each for each in analysis.mistakes if seat in (None, each.who)]
    yield ""
    yield say("printed.mistakes" if found else "printed.no_mistake")
    yield from (f"  {each.text}" for each in found)


def _story(analysis: Analysis, names: Sequence[str]) -> Iterator[str]:
    points = [each.expected for each in analysis.story]
    low, high = (0.0, 100.0) if analysis.unit == WIN else (min(points), max(points))
    span = high - low or 1.0
    bars = "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in points)
    yield ""
    first, last = (_amount(points[at], analysis.unit) for at in (0, -1))
    yield say("printed.expected", name=names[0], first=first, bars=bars, last=last)
    yield say("printed.valued", search=analysis.search)
