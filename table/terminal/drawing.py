# pyright: strict
"""The table drawn in a terminal: from a player's view to a page of styled lines.

Drawn from a `View`, it shows what that seat may know and nothing else; an open hand is
handed in. Sixty columns and twenty lines are enough; what is more becomes air.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...engine.cards import CHOICE_WORDS, SUIT_SYMBOLS, TAKE_HIDDEN, Card
from ...engine.view import View
from .. import words
from ..labels import labels, say
from .styled_text import Ink, Line, card_piece, card_style, put, sentence, spread, tidy

LEAST_COLUMNS, LEAST_ROWS = 60, 20
MOST_COLUMNS = 78
_CELL = 4
_FACES = 4  # rows of a hand, the raised card's included


@dataclass(frozen=True)
class Table:
    """What is to be drawn."""

    view: View
    names: tuple[str, str]
    """This seat's player, and the other."""
    score: str = ""
    """The match so far, in a few words."""
    hand: Sequence[Card] = ()
    """The hand in the order in which it lies."""
    chosen: int | None = None
    """The action under the marker."""
    other_hand: Sequence[Card] = ()
    """Cards of the other that are to lie open."""
    messages: Sequence[Line] = ()
    keys: Line = field(default_factory=Line)


def in_order(cards: Sequence[Card], trump: int | None, classic: bool = False) -> list[Card]:
    """A hand as it lies: trumps first and colours in turn, or by the classic order of suits."""
    if classic:
        order = [3, 2, 1, 0]
    else:
        first = 3 if trump is None else trump
        # Hearts and spades before diamonds and clubs, the other colour after the first suit.
        reds, blacks = [2, 1], [3, 0]
        same, other = (reds, blacks) if first in reds else (blacks, reds)
        order = [first, other[0], next(suit for suit in same if suit != first), other[1]]
    return sorted(cards, key=lambda card: (order.index(card.suit), -card.rank))


def page(table: Table, ink: Ink, columns: int, rows: int) -> list[Line]:
    """The whole table as lines for a screen of this size."""
    if columns < LEAST_COLUMNS or rows < LEAST_ROWS:
        size = {"columns": columns, "rows": rows}
        least = {"most_columns": LEAST_COLUMNS, "most_rows": LEAST_ROWS}
        told: list[str] = labels()["terminal"]["too_small"]
        return [[(text.format(**size, **least), "")] for text in told]
    width = min(columns, MOST_COLUMNS)
    blocks = [
        _other(table, ink, width),
        _middle(table, ink, width),
        _mine(table, ink, width),
        _words(table, width),
    ]
    # Spare rows go between the blocks, the first of them where they part most.
    spare = rows - sum(map(len, blocks)) - 3
    gaps = [(spare > 0) + (spare > 6), (spare > 1) + (spare > 5), (spare > 2) + (spare > 4)]
    lines: list[Line] = [_title(table, width), []]
    for place, block in enumerate(blocks):
        lines += block
        if place < len(gaps):
            lines += [[] for _ in range(gaps[place])]
    left = (columns - width) // 2
    if left:
        lines = [[(" " * left, ""), *line] for line in lines]
    lines += [[]] * (spare > 3)
    return [*lines[: rows - 1], [(" " * left, ""), *table.keys]]


def _title(table: Table, width: int) -> Line:
    rules = table.view.rules
    line: Line = [(" " + say("terminal.title", rules=rules.name), "title")]
    return spread(line, [(f"{table.score} ", "title")], width, "title")


# -- the two players


def _name(table: Table, at: int) -> Line:
    view = table.view
    turn = view.phase != "over" and view.to_move == (at == 0)
    line: Line = [(" ▸ " if turn else "   ", "gold"), (table.names[at], "gold" if turn else "bold")]
    if view.i_deal == (at == 0):
        line.append((say("terminal.is_dealer"), "faint"))
    return line


def _tricks(view: View, at: int) -> Line:
    stock = words.stock_tricks(view)
    if stock is not None and view.stock_left:
        return [(f"{say('plates.for_stock', n=stock[at])} ", "faint")]
    count = view.counting_tricks[at]
    return [(f"{count}", "bold"), (f" {say('plates.trick', n=count)} ", "")]


def _other(table: Table, ink: Ink, width: int) -> list[Line]:
    view = table.view
    open_cards = list(table.other_hand)
    backs = view.other_cards - len(open_cards)
    name = _name(table, 1)
    name.append(("   " + say("terminal.cards", n=view.other_cards), "faint"))
    return [spread(name, _tricks(view, 1), width), *_flat(open_cards, backs, ink, width)]


def _flat(cards: Sequence[Card], backs: int, ink: Ink, width: int) -> list[Line]:
    """Cards in a single line each: what lies open, then backs; always one or two rows."""
    pieces: Line = [(f"{card.symbol:>3}", card_style(card)) for card in cards]
    pieces += [("░░░", "back")] * backs
    fits = (width - 3) // _CELL
    found: list[Line] = []
    for start in range(0, len(pieces), fits):
        line: Line = [("   ", "")]
        for piece in pieces[start : start + fits]:
            line += [piece, (" ", "")]
        found.append(line)
    return found or [[]]


def _mine(table: Table, ink: Ink, width: int) -> list[Line]:
    view = table.view
    name = spread(_name(table, 0), _tricks(view, 0), width)
    if len(table.hand) * _CELL + 4 > width:
        return [name, *_flat_hand(table, ink, width)]
    return [name, *_faces(table.hand, table, ink)]


def _dimmed(table: Table) -> set[int]:
    """The cards of the hand that can not be played now."""
    view = table.view
    if not view.to_move or view.phase in ("choose", "exchange"):
        return set()
    return set(map(int, view.hand)) - set(view.legal())


def _faces(cards: Sequence[Card], table: Table, ink: Ink) -> list[Line]:
    dimmed = _dimmed(table)
    rows: list[Line] = [[("   ", "")] for _ in range(_FACES)]
    if not cards:
        return rows
    for place, card in enumerate(cards):
        chosen, dim = card == table.chosen, card in dimmed
        if ink.colour:
            _coloured(rows, card, chosen, dim)
        else:
            _boxed(rows, card, place == 0, chosen, dim)
    if not ink.colour:
        for row, end in zip(rows, "┐││┘", strict=True):
            row.append((end, "faint"))
    return rows


def _face(card: Card) -> tuple[str, str]:
    return f"{card.symbol[:-1]:<3}", f" {card.symbol[-1]} "


def _coloured(rows: list[Line], card: Card, chosen: bool, dim: bool) -> None:
    """A face of three rows; the chosen card is raised by one."""
    style = card_style(card, "chosen " if chosen else "dim " if dim else "")
    rank, suit = _face(card)
    face: Line = [(rank, style), (suit, style), ("   ", style)]
    nothing = ("   ", "")
    for row, piece in zip(rows, [*face, nothing] if chosen else [nothing, *face], strict=True):
        row += [piece, (" ", "")]


def _boxed(rows: list[Line], card: Card, first: bool, chosen: bool, dim: bool) -> None:
    style = card_style(card, "chosen " if chosen else "")
    if dim and not chosen:
        style = "faint"
    rank, suit = _face(card)
    rows[0] += [("┌───" if first else "┬───", "faint")]
    rows[1] += [("│", "faint"), (rank, style)]
    rows[2] += [("│", "faint"), (suit, style)]
    edge = "└" if first else "┴"
    rows[3] += [(edge + "─", "faint"), ("▲" if chosen else "─", "gold" if chosen else "faint")]
    rows[3] += [("─", "faint")]


def _flat_hand(table: Table, ink: Ink, width: int) -> list[Line]:
    """A hand that is too long for faces, in rows of single lines."""
    dimmed = _dimmed(table)
    fits = (width - 4) // (_CELL + 1)
    rows: list[Line] = []
    for start in range(0, len(table.hand), fits):
        line: Line = [("   ", "")]
        for card in table.hand[start : start + fits]:
            prefix = "chosen " if card == table.chosen else "dim " if card in dimmed else ""
            mark = "▸" if card == table.chosen else " "
            line += [(mark, "gold"), (f"{card.symbol:>3}", card_style(card, prefix)), (" ", "")]
        rows.append(line)
    return (rows + [[] for _ in range(_FACES)])[: max(_FACES, len(rows))]


# -- the middle


def _middle(table: Table, ink: Ink, width: int) -> list[Line]:
    """Stock, trick and trumps side by side, with a heading each, and the last trick in words."""
    view = table.view
    rows: list[Line] = [[] for _ in range(4)]
    _stock(rows, table, ink)
    at = max(42, width - 22)
    first = 18 if width < 70 else 21
    _trick(rows, table, ink, first, min(18, (at - first) // 2))
    _state(rows, view, at)
    return [*rows, [("   ", ""), *sentence(words.last_trick(view, table.names))]]


def _single(rows: list[Line], column: int, card: Card | None, ink: Ink, chosen: bool) -> None:
    """One card, or a back, in the three rows under the heading."""
    prefix = "chosen " if chosen else ""
    if card is None:
        style, parts = ("title" if chosen else "back"), ("░░░", "░?░" if chosen else "░░░", "░░░")
    else:
        style = card_style(card, prefix)
        parts = (*_face(card), "   ")
    end = " " if ink.colour else "│"
    for row, part in enumerate(parts, 1):
        edge = "▸" if chosen and row == 2 else end
        put(rows, column, row=row, pieces=[(edge, "gold"), (part, style), (end, "gold")])


def _stock(rows: list[Line], table: Table, ink: Ink) -> None:
    view = table.view
    left = view.stock_left
    if view.rules.exchange:
        _exchange(rows, table)
        return
    if not left:
        put(rows, 3, row=0, pieces=[(say("terminal.no_stock"), "faint")])
        return
    put(rows, 3, row=0, pieces=[(say("terminal.stock"), "faint"), (f"{left}", "bold")])
    choosing = view.to_move and view.phase == "choose"
    column = 2
    for card in view.upcards:
        _single(rows, column, card, ink, choosing and card == table.chosen)
        column += 5
    if left > len(view.upcards):
        _single(rows, column, None, ink, choosing and table.chosen == TAKE_HIDDEN)


def _exchange(rows: list[Line], table: Table) -> None:
    """The card turned up, and what may be done or was done with the hands dealt."""
    view = table.view
    if view.turned is not None:
        turned: Line = [(say("terminal.turned_short"), "faint"), card_piece(view.turned)]
        put(rows, 3, row=0, pieces=turned)
    asked = view.legal() if view.phase == "exchange" and view.to_move else []
    for row, action in enumerate(asked, 1):
        chosen = action == table.chosen
        word = say(f"cards.{CHOICE_WORDS[action]}_short")
        pieces: Line = [("▸ " if chosen else "  ", "gold"), (word, "bold" if chosen else "")]
        put(rows, 2, row=row, pieces=pieces)
    done = [each for each in zip(table.names, view.exchanged, strict=True) if each[1] is not None]
    for row, (name, took) in enumerate(done, 1 + len(asked)):
        told = say("terminal.took_blind" if took else "terminal.kept_hand", name=tidy(name, 9))
        put(rows, 3, row=row, pieces=[(told, "faint")])


def _trick(rows: list[Line], table: Table, ink: Ink, column: int, step: int) -> None:
    """The cards of the trick, from a column on and `step` columns apart."""
    view = table.view
    tricks = list(view.tricks())
    if not tricks:
        if view.phase != "exchange":
            put(rows, column, row=0, pieces=[(say("terminal.trick", n=1), "faint")])
        return
    trick = tricks[-1]
    going = trick.followed is None
    leader, follower = table.names if trick.i_led else table.names[::-1]
    going_on = going or view.phase == "choose"
    heading = say("terminal.trick", n=len(tricks)) if going_on else say("plates.last_trick")
    put(rows, column, row=0, pieces=[(heading, "faint")])
    played = say("terminal.led"), say("terminal.played")
    for at, (card, who) in enumerate(((trick.led, leader), (trick.followed, follower))):
        if card is None:
            continue
        _single(rows, column - 1 + step * at, card, ink, False)
        put(rows, column + 4 + step * at, row=1, pieces=[(tidy(who, step - 4), "")])
        put(rows, column + 4 + step * at, row=2, pieces=[(played[at], "faint")])
        if not going and words.won_by_me(view, tricks, len(tricks) - 1) == (who == table.names[0]):
            put(rows, column + 4 + step * at, row=3, pieces=[(say("terminal.won"), "gold")])


def _state(rows: list[Line], view: View, column: int) -> None:
    if view.trump is None:
        put(rows, column, row=0, pieces=[(say("plates.no_trumps"), "bold")])
    else:
        red = "red suit" if view.trump in (1, 2) else "bold"
        symbol, name = SUIT_SYMBOLS[view.trump], words.suit_name(view.trump)
        put(
            rows,
            column,
            row=0,
            pieces=[(say("plates.trumps") + " ", "faint"), (f"{symbol} {name}", red)],
        )
    for row, part in enumerate(words.stage_parts(view)[:2], 1):
        put(rows, column, row=row, pieces=[(part, "" if row == 1 else "faint")])
    put(rows, column, row=3, pieces=[(words.goal(view), "gold" if view.low else "faint")])


# -- words


def _words(table: Table, width: int) -> list[Line]:
    lines: list[Line] = [[("   ", ""), *line] for line in table.messages]
    return lines + [[]] * (3 - len(lines))
