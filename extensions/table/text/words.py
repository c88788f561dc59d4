# pyright: strict
"""The sentences of the table, for the page and the terminal: which one when, with which values.

Their texts are in `labels.json` alone. Cards stand in them as `10♦`; `spoken`
converts them for screen readers.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from german_whist.agents.checkpoints import FOLDER
from german_whist.agents.registry import agent_names
from german_whist.engine.cards import (
    CARDS,
    CHOICE_WORDS,
    KEEP,
    RANKS,
    SUIT_SYMBOLS,
    SUITS,
    TAKE_HIDDEN,
    Card,
)
from german_whist.engine.rules import Match
from german_whist.engine.view import Trick, View

from .labels import YOU, begin, capital, label, labels

_MAX_LENGTH = 40
PROVISIONAL = 10
"""A rating is provisional until so many hands, or puzzles, were rated."""
_SYMBOL = re.compile(f"(10|[2-9JQKA])([{''.join(SUIT_SYMBOLS)}])")

# -- names and numbers


def plain_text(text: str, max_length: int = _MAX_LENGTH) -> str:
    """One short line of an untrusted text, without control or direction characters."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


_listed: list[str] = []


def tell_apart(names: Iterable[str]) -> None:
    """The agents that a table lists: names are shown as short as tells these apart."""
    _listed[:] = names


def display_name(name: str, others: Iterable[str] = ()) -> str:
    """A player's name wherever it is shown.

    Of a path it is the shortest end that no other listed agent has: a checkpoint's run and
    decisions, a run's or a file's name, with folders before it where that is not enough.
    """
    if not _is_path(name):
        # Agents' names are names in sentences, too; a person's stays as it was typed.
        return capital(name) if name.partition(":")[0] in agent_names() else name
    parts = _path_parts(name)
    rivals = {_path_parts(other) for other in (*_listed, *others) if _is_path(other)} - {parts}
    lengths = range(1, len(parts))
    n = next((n for n in lengths if all(rival[-n:] != parts[-n:] for rival in rivals)), len(parts))
    return "/".join(parts[-n:]) + "".join(name.partition(",")[1:])


def _is_path(name: str) -> bool:
    # What no file name holds is no path, as in a hostile record.
    return ("/" in name or "\\" in name) and not set(name) & set('<>"|?*')


def _path_parts(name: str) -> tuple[str, ...]:
    # A path from within a run does not say what the run is called.
    path = PurePath(os.path.abspath(name.partition(",")[0]))
    if path.parent.name == FOLDER and path.stem.isdecimal():
        run = path.parent.parent
        return *run.parts[:-1], f"{run.name}@{int(path.stem):,}"
    return *path.parts[:-1], path.stem


def distinct(names: Sequence[str]) -> tuple[str, str]:
    """Two names in a sentence, with their seats where they are equal."""
    if names[0] == names[1]:
        return f"{names[0]} (0)", f"{names[1]} (1)"
    return names[0], names[1]


def title_of(name: str) -> str:
    """A name as a heading: `open-stock` is `Open stock`."""
    return name.replace("-", " ").capitalize()


def hand_title(rules: str, opponent: str) -> str:
    """A hand by its rule set and opponent."""
    return label("records.against", rules=title_of(rules), opponent=display_name(opponent))


def percent(value: float) -> str:
    """A percentage without decimals, rounded as JavaScript's `toFixed` rounds it."""
    return f"{math.floor(value + 0.5)} %"


def join_words(words: Sequence[str], last: str = "and") -> str:
    """`A, B and C`, or `A, B or C`."""
    if len(words) == 1:
        return words[0]
    return label(f"lists.{last}", first=", ".join(words[:-1]), last=words[-1])


# -- cards


def action_symbol(action: int) -> str:
    """An action as a symbol or a word."""
    if action in CHOICE_WORDS:
        return label(f"cards.{CHOICE_WORDS[action]}")
    return CARDS[action].symbol


def suit_name(suit: int) -> str:
    """`diamonds`."""
    return labels()["cards"]["suits"][SUITS[suit]]


def card_name(card: Card) -> str:
    """`ten of diamonds`."""
    rank = labels()["cards"]["ranks"][RANKS[card.rank]]
    return label("cards.name", rank=rank, suit=suit_name(card.suit))


def spoken(text: str) -> str:
    """A sentence for screen readers: `10♦` is `ten of diamonds`."""

    def name(symbol: re.Match[str]) -> str:
        rank = RANKS.index("T" if symbol[1] == "10" else symbol[1])
        return card_name(Card(SUIT_SYMBOLS.index(symbol[2]) * len(RANKS) + rank))

    return _SYMBOL.sub(name, text)


def symbols(cards: Iterable[Card]) -> str:
    """Cards, separated by spaces."""
    return " ".join(card.symbol for card in cards)


def trumps(view: View) -> str:
    """`♦ are trumps`."""
    if view.trump is None:
        return label("plates.no_trumps")
    return label("hand.trumps", suit=SUIT_SYMBOLS[view.trump])


# -- before a decision


def stage_parts(view: View) -> list[str]:
    """The number of the trick and the stakes, in a few words each."""
    rules = view.rules
    if view.phase == "over":
        return [label("hand.over")]
    if view.phase == "exchange":
        return [label("stage.exchange")]
    for_stock = rules.counts == "last" and (view.stock_left > 0 or view.phase == "choose")
    trick = label("stage.trick", n=view.trick + 1, all=rules.foreplay_tricks + rules.hand)
    return [trick, label("stage.stock" if for_stock else "stage.counts")]


def stage(view: View) -> str:
    """The number of the trick and the stakes."""
    return ", ".join(stage_parts(view))


def goal(view: View) -> str:
    """The goal of the hand: more tricks, fewer, or a number of tricks."""
    if view.rules.race is None:
        return label("goal.fewer" if view.low else "goal.more")
    return label("goal.race_low" if view.low else "goal.race", n=view.rules.race)


def prize(view: View) -> str:
    """The prize of the trick under way: `, for K♠`; empty without a stock."""
    if not view.stock_left:
        return ""
    if not view.upcards:
        return label("hand.for_hidden")
    cards = [card.symbol for card in view.upcards]
    if not view.rules.choice:
        return label("hand.for", card=cards[0])
    hidden = [label("cards.hidden")] if view.rules.hidden_choice else []
    return label("hand.for_choice", cards=join_words(cards + hidden, "or"))


def prompt(view: View, names: tuple[str, str], thinking: bool = False) -> str:
    """The next decision, and who makes it."""
    if view.phase == "over":
        return label("hand.over")
    if not view.to_move or names[0] != YOU:
        name = names[0 if view.to_move else 1]
        if thinking:
            return label("hand.thinking", name=name)
        return turn_text(name, view.phase, prize(view))
    if view.phase == "exchange":
        return label("hand.exchange")
    if view.phase == "choose":
        return label("hand.choose", cards=join_words(list(map(action_symbol, view.legal())), "or"))
    if view.led is None:
        return label("hand.lead", prize=prize(view))
    suits, suit = {card.suit for card in view.hand}, suit_name(view.led.suit)
    if view.led.suit in suits:
        key = "hand.follow"
    else:
        key = "hand.ruff" if view.trump in suits else "hand.discard"
    return label(key, name=names[1], card=view.led.symbol, suit=suit, prize=prize(view))


def turn_text(name: str, phase: str, prize: str = "") -> str:
    """Whose turn it is, and which kind of decision."""
    return label(f"to_do.{phase}", name=name, prize=prize)


def refusal_reason(view: View, action: int) -> str:
    """Why an action is illegal now."""
    legal = join_words(list(map(action_symbol, view.legal())), "or")
    if view.phase in ("choose", "exchange"):
        return label(f"refused.{view.phase}")
    if action in CHOICE_WORDS:
        return label("refused.hidden" if action == TAKE_HIDDEN else "refused.no_exchange")
    card = CARDS[action]
    if card not in view.hand:
        return label("refused.not_held", card=card.symbol, cards=symbols(view.hand))
    led = "" if view.led is None else suit_name(view.led.suit)
    return label("refused.follow", card=card.symbol, suit=led, cards=legal)


# -- after an action


def action_text(name: str, phase: str, action: int) -> str:
    """A card played, a card taken from the stock, or a choice in the exchange."""
    key = "keep" if action == KEEP else phase
    return label(f"did.{key}", name=name, card=action_symbol(action))


def won_trick(view: View, tricks: Sequence[Trick], index: int) -> bool:
    """Whether the viewer won a completed trick."""
    if index + 1 < len(tricks):
        return tricks[index + 1].i_led
    return won_last(view)


def won_last(view: View) -> bool:
    """Whether the viewer won the last trick: its winner chooses, or leads next."""
    return view.to_move if view.phase == "choose" else view.i_lead


def stock_tricks(view: View) -> tuple[int, int] | None:
    """Both players' tricks that won only a stock card; None where every trick counts."""
    if view.rules.counts != "last" or not view.rules.foreplay_tricks:
        return None
    tricks = list(view.tricks())
    completed = [k for k, trick in enumerate(tricks) if trick.followed is not None]
    foreplay = completed[: view.rules.foreplay_tricks]
    own = sum(won_trick(view, tricks, k) for k in foreplay)
    return own, len(foreplay) - own


def last_trick(view: View, names: tuple[str, str], opponent: View | None = None) -> str:
    """Winner and draws of the last completed trick; empty before the first.

    `opponent` is the opponent's view where both hands are open; it shows what the opponent drew.
    """
    tricks = list(view.tricks())
    completed = [k for k, trick in enumerate(tricks) if trick.followed is not None]
    if not completed or view.phase == "choose":
        return ""
    last = completed[-1]
    trick, won = tricks[last], won_trick(view, tricks, last)
    winner, loser = names if won else names[::-1]
    if trick.my_draw is None:
        outcome = label("last.won", name=winner)
    else:
        other = trick.opponent_draw if opponent is None else list(opponent.tricks())[last].my_draw
        cards = (trick.my_draw, other) if won else (other, trick.my_draw)
        first, second = map(drawn_card, cards)
        outcome = label("last.drew", name=winner, card=first, other=loser, second=second)
    if tricks[-1].followed is None and trick.followed is not None:
        led, followed = trick.led.symbol, trick.followed.symbol
        return label("last.cards", led=led, followed=followed, outcome=outcome)
    return begin(outcome)


def drawn_card(card: Card | None) -> str:
    """A drawn card; None was drawn face down."""
    return label("cards.unseen") if card is None else card.symbol


def stock_is_gone(view: View, names: tuple[str, str], open_hands: bool) -> str:
    """The announcement of the endgame."""
    parts = [label("stock_gone.gone")]
    if open_hands:
        parts.append(label("stock_gone.open"))
    if view.rules.counts == "last":
        parts.append(label("stock_gone.counts"))
    return " ".join([*parts, label("stock_gone.lead", name=names[0 if view.i_lead else 1])])


# -- scores and results


def match_words(match: Match | None) -> str:
    """`a single hand`, `to 25 points`, `best of 3`."""
    kind, n = match_kind(match)
    return label(f"match.{kind}", n=n)


def match_kind(match: Match | None) -> tuple[str, int | None]:
    """A match in messages: `single`, `points` or `best`, and the number."""
    if match is None:
        return "single", None
    return ("points", match.target) if match.target else ("best", match.best_of)


def score(match: Match | None, points: Sequence[int], hands_won: Sequence[int]) -> str:
    """The score of the match."""
    if match is None:
        return match_words(match)
    own, other = hands_won if match.best_of else points
    kind = (
        label("match.best", n=match.best_of) if match.best_of else label("match.to", n=match.target)
    )
    return label("match.score", kind=kind, own=own, other=other)


def headline(names: tuple[str, str], winner: int | None, game: str = "hand") -> str:
    """The winner of a hand or a match; None for a tie."""
    if winner is None:
        return label(f"headline.{game}_drawn")
    return label(f"headline.{game}_won", name=names[winner])


def result(
    tricks: Sequence[int], payoffs: Sequence[int], names: Sequence[str], low: bool = False
) -> str:
    """The result of a hand: `8–5: you win`, or `8–5: you win 3 points`."""
    own, other = tricks
    if payoffs[0] == payoffs[1]:
        return label("result.tie", own=own, other=other)
    name = names[0 if payoffs[0] > payoffs[1] else 1]
    how = label("result.low") if low else ""
    return label("result.won", own=own, other=other, how=how, name=name, n=abs(payoffs[0]))


# -- the table in sentences


def table(
    view: View, names: tuple[str, str], opponent: Sequence[Card] | None, score: str
) -> list[str]:
    """A description of the whole table for screen readers.

    `opponent`: the known cards; None for who plays from memory, and hears of no earlier card.
    """
    trick = list(view.tricks())[-1:] if view.phase in ("follow", "choose") else []
    own, other = view.counting_tricks
    sentences = [
        stage(view),
        label("spoken.no_trumps")
        if view.trump is None
        else label("spoken.trumps", suit=suit_name(view.trump)),
        label("spoken.low") if view.low else "",
        _trick_spoken(trick[0], names) if trick else label("spoken.no_card"),
        label("spoken.stock", n=view.stock_left, cards=_card_names(view.upcards))
        if view.stock_left
        else label("spoken.no_stock"),
        *([] if opponent is None else _earlier_spoken(view, names, opponent)),
        label("spoken.tricks", name=names[0], own=own, opponent=names[1], other=other),
        capital(score),
    ]
    return [f"{sentence}." for sentence in sentences if sentence]


def _earlier_spoken(view: View, names: tuple[str, str], opponent: Sequence[Card]) -> list[str]:
    n, cards = view.opponent_hand_size, _card_names(opponent)
    return [
        *_exchange_spoken(view, names),
        spoken(last_trick(view, names)),
        label("spoken.holds", name=names[1], n=n, cards=cards),
    ]


def _exchange_spoken(view: View, names: tuple[str, str]) -> list[str]:
    sentences: list[str] = []
    if view.turned is not None:
        sentences.append(label("spoken.turned", card=card_name(view.turned)))
    for name, exchanged in zip(names, view.exchanged, strict=True):
        if exchanged is not None:
            sentences.append(label("spoken.exchanged" if exchanged else "spoken.kept", name=name))
    if view.laid_away:
        sentences.append(label("spoken.laid_away", cards=_card_names(view.laid_away)))
    return sentences


def _card_names(cards: Sequence[Card]) -> str:
    return ", ".join(map(card_name, cards)) or label("spoken.none")


def _trick_spoken(trick: Trick, names: tuple[str, str]) -> str:
    leader, follower = names if trick.i_led else names[::-1]
    led = card_name(trick.led)
    if trick.followed is None:
        return label("spoken.led", name=leader, card=led)
    followed = card_name(trick.followed)
    return label("spoken.both", name=leader, card=led, other=follower, second=followed)


def rating_change(before: float, after: float, hands: int) -> str:
    """The rating after a hand, with its change; the first hands say too little for one."""
    if hands < PROVISIONAL:
        return label("score.provisional", rating=round(after), n=hands, all=PROVISIONAL)
    change = f"{round(after) - round(before):+}".replace("-", "−")
    return label("score.rating", rating=round(after), change=change)


def compare_deals(
    tricks: Sequence[int], before: Sequence[int], names: tuple[str, str], swapped: bool
) -> str:
    """A hand against the same deal played before; `swapped`: from the other seat."""
    now, then = tricks[0], before[0]
    if not swapped:
        key = "compared.more" if now > then else "compared.fewer" if now < then else None
        return label(key or "compared.same", now=now, n=abs(now - then), then=then)
    lead = now + then - tricks[1] - before[1]
    winner = names[0 if lead >= 0 else 1]
    total = label("compared.ahead" if lead else "compared.even", name=winner, n=abs(lead))
    return label("compared.swapped", name=names[1], then=before[1], now=now, sum=total)


# -- puzzles and exercises


def question(view: View, names: tuple[str, str], stake: str = "endgame") -> str:
    """The question of a puzzle or an exercise; `stake`: what the best card of an ending does."""
    if view.phase in ("choose", "exchange"):
        return label(f"question.{view.phase}")
    task = label("question.lead")
    if view.led is not None:
        task = label("question.led", name=names[1], card=view.led.symbol)
    if view.endgame:
        own, other = view.counting_tricks
        return label(f"question.{stake}", task=task, own=own, other=other)
    return label("question.foreplay", task=task, prize=prize(view))


def verdict(unit: str, cost: float, solved: bool, exact: bool, only: bool) -> str:
    """Whether an answer is right, and its cost; `only`: the others are clearly worse."""
    about = "" if exact else "_about"
    if solved and only:
        return label(f"verdict.right_only{about}")
    if solved:
        return label(f"verdict.right{about}")
    if unit == "pay":
        return label(f"verdict.costs{about}", pay=f"{cost:.3g}")
    if exact:
        return label("verdict.whole" if cost > 50 else "verdict.half")
    return label("verdict.rate", rate=percent(cost))
