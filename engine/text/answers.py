"""Actions that answers of language models name: `ten of diamonds`, `10♦`, `[TD]`, `I lead the AS.`

An answer counts if it names one card of the player's, apart from those that it denies (`not`,
`keep`, `instead of`). Where it names several, a marked one counts: after `Answer:`, in a box, or
the only one in brackets.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from ...common.schema import short_repr
from ..cards import CARDS, KEEP, RANK_NAMES, RANKS, SUIT_SYMBOLS, SUITS, TAKE_BLIND, TAKE_HIDDEN
from ..checks import IllegalAction
from ..view import View
from .position import legal_text

_LONGEST = 20_000
"""Characters of an answer that are read, the last ones."""
_RANK_OF = {name: rank for rank, name in enumerate(RANK_NAMES)}
_RANK_OF |= {rank.lower(): number for number, rank in enumerate(RANKS)}
_RANK_OF |= {"deuce": 0, "10": 8, "knave": 9}
_SUIT_OF = {suit.lower(): number for number, suit in enumerate(SUITS)}
_SUIT_OF |= {symbol: number for number, symbol in enumerate(SUIT_SYMBOLS)}
_PLAIN = str.maketrans("♧♢♡♤’", f"{SUIT_SYMBOLS}'", "\ufe0e\ufe0f")

_COURT = "jack|knave|queen|king|ace"
_NUMBER = "two|deuce|three|four|five|six|seven|eight|nine|ten"
_VERB = "play|lead|choose|discard|throw|take|follow with"
_RANK = r"(?P<rank>10|[2-9TJQKA])"
_SUIT = r"(?P<suit>(?i:club|diamond|heart|spade))(?i:s?)\b"
_SYMBOL = rf"(?P<suit>[{SUIT_SYMBOLS}])"
_START, _END, _OF = r"(?<!\w)", r"(?!\w)", r"[\s-]+(?i:of)[\s-]+(?:(?i:the)\s+)?"
# A number may count cards, and `a` be an article: these need an `of`, or nothing in between.
_CARDS = [
    re.compile(pattern)
    for pattern in (
        rf"{_START}(?P<rank>(?i:{_NUMBER}|{_COURT})){_OF}{_SUIT}",
        rf"{_START}(?P<rank>10|[2-9TJQKAtjqk]){_OF}{_SUIT}",
        rf"{_START}(?P<rank>(?i:{_COURT}))[\s-]+{_SUIT}",
        rf"{_START}{_SUIT}[\s-]+(?P<rank>(?i:{_COURT})){_END}",
        rf"{_START}(?P<rank>(?i:{_NUMBER}|{_COURT}))(?:{_OF}|[\s-]*){_SYMBOL}",
        rf"{_START}(?P<rank>10|[2-9TJQKAtjqka]){_SYMBOL}",
        rf"{_START}(?P<rank>10|[TJQK])\s+{_SYMBOL}",
        rf"{_START}(?P<rank>10|[2-9TJQKA]){_OF}{_SYMBOL}",
        rf"{_SYMBOL}{_RANK}{_END}",
        rf"{_START}{_RANK}(?P<suit>[CDHS]){_END}",
        rf"{_START}(?P<rank>[TJQK])(?P<suit>[cdh]){_END}",
        rf"(?i:(?:{_VERB})\s+(?:the\s+|my\s+)?)(?P<rank>10|[2-9tjqk])(?P<suit>[cdhs]){_END}",
    )
]
# Alone, a code cannot be a word such as `as`.
_CODES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\W*(?:the )?(?P<rank>10|[2-9tjqka])[\s-]?(?P<suit>[cdhs])\W*",
        r"\W*(?:the )?(?P<suit>[cdhs])[\s-]?(?P<rank>10|[2-9tjqka])\W*",
    )
]
_WORDS_IN_CAPITALS = frozenset({"AS", "AD", "AH"})
_MARKED = re.compile(
    r"\\boxed\{([^{}\n]*)\}|<answer>([^<]*)</answer>|"
    r"\b(?:answer|action|card|move|play)[\"'*_]*\s*[:=]([^\n]*)",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\[([^\[\]\n]*)\]")
_NOT = (
    "not|never|no|cannot|without|rather than|instead of|avoid|avoiding|refuse|if|except|other than|"
    "apart from|(?:anything|everything|all|any card) but"
)
_KEEPING = "keep|keeping|save|saving|hold|holding"


def _clause(words: str) -> re.Pattern[str]:
    """What follows one of these words in its clause, both cards after `between` included."""
    # Bounded, so that a long answer without an `and` takes no long time.
    pair = r"(?:[^.,;:!?\n]{0,60}?\bbetween\b[^.,;:!?\n]{0,60}?\band\b)?"
    end = r"(?=[.,;:!?\n]|\b(?:and|but|so|then)\b|$)"
    return re.compile(rf"(?:\b(?:{words})\b|n't\b){pair}[^.,;:!?\n]*?{end}", re.IGNORECASE)


_DENIED, _REFUSED = _clause(f"{_NOT}|{_KEEPING}"), _clause(_NOT)
_CHOICES = {
    TAKE_HIDDEN: re.compile(r"\bhidden\b", re.IGNORECASE),
    KEEP: re.compile(r"\b(?:keep|stay|stand)\b", re.IGNORECASE),
    TAKE_BLIND: re.compile(r"\b(?:blind|exchange|swap)\b", re.IGNORECASE),
}


def parse_answer(text: str, view: View) -> int:
    """The legal action that an answer names; `IllegalAction` says why it names none."""
    legal = view.legal()
    plain = unicodedata.normalize("NFKC", text[-_LONGEST:]).translate(_PLAIN)
    named = _choices(plain, legal) or _marked(plain) or _cards(plain)
    own = view.hand if view.phase in ("lead", "follow") else legal
    if len(named) > 1:
        named = [action for action in named if action in own] or named
    allowed = f"legal now: {legal_text(legal)}"
    if not named:
        raise IllegalAction(f"{short_repr(text)} names no card to play; {allowed}")
    names = [legal_text([action]) for action in named]
    if len(named) > 1:
        raise IllegalAction(
            f"the answer names {', '.join(names[:-1])} and {names[-1]}: name one card alone, or "
            f"put it in brackets, as [TD]; {allowed}"
        )
    if named[0] in legal:
        return named[0]
    if named[0] not in own:
        raise IllegalAction(f"{names[0]} is not in your hand; {allowed}")
    raise IllegalAction(f"{names[0]} does not follow suit, as {view.led} was led; {allowed}")


def _choices(text: str, legal: list[int]) -> list[int]:
    """The choices beside cards that are legal and named, unless cards are named too."""
    chosen = [
        action
        for action, pattern in _CHOICES.items()
        if action in legal and pattern.search(_REFUSED.sub(" ", text))
    ]
    return [] if chosen == [TAKE_HIDDEN] and _cards(text) else chosen


def _marked(text: str) -> list[int]:
    """The card of the last mark, or the only card that stands in brackets."""
    for mark in reversed([*_MARKED.finditer(text)]):
        named = _cards(next(filter(None, mark.groups()), ""))
        if len(named) == 1:
            return named
    in_brackets = map(_cards, _BRACKETS.findall(_DENIED.sub(" ", text)))
    distinct = _distinct(named[0] for named in in_brackets if len(named) == 1)
    return distinct if len(distinct) == 1 else []


def _cards(text: str) -> list[int]:
    """The cards that a text names and does not deny, in order."""
    for pattern in _CODES:
        if code := pattern.fullmatch(text):
            return [_card(code)]
    found: list[tuple[int, int]] = []
    remaining = _DENIED.sub(" ", text)
    words_in_capitals = text.upper() == text and len(text.split()) > 2
    for pattern in _CARDS:
        for match in pattern.finditer(remaining):
            if not (words_in_capitals and match[0] in _WORDS_IN_CAPITALS):
                found.append((match.start(), _card(match)))
        remaining = pattern.sub(lambda match: " " * len(match[0]), remaining)
    return _distinct(card for _, card in sorted(found))


def _card(match: re.Match[str]) -> int:
    suit, rank = _SUIT_OF[match["suit"][0].lower()], _RANK_OF[match["rank"].lower()]
    return int(CARDS[13 * suit + rank])


def _distinct(actions: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(actions))
