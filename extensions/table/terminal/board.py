# pyright: strict
"""The board and its pages as rich renderables, drawn from a player's `View` alone.

Both frontends, keys and lines, show the same renderables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.box import SQUARE
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from german_whist.engine.cards import CARDS, CHOICE_WORDS, N_CARDS, SUIT_SYMBOLS, TAKE_HIDDEN, Card
from german_whist.engine.describe import chapters
from german_whist.engine.rules import Rules
from german_whist.engine.view import View

from ..review.hints import card_places
from ..text import words
from ..text.labels import label, labels

_CARDS_IN_A_ROW = 13
_INDENT = 3
_NO_ACTION = -1
"""Reserves the marker's row without showing a marker, so that the cards never move."""
_RED_SUITS = (1, 2)
_RED = re.compile(r"(?:10|[2-9JQKA])?[♦♥]")
_BLACK = re.compile(r"(?:10|[2-9JQKA])?[♣♠]")


def new_console() -> Console:
    """A console on standard output without markup."""
    return Console(markup=False, highlight=False, emoji=False)


def print_sentence(console: Console, text: str, end: str = "\n") -> None:
    """Break lines between words for a window; what reads a pipe gets the whole sentence."""
    console.print(sentence(text), end=end, soft_wrap=not console.is_terminal)


def sentence(text: str, style: str = "") -> Text:
    """A sentence with its cards in bold, red suits in red."""
    line = Text(text, style)
    line.highlight_regex(_RED, "bold red")
    line.highlight_regex(_BLACK, "bold")
    return line


def in_order(cards: Iterable[Card], trump: int | None) -> list[Card]:
    """A hand sorted: trumps first, then red and black suits in turn."""
    first = 3 if trump is None else trump
    reds, blacks = [2, 1], [3, 0]
    color, other = (reds, blacks) if first in reds else (blacks, reds)
    order = [first, other[0], next(suit for suit in color if suit != first), other[1]]
    return sorted(cards, key=lambda card: (order.index(card.suit), -card.rank))


def short_word(action: int) -> str:
    """An action in its shortest input form: `10♦`, `hidden`, `keep`."""
    if action in CHOICE_WORDS:
        return label(f"cards.{CHOICE_WORDS[action]}_short")
    return CARDS[action].symbol


def choices(view: View) -> list[int]:
    """The actions of the player to move, legal or not, in display order."""
    if view.phase == "choose":
        hidden = [TAKE_HIDDEN] if TAKE_HIDDEN in view.legal() else []
        return [*map(int, view.upcards), *hidden]
    if view.phase == "exchange":
        return view.legal()
    return [int(card) for card in in_order(view.hand, view.trump)]


def board(
    view: View, names: tuple[str, str], score: str, *, chosen: int | None = None, frames: bool
) -> RenderableType:
    """The whole table; `chosen` is the action under the marker.

    Without `frames` the cards stand in plain rows, which needs half as many lines.
    """
    gap = [Text()] if frames else []
    middle = Table.grid(padding=(0, 4, 0, 0))
    middle.add_row(_stock(view, names, chosen, frames), _trick(view, names, frames), _state(view))
    playable = set(view.legal()) if view.to_move and view.phase in ("lead", "follow") else None
    hand = list(map(int, in_order(view.hand, view.trump)))
    title = Text(" " + label("terminal.title", rules=view.rules.name))
    other_side = [_player(view, names, 1), _indented(_other_cards(view))]
    center = [_indented(middle), _indented(sentence(words.last_trick(view, names)))]
    cards = _cards(hand, frames, playable, _NO_ACTION if chosen is None else chosen)
    own_side = [_player(view, names, 0), _indented(cards)]
    heading = _spread(title, score, "reverse bold")
    return Group(heading, *gap, *other_side, *gap, Group(*center, *gap, *own_side))


def _indented(part: RenderableType, by: int = _INDENT) -> Padding:
    return Padding(part, (0, 0, 0, by))


def _spread(left: Text, right: str | Text, style: str = "") -> Table:
    line = Table.grid(expand=True, padding=(0, 1, 0, 0))
    line.add_column()
    line.add_column(justify="right")
    line.add_row(left, right, style=style)
    return line


def _player(view: View, names: tuple[str, str], seat: int) -> Table:
    turn = view.phase != "over" and view.to_move == (seat == 0)
    line = Text.assemble(" ▸ " if turn else " " * _INDENT, (names[seat], "bold"))
    if view.i_deal == (seat == 0):
        line.append(label("terminal.is_dealer"), "dim")
    if seat == 1:
        line.append("   " + label("terminal.cards", n=view.opponent_hand_size), "dim")
    stock = words.stock_tricks(view)
    if stock is not None and view.stock_left:
        return _spread(line, Text(label("plates.for_stock", n=stock[seat]), "dim"))
    count = view.counting_tricks[seat]
    return _spread(line, Text(f"{count} {label('plates.trick', n=count)}"))


def _other_cards(view: View) -> Text:
    """The opponent's known cards, and a back for each other card."""
    backs = view.opponent_hand_size - len(view.known_opponent_cards)
    known = [f"{card.symbol:>3}" for card in in_order(view.known_opponent_cards, view.trump)]
    return sentence(" ".join([*known, *["░░░"] * backs]))


def _cards(
    actions: Sequence[int],
    frames: bool,
    playable: set[int] | None = None,
    chosen: int | None = None,
) -> RenderableType:
    """Cards side by side, illegal ones dimmed, with a marker below the chosen one."""
    rows: list[RenderableType] = []
    width = max([3, *(len(short_word(action)) for action in actions)])
    for start in range(0, len(actions), _CARDS_IN_A_ROW):
        row_actions = actions[start : start + _CARDS_IN_A_ROW]
        cards = [
            Text(
                f"{short_word(action):>{width}}",
                _style(action, playable is None or action in playable, action == chosen),
            )
            for action in row_actions
        ]
        if frames:
            row = Table(box=SQUARE, show_header=False, padding=0, border_style="dim")
            row.add_row(*cards)
            rows.append(row)
        else:
            rows.append(Text(" ").join(cards))
        if chosen in row_actions:
            left = (width + 1) * row_actions.index(chosen) + width // 2 + frames
            rows.append(Text(" " * left + "▲", "bold yellow"))
        elif frames and chosen is not None:
            rows.append(Text())
    return Group(*rows)


def _style(action: int, playable: bool, chosen: bool) -> str:
    red = action < N_CARDS and Card(action).suit in _RED_SUITS
    weight = "reverse bold" if chosen else "bold" if playable else "dim"
    return f"{weight} red" if red else weight


def _stock(view: View, names: tuple[str, str], chosen: int | None, frames: bool) -> RenderableType:
    """The stock and its upcards; or the card turned up for an exchange, and both choices."""
    if not view.rules.exchange:
        if not view.stock_left:
            return Text(label("terminal.no_stock"), "dim")
        heading = Text(label("terminal.stock", n=view.stock_left), "dim")
        choosing = view.phase == "choose" and view.to_move
        marked = chosen if choosing else _NO_ACTION if view.rules.choice else None
        cards = choices(view) if choosing else list(map(int, view.upcards))
        return Group(heading, _cards(cards, frames, None, marked) if cards else Text("░░░"))
    lines: list[RenderableType] = []
    if view.turned is not None:
        lines.append(sentence(label("terminal.turned", card=view.turned.symbol), "dim"))
    for name, exchanged in zip(names, view.exchanged, strict=True):
        if exchanged is not None:
            key = "terminal.took_blind" if exchanged else "terminal.kept_hand"
            lines.append(Text(label(key, name=name), "dim"))
    if view.phase == "exchange" and view.to_move:
        lines.append(_cards(choices(view), frames, None, chosen))
    return Group(*lines)


def _trick(view: View, names: tuple[str, str], frames: bool) -> RenderableType:
    tricks = list(view.tricks())
    if not tricks:
        return Text()
    trick, leader = tricks[-1], names[0 if tricks[-1].i_led else 1]
    cards = [int(card) for card in (trick.led, trick.followed) if card is not None]
    heading = Text(label("terminal.trick", n=len(tricks), name=leader), "dim")
    return Group(heading, _cards(cards, frames))


def _state(view: View) -> Group:
    trumps = sentence(words.trumps(view), "bold")
    stage = [Text(part) for part in words.stage_parts(view)]
    return Group(trumps, *stage, Text(words.goal(view), "bold" if view.low else "dim"))


# -- pages


def rules_page(rules: Rules) -> RenderableType:
    """The rules as text."""
    parts: list[RenderableType] = [Text(label("terminal.rules", rules=rules.name), "bold")]
    parts += [Text(rules.about)]
    for chapter in chapters(rules):
        parts += [Text(), Text(chapter.title, "bold")]
        parts += [_indented(Text(paragraph), 2) for paragraph in chapter.paragraphs]
    return Group(*parts)


_MARKS = {"hand": "({})", "other": "{}*", "up": "^{}", "away": "×{}", "unseen": "{}"}
"""The format of a card by its place; a played card is a dot."""


def seen_page(view: View, names: tuple[str, str]) -> RenderableType:
    """The place of every card, suit by suit, as far as the viewer can know."""
    places, deck = card_places(view), in_order(view.rules.deck, view.trump)
    parts = [sentence(label("terminal.seen", trumps=words.trumps(view)), "bold"), Text()]
    for suit in dict.fromkeys(card.suit for card in deck):
        line = sentence(SUIT_SYMBOLS[suit] + " ")
        for card in (card for card in deck if card.suit == suit):
            mark = _MARKS.get(places[card], "·").format(card.symbol[:-1])
            line.append(f"{mark:>5}", "bold" if places[card] == "unseen" else "")
        parts.append(line)
    holds = label("terminal.holds", name=names[1], n=view.opponent_hand_size)
    if view.known_opponent_cards:
        known = in_order(view.known_opponent_cards, view.trump)
        holds += label("terminal.some_known", n=len(known), cards=words.symbols(known))
    parts += [Text(), Text(label("terminal.legend", name=names[1]), "dim"), sentence(holds)]
    for suit, since in view.void_draws.items():
        if all(card.suit != suit for card in view.known_opponent_cards):
            key = "terminal.void_drew" if since else "terminal.void"
            parts.append(sentence(label(key, name=names[1], suit=SUIT_SYMBOLS[suit], n=since)))
    return Group(*parts)


def tricks_page(view: View, names: tuple[str, str]) -> RenderableType:
    """Every trick so far, as the viewer saw it."""
    heads: list[str] = labels()["terminal"]["tricks_head"]
    page = Table(*heads, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    tricks = list(view.tricks())
    for k, trick in enumerate(tricks):
        cards = words.symbols(card for card in (trick.led, trick.followed) if card is not None)
        won = drew = ""
        if trick.followed is not None:
            won = names[0 if words.won_trick(view, tricks, k) else 1]
        if trick.my_draw is not None:
            other = words.drawn_card(trick.opponent_draw)
            drew = f"{names[0]} {trick.my_draw.symbol}, {names[1]} {other}"
        leader = names[0 if trick.i_led else 1]
        page.add_row(str(k + 1), leader, sentence(cards), won, sentence(drew))
    return page


def help_page(typed: bool) -> RenderableType:
    """The commands, as words or as keys."""
    page = Table.grid(padding=(0, 3, 0, 0))
    if typed:
        page.add_row("TD, 10♦", label("terminal.how_to_type"))
    else:
        for key, about in labels()["terminal"]["keys"]:
            page.add_row(Text(key, "bold"), about)
    for word, about in labels()["terminal"]["commands"].items():
        page.add_row(Text(word if typed else word[0], "bold"), about)
    return page
