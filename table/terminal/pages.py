# pyright: strict
"""Pages of the terminal beside the table itself: keys, rules, what was seen, scores, the trophy."""

from __future__ import annotations

from collections.abc import Iterable

from ...engine.cards import SUIT_SYMBOLS, Card
from ...engine.describe import chapters
from ...engine.rules import Rules
from ...engine.view import View
from ..hints import places_of
from ..labels import labels, say
from ..session import Session
from ..statistics import Statistics
from ..words import headline, match_words, result, trumps, won_by_me
from .drawing import in_order
from .keeping import short_names
from .scrolling import Page
from .styled_text import Line, Piece, card_piece, line_width, tidy, wrapped

# -- keys and rules


def keys_page(columns: int) -> Page:
    """Which key does what."""
    lines: list[Line] = []
    for key, about in labels()["terminal"]["keys"]:
        told = wrapped(about, columns - 18)
        lines.append([(f"{key:<15}", "key"), *told[0]])
        lines += [[(" " * 15, ""), *line] for line in told[1:]]
    return Page(say("site.keys"), lines)


def rules_page(rules: Rules, columns: int) -> Page:
    """The rules in words."""
    width = min(columns - 3, 88)
    lines = wrapped(rules.about, width)
    for chapter in chapters(rules):
        lines += [[], [(chapter.title, "bold")]]
        for paragraph in chapter.paragraphs:
            lines += wrapped(paragraph, width, indent=2)
    return Page(say("terminal.rules", rules=rules.name), lines)


# -- the hand so far

_MARKS = {
    "hand": ("({})", "faint"),
    "other": ("{}*", "gold"),
    "up": ("^{}", "good"),
    "away": ("×{}", "faint"),
    "unseen": ("{}", "bold"),
    "trick": ("·", "faint"),
    "played": ("·", "faint"),
}
"""How a card is shown, by its place."""


def seen_page(view: View, names: tuple[str, str], columns: int) -> Page:
    """Where every card is, suit by suit, as far as this seat can know."""
    places, deck = places_of(view), in_order(view.rules.deck, view.trump)
    lines: list[Line] = []
    for suit in dict.fromkeys(card.suit for card in deck):
        red = "red suit" if suit in (1, 2) else "bold"
        line: Line = [(f"{SUIT_SYMBOLS[suit]} ", red)]
        for card in (each for each in deck if each.suit == suit):
            mark, style = _MARKS[places[card]]
            line.append((f"{mark.format(card.symbol[:-1]):>4}", style))
        lines += [line, []]
    legend = (
        ("  10 ", "bold", say("terminal.not_seen")),
        (" (10) ", "faint", say("terminal.in_hand")),
        (" 10* ", "gold", say("terminal.has_it", name=names[1][:12])),
        (" ^10 ", "good", say("terminal.upcard")),
        ("  · ", "faint", say("terminal.played")),
        (" ×10 ", "faint", say("terminal.out_of_play")),
    )
    for part in (legend[:2], legend[2:5], legend[5:] if view.laid_away else ()):
        lines.append(
            [piece for mark, style, about in part for piece in ((mark, style), (about, ""))]
        )
    lines.append([])
    lines += _counts(view, names, columns)
    return Page(say("terminal.seen", trumps=trumps(view)), lines)


def _counts(view: View, names: tuple[str, str], columns: int) -> list[Line]:
    known = in_order(view.theirs, view.trump)
    other = names[1]
    lines: list[Line] = [[(say("terminal.holds", name=other, n=view.other_cards), "")]]
    if known:
        lines[0].append((say("terminal.some_known", n=len(known)), ""))
        lines += cards_in_lines(known, columns - 4)
    for suit, since in view.void_draws.items():
        if not any(card.suit == suit for card in known):
            key = "terminal.void_drew" if since else "terminal.void"
            lines.append([(say(key, name=other, suit=SUIT_SYMBOLS[suit], n=since), "")])
    return lines


def cards_in_lines(cards: Iterable[Card], columns: int) -> list[Line]:
    """Cards in as many lines as they need."""
    lines: list[Line] = [[]]
    for card in cards:
        if line_width(lines[-1]) + 4 > columns:
            lines.append([])
        lines[-1] += [(" ", ""), card_piece(card)]
    return lines


def tricks_page(view: View, names: tuple[str, str]) -> Page:
    """Every trick so far, as this seat saw it."""
    tricks = list(view.tricks())
    lines: list[Line] = [[(say("terminal.tricks_head"), "faint")]]
    for place, trick in enumerate(tricks):
        leader = names[0] if trick.i_led else names[1]
        line: Line = [(f"{place + 1:>4}   ", "faint"), *_padded(trick.led)]
        if trick.followed is None:
            lines.append([*line, ("      " + say("terminal.led_by", name=leader), "")])
            continue
        winner = names[0] if won_by_me(view, tricks, place) else names[1]
        line += [*_padded(trick.followed), (f"   {winner[:12]:<14}", "")]
        if trick.my_draw is not None:
            unseen = say("terminal.unseen"), "faint"
            other = card_piece(trick.other_draw) if trick.other_draw else unseen
            line += [(f"{names[0][:12]} ", ""), card_piece(trick.my_draw)]
            line += [(f", {names[1][:12]} ", ""), other]
        lines.append(line)
    return Page(say("terminal.tricks"), lines)


def _padded(card: Card) -> list[Piece]:
    text, style = card_piece(card)
    return [(" " * (4 - len(text)) + text, style)]


# -- scores


def score_page(session: Session) -> Page:
    """The scoreboard, and at the end of a match the trophy."""
    game, match, names = session.game, session.settings.match, short_names(session.settings)
    over = session.over
    me, other = (name[:12] for name in names)
    now = game.hands_won if match is not None and match.best_of else game.points
    lines: list[Line] = []
    if game.over:
        last = session.results[-1]
        style = {True: "good", False: "bad"}.get(last.pays[0] > 0, "") if last.pays[0] else ""
        lines += [[(headline(names, last.pays), style)]]
        lines += [[(result(last.tricks, last.pays, names, last.low), "")], []]
    if over and match is not None:
        best = 0 if now[0] > now[1] else 1
        lines += [*trophy(names[best], mine=best == 0), []]
    lines.append([(say("terminal.score_head", me=me, other=other), "faint")])
    for place, (tricks, pays, low) in enumerate(session.results):
        since = game.number - place
        dealer = (me, other)[game.dealer if since % 2 == 0 else 1 - game.dealer]
        lines.append(
            [
                (f"{place + 1:>4}   ", "faint"),
                (f"{tricks[0]:>12}", "good" if pays[0] > 0 else ""),
                (" : ", ""),
                (f"{tricks[1]:<12}", "bad" if pays[0] < 0 else ""),
                (f"  {dealer:<14}{say('terminal.played_low') if low else ''}", "faint"),
            ]
        )
    if match is None:
        return Page(say("terminal.hand_over" if over else "terminal.single"), lines)
    unit = say("terminal.hands" if match.best_of else "terminal.points")
    total = f"{now[0]:>12} : {now[1]:<12}"
    lines += [[("─" * 40, "faint")]]
    lines.append([(f"{unit:<7}", ""), (total, "bold"), (f"  {match_words(match)}", "faint")])
    return Page(say("terminal.match_over" if over else "terminal.match"), lines)


def trophy(winner: str, mine: bool) -> list[Line]:
    """A cup for the winner of a match."""
    word = headline((winner, ""), (1, 0), "match") + "!" * mine
    cup = (
        r"   \___________/   ",
        r" __|           |__ ",
        r"(  |  German   |  )",
        r" \_|   Whist   |_/ ",
        r"    \         /    ",
        r"     '._   _.'     ",
        r"        | |        ",
        r"     ___|_|___     ",
        r"    |_________|    ",
    )
    style = "gold" if mine else "faint"
    lines: list[Line] = [[("     " + row, style)] for row in cup]
    return [*lines, [("     ", ""), (word, "gold" if mine else "bold")]]


def statistics_page(told: Statistics) -> Page:
    """Results by opponent and rule set."""
    columns: dict[str, str] = labels()["terminal"]["columns"]
    lines: list[Line] = [[(say("terminal.statistics_head", **columns), "faint")]]
    for row in told.rows:
        line: Line = [(f"{tidy(row.opponent, 12):<13}{row.rules[:10]:<11}", "bold")]
        line.append((f"{row.hands:>5}{row.won:>5}{row.drawn:>6}", ""))
        line.append((f"{row.margin:>+7.1f}{row.best:>+5}", ""))
        if row.matches:
            line.append(("  " + say("terminal.of", won=row.matches_won, n=row.matches), ""))
        lines.append(line)
    total = told.total
    if not told.rows:
        return Page(say("site.statistics"), [[(say("terminal.no_hand"), "")]])
    lines.append([(f"{say('terminal.all'):<24}{total.hands:>5}{total.won:>5}{total.drawn:>6}", "")])
    if total.matches:
        all_of = say("terminal.of", won=total.matches_won, n=total.matches)
        lines[-1].append((f"{'':12}  {all_of}", ""))
    lines += [[], [(say("terminal.margin"), "faint")]]
    return Page(say("site.statistics"), lines)
