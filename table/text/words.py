# pyright: strict
"""What is said at a table, for the page and the terminal alike: which sentence when, and of what.

The sentences stand in `labels.json`, in the words of one language, and nowhere else. Cards stand
in them as `10♦`; `spoken` tells the same for screen readers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from ...engine.cards import CARDS, CHOICE_WORDS, KEEP, RANKS, SUIT_SYMBOLS, SUITS, TAKE_HIDDEN, Card
from ...engine.rules import Match
from ...engine.view import Trick, View
from .labels import capital, labels, say, you

ME = "you"
"""Who plays, in records and in sessions that are kept."""
_LONGEST = 40
_SYMBOL = re.compile(f"(10|[2-9JQKA])([{''.join(SUIT_SYMBOLS)}])")

# -- names and numbers


def plain_text(text: str, longest: int = _LONGEST) -> str:
    """One short line of a text from elsewhere: nothing that moves a cursor or turns writing."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def display_name(name: str) -> str:
    """A player's name as people say it: who plays is `you`, and a checkpoint called by its file."""
    if name == ME:
        return you()
    return PurePath(name.partition(",")[0]).stem if "/" in name or "\\" in name else name


def title_of(name: str) -> str:
    """A name as a heading: `open-stock` is `Open stock`."""
    return name.replace("-", " ").capitalize()


def hand_title(rules: str, opponent: str) -> str:
    """A hand by its rule set and opponent, in a list."""
    return say("records.against", rules=title_of(rules), opponent=opponent)


def percent(value: float) -> str:
    """A share in whole per cents, rounded as the page rounds the same number."""
    return f"{math.floor(value + 0.5)} %"


def join_words(words: Sequence[str], last: str = "and") -> str:
    """`A, B and C`, or `A, B or C`."""
    if len(words) == 1:
        return words[0]
    return say(f"lists.{last}", first=", ".join(words[:-1]), last=words[-1])


# -- cards


def action_symbol(action: int) -> str:
    """An action as people read it."""
    if action in CHOICE_WORDS:
        return say(f"cards.{CHOICE_WORDS[action]}")
    return CARDS[action].symbol


def suit_name(suit: int) -> str:
    """`diamonds`."""
    return labels()["cards"]["suits"][SUITS[suit]]


def card_name(each: Card) -> str:
    """`ten of diamonds`."""
    rank = labels()["cards"]["ranks"][RANKS[each.rank]]
    return say("cards.name", rank=rank, suit=suit_name(each.suit))


def spoken(text: str) -> str:
    """A sentence for screen readers: `10♦` is `ten of diamonds`."""

    def name(found: re.Match[str]) -> str:
        rank = RANKS.index("T" if found[1] == "10" else found[1])
        return card_name(Card(SUIT_SYMBOLS.index(found[2]) * len(RANKS) + rank))

    return _SYMBOL.sub(name, text)


def symbols(cards: Iterable[Card]) -> str:
    """Cards one after the other."""
    return " ".join(each.symbol for each in cards)


def trumps(view: View) -> str:
    """`♦ are trumps`."""
    if view.trump is None:
        return say("plates.no_trumps")
    return say("hand.trumps", suit=SUIT_SYMBOLS[view.trump])


# -- what is to be done


def stage_parts(view: View) -> list[str]:
    """Which trick it is, and what is won by it, in a few words each."""
    rules = view.rules
    if view.phase == "over":
        return [say("hand.over")]
    if view.phase == "exchange":
        return [say("stage.exchange")]
    if view.stock_left or view.phase == "choose":
        number = say("stage.trick", n=view.trick + 1, all=rules.foreplay_tricks)
        counts = [] if rules.counts == "last" else [say("stage.counts")]
        return [number, say("stage.stock"), *counts]
    number = view.trick + 1 - rules.foreplay_tricks
    return [say("stage.trick", n=number, all=rules.hand), say("stage.counts")]


def stage(view: View) -> str:
    """Which trick it is, and what is won by it."""
    return ", ".join(stage_parts(view))


def goal(view: View) -> str:
    """What the hand is played for."""
    if view.rules.race is None:
        return say("goal.fewer" if view.low else "goal.more")
    return say("goal.race_low" if view.low else "goal.race", n=view.rules.race)


def prize(view: View) -> str:
    """What the trick under way is played for: `, for K♠`; nothing once the stock is gone."""
    if not view.stock_left:
        return ""
    if not view.upcards:
        return say("hand.for_hidden")
    return say("hand.for_choice" if view.rules.choice else "hand.for", card=view.upcards[0].symbol)


def prompt(view: View, names: tuple[str, str], thinking: bool = False) -> str:
    """What is to be done now, and by whom."""
    if view.phase == "over":
        return say("hand.over")
    if not view.to_move or names[0] != you():
        name = names[0 if view.to_move else 1]
        if thinking:
            return say("hand.thinking", name=name)
        return turn_text(name, view.phase, prize(view))
    if view.phase in ("choose", "exchange"):
        return say(f"hand.{view.phase}")
    if view.led is None:
        return say("hand.lead", prize=prize(view))
    held, suit = {each.suit for each in view.hand}, suit_name(view.led.suit)
    if view.led.suit in held:
        key = "hand.follow"
    else:
        key = "hand.ruff" if view.trump in held else "hand.discard"
    return say(key, name=names[1], card=view.led.symbol, suit=suit, prize=prize(view))


def turn_text(name: str, phase: str, prize: str = "") -> str:
    """Whose turn it is, and to do what."""
    return say(f"to_do.{phase}", name=name, prize=prize)


def refusal_reason(view: View, action: int) -> str:
    """Why an action may not be played now."""
    legal = join_words(list(map(action_symbol, view.legal())), "or")
    if view.phase in ("choose", "exchange"):
        return say(f"refused.{view.phase}")
    if action in CHOICE_WORDS:
        return say("refused.hidden" if action == TAKE_HIDDEN else "refused.no_exchange")
    each = CARDS[action]
    if each not in view.hand:
        return say("refused.not_held", card=each.symbol, cards=symbols(view.hand))
    led = "" if view.led is None else suit_name(view.led.suit)
    return say("refused.follow", card=each.symbol, suit=led, cards=legal)


# -- what happened


def action_text(name: str, phase: str, action: int) -> str:
    """What somebody played, took from the stock, or did in the exchange."""
    key = "keep" if action == KEEP else phase
    return say(f"did.{key}", name=name, card=action_symbol(action))


def won_by_me(view: View, tricks: Sequence[Trick], index: int) -> bool:
    """Whether this seat won a trick that both cards were played to."""
    if index + 1 < len(tricks):
        return tricks[index + 1].i_led
    return won_last(view)


def won_last(view: View) -> bool:
    """Whether this seat won the last trick: who did chooses, or leads next."""
    return view.to_move if view.phase == "choose" else view.i_lead


def stock_tricks(view: View) -> tuple[int, int] | None:
    """Tricks of both that won no more than a card of the stock; None where every trick counts."""
    if view.rules.counts != "last" or not view.rules.foreplay_tricks:
        return None
    tricks = list(view.tricks())
    over = [place for place, each in enumerate(tricks) if each.followed is not None]
    stock = over[: view.rules.foreplay_tricks]
    mine = sum(won_by_me(view, tricks, place) for place in stock)
    return mine, len(stock) - mine


def last_trick(view: View, names: tuple[str, str], theirs: View | None = None) -> str:
    """What came of the last trick that is over; nothing before the first.

    `theirs` is the other's view where both hands lie open, and tells what it drew.
    """
    tricks = list(view.tricks())
    done = [place for place, trick in enumerate(tricks) if trick.followed is not None]
    if not done or view.phase == "choose":
        return ""
    trick, mine = tricks[done[-1]], won_by_me(view, tricks, done[-1])
    winner, loser = names if mine else names[::-1]
    if trick.my_draw is None:
        told = say("last.won", name=winner)
    else:
        other = trick.other_draw
        if theirs is not None:
            other = list(theirs.tricks())[done[-1]].my_draw
        cards = (trick.my_draw, other) if mine else (other, trick.my_draw)
        first, second = map(drawn_card, cards)
        told = say("last.drew", name=winner, card=first, other=loser, second=second)
    if tricks[-1].followed is None and trick.followed is not None:
        led, followed = trick.led.symbol, trick.followed.symbol
        return say("last.cards", led=led, followed=followed, told=told)
    return capital(told)


def drawn_card(each: Card | None) -> str:
    """A card that was drawn; None was drawn face down."""
    return say("cards.unseen") if each is None else each.symbol


def stock_is_gone(view: View, names: tuple[str, str]) -> str:
    """What changes when the last stock card is drawn."""
    told = [say("stock_gone.gone")]
    if view.open:
        told.append(say("stock_gone.open"))
    if view.rules.counts == "last":
        told.append(say("stock_gone.counts"))
    return " ".join([*told, say("stock_gone.lead", name=names[0 if view.i_lead else 1])])


# -- scores and results


def match_words(match: Match | None) -> str:
    """`a single hand`, `to 25 points`, `best of 3`."""
    if match is None:
        return say("match.single")
    if match.target:
        return say("match.points", n=match.target)
    return say("match.best", n=match.best_of)


def match_kind(match: Match | None) -> tuple[str, int | None]:
    """A match as messages tell it: `single`, `points` or `best`, and how many."""
    if match is None:
        return "single", None
    return ("points", match.target) if match.target else ("best", match.best_of)


def score(match: Match | None, points: Sequence[int], hands_won: Sequence[int]) -> str:
    """The match so far in a few words."""
    if match is None:
        return match_words(match)
    mine, others = hands_won if match.best_of else points
    kind = say("match.best", n=match.best_of) if match.best_of else say("match.to", n=match.target)
    return say("match.score", kind=kind, mine=mine, others=others)


def headline(names: tuple[str, str], winner: int | None, what: str = "hand") -> str:
    """Who won a hand or a match; None for a tie."""
    if winner is None:
        return say(f"headline.{what}_drawn")
    return say(f"headline.{what}_won", name=names[winner])


def result(
    tricks: Sequence[int], pays: Sequence[int], names: Sequence[str], low: bool = False
) -> str:
    """How a hand ended: `8–5: you win, paid 1`."""
    mine, others = tricks
    if pays[0] == pays[1]:
        return say("result.tie", mine=mine, others=others)
    name = names[0 if pays[0] > pays[1] else 1]
    how = say("result.low") if low else ""
    return say("result.won", mine=mine, others=others, how=how, name=name, pay=abs(pays[0]))


# -- the table in sentences


def table(view: View, names: tuple[str, str], known: Sequence[Card], score: str) -> list[str]:
    """All that lies on a table, for screen readers."""
    trick = list(view.tricks())[-1:] if view.phase in ("follow", "choose") else []
    mine, others = view.counting_tricks
    told = [
        stage(view),
        say("spoken.no_trumps")
        if view.trump is None
        else say("spoken.trumps", suit=suit_name(view.trump)),
        say("spoken.low") if view.low else "",
        _trick_spoken(trick[0], names) if trick else say("spoken.no_card"),
        say("spoken.stock", n=view.stock_left, cards=_names_of(view.upcards))
        if view.stock_left
        else say("spoken.no_stock"),
        *_exchange_spoken(view, names),
        spoken(last_trick(view, names)),
        say("spoken.holds", name=names[1], n=view.other_cards, cards=_names_of(known)),
        say("spoken.tricks", name=names[0], mine=mine, other=names[1], others=others),
        capital(score),
    ]
    return [f"{each}." for each in told if each]


def _exchange_spoken(view: View, names: tuple[str, str]) -> list[str]:
    """What both have done with the hands dealt, and what is out of play."""
    told: list[str] = []
    if view.turned is not None:
        told.append(say("spoken.turned", card=card_name(view.turned)))
    for name, took in zip(names, view.exchanged, strict=True):
        if took is not None:
            told.append(say("spoken.exchanged" if took else "spoken.kept", name=name))
    if view.laid_away:
        told.append(say("spoken.laid_away", cards=_names_of(view.laid_away)))
    return told


def _names_of(cards: Sequence[Card]) -> str:
    return ", ".join(map(card_name, cards)) or say("spoken.none")


def _trick_spoken(trick: Trick, names: tuple[str, str]) -> str:
    leader, follower = names if trick.i_led else names[::-1]
    led = card_name(trick.led)
    if trick.followed is None:
        return say("spoken.led", name=leader, card=led)
    followed = card_name(trick.followed)
    return say("spoken.both", name=leader, card=led, other=follower, second=followed)


# -- hands played again


def compare_deals(
    tricks: Sequence[int], before: Sequence[int], names: tuple[str, str], swapped: bool
) -> str:
    """A hand beside the same cards before; `swapped` where the seats were exchanged."""
    mine, then = tricks[0], before[0]
    if not swapped:
        key = "compared.more" if mine > then else "compared.fewer" if mine < then else None
        return say(key or "compared.same", mine=mine, n=abs(mine - then), then=then)
    ahead = mine + then - tricks[1] - before[1]
    winner = names[0 if ahead >= 0 else 1]
    sum_up = say("compared.ahead" if ahead else "compared.even", name=winner, n=abs(ahead))
    return say("compared.swapped", name=names[1], then=before[1], mine=mine, sum=sum_up)


# -- the guided first hand


def guide(view: View, names: tuple[str, str]) -> list[str]:
    """What a beginner is told now, by what lies on the table."""
    rules, number = view.rules, view.trick
    if view.phase == "over":
        return [say("guide.over")]
    if view.endgame:
        return _guide_endgame(view, names, number - rules.foreplay_tricks)
    told: list[str] = []
    if number == 0:
        suit = "" if view.trump is None else suit_name(view.trump)
        told.append(say("guide.upcard", n=rules.hand, suit=suit))
        told.append(say("guide.stock", n=rules.foreplay_tricks))
    if view.led is not None:
        suit = suit_name(view.led.suit)
        told.append(say("guide.follow", name=names[1], card=view.led.symbol, suit=suit))
    return [*told, _worth_winning(view)]


def _worth_winning(view: View) -> str:
    """Whether to win the trick for its upcard."""
    if not view.to_move or not view.upcards:
        return say("guide.wait")
    (up, *_) = view.upcards
    if view.led is not None and not any(_beats(view, card) for card in view.legal()):
        return say("guide.can_not_beat", card=view.led.symbol)
    if up.suit == view.trump:
        return say("guide.win_trump", card=up.symbol)
    low, high = view.rules.deck[0].rank, view.rules.deck[-1].rank
    return say("guide.win" if up.rank * 2 > low + high else "guide.lose", card=up.symbol)


def _beats(view: View, action: int) -> bool:
    """Whether a card beats the one that was led."""
    each, led = Card(action), view.led
    if led is None:
        return False
    return each > led if each.suit == led.suit else each.suit == view.trump


def _guide_endgame(view: View, names: tuple[str, str], number: int) -> list[str]:
    told: list[str] = []
    if number == 0:
        hand = view.rules.hand
        told += [say("guide.counts", n=hand, need=hand // 2 + 1), say("guide.open")]
    if view.to_move:
        told.append(say("guide.lead" if view.led is None else "guide.answer"))
    return told or [say("hand.waits", name=names[1]) + "."]


# -- puzzles and exercises


def question(view: View, names: tuple[str, str]) -> str:
    """What is asked of whoever looks at a puzzle."""
    if view.phase in ("choose", "exchange"):
        return say(f"question.{view.phase}")
    task = say("question.lead")
    if view.led is not None:
        task = say("question.led", name=names[1], card=view.led.symbol)
    if view.endgame:
        mine, others = view.counting_tricks
        return say("question.endgame", task=task, mine=mine, others=others)
    return say("question.foreplay", task=task, prize=prize(view))


def verdict(unit: str, cost: float, solved: bool, exact: bool) -> str:
    """What came of an answer."""
    about = "" if exact else "_about"
    if solved:
        return say(f"verdict.right{about}")
    if unit == "pay":
        return say(f"verdict.costs{about}", pay=f"{cost:.3g}")
    if exact:
        return say("verdict.whole" if cost > 50 else "verdict.half")
    return say("verdict.share", share=percent(cost))
