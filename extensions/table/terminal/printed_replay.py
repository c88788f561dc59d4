# pyright: strict
"""A replay in plain text: hands, tricks with their draws, and the values of decisions.

From one seat's view, cards that the seat did not see are hidden until the hands lie open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from german_whist.engine.cards import SUIT_SYMBOLS, SUITS, card

from ..review.analysis import WIN, Analysis, DecisionValues
from ..review.replay import BoardState, Draw, Replay, Step
from ..text.labels import begin, label
from ..text.words import action_symbol, percent, suit_name

_BARS = "▁▂▃▄▅▆▇█"
_SUIT_ORDER = "SHCD"


def replay_lines(
    replay: Replay, analysis: Analysis | None = None, seat: int | None = None
) -> Iterator[str]:
    """The lines of a hand from a seat's view; None: with both hands open."""
    names, steps = replay.players, replay.steps
    yield from _heading(replay, steps[0].before, seat)
    decisions = {decision.n: decision for decision in analysis.decisions} if analysis else {}

    def values(step: Step) -> Iterator[str]:
        if step.n in decisions and seat in (None, step.who):
            yield f"       {_value_line(decisions[step.n], names)}"

    n_exchanges = sum(step.kind == "exchanged" for step in steps)
    for step in steps[:n_exchanges]:
        yield f"  {begin(step.text)}"
        yield from values(step)
    has_stock = not n_exchanges
    if n_exchanges:
        yield ""
        yield from _hands(steps[n_exchanges].before, names, seat)
    for trick in _tricks(steps[n_exchanges:]):
        before = trick[0].before
        if has_stock and not before.stock_left:
            has_stock = False
            yield from ("", label("printed.stock_gone", name=names[before.turn or 0]), "")
            yield from _hands(before, names, seat)
        yield _trick_line(trick, before, names, seat)
        for step in trick:
            yield from values(step)
    yield from ("", replay.result.text)
    if analysis:
        yield from _mistakes(analysis, seat)
        if seat != 1:  # the story is computed from seat 0's views
            yield from _story(analysis, names)


# -- the table


def _heading(replay: Replay, before: BoardState, seat: int | None) -> Iterator[str]:
    first, second = names = replay.players
    deals = label("event.deal", name=names[replay.dealer])
    yield label("printed.heading", rules=replay.rules, first=first, second=second, deals=deals)
    match = replay.match
    if match is not None:
        kind = label(f"match.{match.kind}", n=match.n)
        own, other = match.points if match.kind == "points" else match.hands_won
        yield label("printed.match", hand=match.hand, match=kind, own=own, other=other)
    trumps = label("printed.no_trumps")
    if before.trump is not None:
        suit = SUITS.index(before.trump)
        trumps = label("printed.trumps", suit=suit_name(suit), symbol=SUIT_SYMBOLS[suit])
    if before.turned is not None:
        trumps += label("printed.turned", card=_symbol(before.turned))
    yield trumps + (label("printed.low") if before.low else "")
    yield ""
    yield from _hands(before, names, seat)


def _hands(before: BoardState, names: Sequence[str], seat: int | None) -> Iterator[str]:
    width = max(map(len, names))
    for who, name in enumerate(names):
        hidden_hand = seat not in (None, who) and not before.open
        cards = before.known[who] if hidden_hand else before.hands[who]
        hidden = len(before.hands[who]) - len(cards)
        backs = label("printed.and_unseen" if hidden and cards else "printed.unseen", n=hidden)
        yield f"  {name:<{width}}  {_by_suit(cards)}{backs if hidden else ''}"
    yield ""


def _by_suit(texts: Sequence[str]) -> str:
    ordered = sorted(texts, key=lambda text: (_SUIT_ORDER.index(text[1]), -int(card(text))))
    suits = [[text for text in ordered if text[1] == suit] for suit in _SUIT_ORDER]
    return "  ".join(" ".join(map(_symbol, suit)) for suit in suits if suit)


def _symbol(text: str) -> str:
    return card(text).symbol


def _tricks(steps: Sequence[Step]) -> Iterator[list[Step]]:
    trick: list[Step] = []
    for step in steps:
        if step.kind == "led" and trick:
            yield trick
            trick = []
        trick.append(step)
    yield trick


def _trick_line(
    trick: Sequence[Step], before: BoardState, names: Sequence[str], seat: int | None
) -> str:
    width = max(map(len, names)) + 4
    upcards = " ".join(map(_symbol, before.upcards))
    upcards_width = 8 if len(before.upcards) > 1 else 4
    led, followed = (f"{names[step.who]} {_symbol(step.card)}" for step in trick[:2])
    line = f"{trick[0].trick:>4}  {upcards:<{upcards_width}} {led:<{width}}  {followed:<{width}}"
    line += label("printed.to", name=names[trick[1].won or 0])
    draws = [f"{names[draw.who]} {_draw_text(draw, seat)}" for step in trick for draw in step.drew]
    return line + (label("printed.drew", cards=", ".join(draws)) if draws else "")


def _draw_text(draw: Draw, seat: int | None) -> str:
    if draw.open:
        return _symbol(draw.card)
    if seat in (None, draw.who):
        return label("printed.card_unseen", card=_symbol(draw.card))
    return label("printed.a_card_unseen")


# -- analysis


def _amount(value: float, unit: str) -> str:
    return percent(value) if unit == WIN else f"{value:+.2f}".replace("-", "−")


def _value_line(decision: DecisionValues, names: Sequence[str]) -> str:
    unit = decision.unit
    played = next(card for card in decision.cards if card.action == decision.action)
    line = f"{names[decision.who]} {action_symbol(decision.action)}:"
    if played.value is None:
        return label("printed.no_choice", card=line)
    amount = _amount(played.value, unit)
    line += f" {amount if decision.exact else label('printed.probably', value=amount)}"
    if played.tricks is not None:
        line += label("printed.tricks_left", n=played.tricks)
    if played.margin_of_error is not None:
        line += f" ±{played.margin_of_error:.{0 if unit == WIN else 2}f}"
    if played.probability is not None:
        line += label("printed.network", probability=percent(100 * played.probability))
    if decision.cost > 0:
        best = next(card for card in decision.cards if card.action == decision.best[0])
        line += f"; {action_symbol(best.action)} {_amount(best.value or 0.0, unit)}"
        line += "" if decision.sure else label("printed.noise")
    return line


def _mistakes(analysis: Analysis, seat: int | None) -> Iterator[str]:
    mistakes = [mistake for mistake in analysis.mistakes if seat in (None, mistake.who)]
    yield ""
    yield label("printed.mistakes" if mistakes else "printed.no_mistake")
    yield from (f"  {mistake.text}" for mistake in mistakes)


def _story(analysis: Analysis, names: Sequence[str]) -> Iterator[str]:
    """A sparkline of the first player's expected value, trick by trick."""
    values = [point.expected for point in analysis.story]
    low, high = (0.0, 100.0) if analysis.unit == WIN else (min(values), max(values))
    span = high - low or 1.0
    bars = "".join(_BARS[round((value - low) / span * (len(_BARS) - 1))] for value in values)
    yield ""
    first, last = (_amount(values[k], analysis.unit) for k in (0, -1))
    yield label("printed.expected", name=names[0], first=first, bars=bars, last=last)
    yield label("printed.valued", search=analysis.search)
