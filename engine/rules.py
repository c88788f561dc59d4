# pyright: strict, reportUnnecessaryIsInstance=false
"""Rule sets: the `Rules` value and its checks, the named sets, and custom sets from YAML.

All differences between the games of this family are fields of `Rules`; the compiled engine reads
them from one `RULES` record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeGuard, get_args

import numpy as np
import numpy.typing as npt

from ..common.files import read_yaml_mapping
from ..common.schema import short_repr
from ..common.suggestions import suggest
from ..common.typing import JsonObject
from .cards import N_ACTIONS, N_CARDS, Card
from .dtypes import CONTRACTS, FACED, PAYS, RULES, SEATS

Trumps = Literal["upcard", "none"]
Contract = Literal["high", "low", "colour"]
Counts = Literal["last", "all"]
Pay = Literal["win", "margin", "over_book"]
Faced = Literal["every", "after-first", "never"]

_CHOICES = {"trumps": Trumps, "contract": Contract, "counts": Counts, "pay": Pay, "faced": Faced}
_RANGES = {
    "suits": (1, 4),
    "ranks": (1, 13),
    "hand": (1, 26),
    "stock": (0, 50),
    "book": (0, 26),
    "slam_pay": (1, 10_000),
    "face_up": (1, 2),
    "race": (1, 26),
}
# So that the description of every rule set fits the texts for language models.
_LONGEST_NAME, _LONGEST_ABOUT = 80, 500


class RulesError(ValueError):
    """Raised for a rule set that is unknown or cannot be played."""


@dataclass(frozen=True)
class Match:
    """The length of a match: `Match(target=25)` points, or `Match(best_of=5)` hands.

    Give either `target` or `best_of`, from 1 to 10,000. `best_of` has to be odd.
    """

    target: int | None = None
    best_of: int | None = None

    def __post_init__(self) -> None:
        if (self.target is None) == (self.best_of is None):
            raise RulesError(
                "a match is played either to a target of points or as best of so many hands: "
                f"give one of them, not target={self.target!r} and best_of={self.best_of!r}"
            )
        for name, value in (("target", self.target), ("best_of", self.best_of)):
            if value is None:
                continue
            if not _is_integer(value) or not 1 <= value <= 10_000:
                raise RulesError(f"{name} is {value!r}: it has to be a number from 1 to 10000")
        if self.best_of is not None and self.best_of % 2 == 0:
            raise RulesError(f"best_of is {self.best_of}: it has to be odd, as in best of 3 or 5")

    def __str__(self) -> str:
        return f"to {self.target} points" if self.target else f"best of {self.best_of} hands"


def as_match(match: Match | int | None) -> Match | None:
    """A match to a number of points, or as given; None for single hands."""
    if match is None or isinstance(match, Match):
        return match
    if isinstance(match, (bool, np.bool_)) or not isinstance(match, (int, np.integer)):
        raise RulesError(f"match is {match!r}: give a number of points or a Match")
    return Match(target=int(match))


@dataclass(frozen=True)
class Rules:
    """A rule set: the parameters of one game of the family. The defaults are the classic game.

    ```python
    rules = Rules(name="mine", hand=10, stock=20, counts="all")
    german_whist_v0.env(rules)
    ```

    `load_rules("draft")` returns a named rule set. `dataclasses.replace(rules, race=7,
    name="mine")` returns a changed copy. Parameters that contradict each other raise `RulesError`.
    """

    name: str = "custom"
    suits: int = 4
    """Number of suits, 1 to 4."""
    ranks: int = 13
    """Number of ranks of each suit, 1 to 13, from the ace downwards."""
    hand: int = 13
    """Cards dealt to each player."""
    stock: int | None = None
    """Cards in the stock; None: all cards left after the deal."""
    trumps: Trumps = "upcard"
    """`"upcard"`: the suit of the first upcard is trumps. `"none"`: there are no trumps."""
    contract: Contract = "high"
    """`"high"`: more tricks win. `"low"`: fewer tricks win. `"colour"`: the upcard decides."""
    counts: Counts = "last"
    """The tricks that count: `"last"`, after the stock is gone, or `"all"`."""
    pay: Pay = "win"
    """The payoff: `"win"` is 1, `"margin"` the difference of tricks, `"over_book"` the tricks above
    the book."""
    book: int | None = None
    """With `over_book`: tricks that pay nothing; None: half of the counting tricks."""
    slam_pay: int | None = None
    """With `over_book`: pay for taking all counting tricks."""
    face_up: int = 1
    """Number of stock cards face up at a time."""
    faced: Faced = "every"
    """When stock cards lie face up: at `"every"` trick, `"after-first"`, or `"never"`."""
    choice: bool = False
    """Whether the winner of a trick chooses which of the two stock cards to take."""
    race: int | None = None
    """Number of counting tricks with which a player ends the hand. None: the hand is played out."""
    exchange: bool = False
    """Whether four hands are dealt and each player may take a blind one before the first lead."""
    about: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        self._check_values()
        if self.stock is None:
            object.__setattr__(self, "stock", self._default_stock)
        self._check_deal()
        self._check_faces()
        self._check_scoring()

    # -- derived values

    @property
    def lows(self) -> tuple[bool, ...]:
        """For each possible contract, whether fewer tricks win."""
        return {"high": (False,), "low": (True,), "colour": (False, True)}[self.contract]

    @cached_property
    def deck(self) -> tuple[Card, ...]:
        lowest = 13 - self.ranks
        return tuple(
            Card(suit * 13 + rank) for suit in range(self.suits) for rank in range(lowest, 13)
        )

    @property
    def hands_dealt(self) -> int:
        """Number of hands dealt, blind ones included."""
        return 2 * SEATS if self.exchange else SEATS

    @property
    def dealt_cards(self) -> int:
        """Number of cards whose place in the deal matters: all hands and the stock."""
        return self.hands_dealt * self.hand + self.stock_cards

    @property
    def _default_stock(self) -> int:
        return 0 if self.exchange else len(self.deck) - SEATS * self.hand

    @property
    def stock_cards(self) -> int:
        assert self.stock is not None
        return self.stock

    @property
    def set_aside(self) -> int:
        """Number of cards out of play, which at least one player never sees."""
        return len(self.deck) - SEATS * self.hand - self.stock_cards

    @property
    def foreplay_tricks(self) -> int:
        """Number of tricks that are played for the stock, two stock cards for each trick."""
        return self.stock_cards // SEATS

    @property
    def tricks(self) -> int:
        return self.foreplay_tricks + self.hand

    @property
    def max_decisions(self) -> int:
        """Most decisions of both players in a hand."""
        return (3 if self.choice else 2) * self.tricks + 2 * self.exchange

    @property
    def counting_tricks(self) -> int:
        return self.tricks if self.counts == "all" else self.hand

    @property
    def hidden_choice(self) -> bool:
        """Whether the winner may take a card unseen (action 52)."""
        return self.choice and self.face_up == 1

    @property
    def actions(self) -> int:
        """Size of the action space: 52 cards, 53 with the hidden choice, 55 with an exchange."""
        return N_ACTIONS if self.exchange else N_CARDS + self.hidden_choice

    @property
    def open_endgame(self) -> bool:
        """Whether the endgame has perfect information for players with perfect memory."""
        return self.set_aside == 0

    @property
    def effective_book(self) -> int:
        """Number of counting tricks that pay nothing under `over_book`."""
        return self.counting_tricks // 2 if self.book is None else self.book

    @property
    def max_tricks(self) -> int:
        return self.counting_tricks if self.race is None else self.race

    @property
    def max_payoff(self) -> int:
        if self.pay == "win":
            return 1
        most = self.max_tricks
        if self.pay == "margin":
            return most
        if self.slam_pay is None:
            return most - self.effective_book
        # A race to the slam is only won by the slam.
        return self.slam_pay if self.race else max(most - 1 - self.effective_book, self.slam_pay)

    @property
    def more_tricks_pay(self) -> bool:
        """Whether more counting tricks never pay less, as they do if a slam pays little."""
        if self.slam_pay is None or self.race is not None:
            return True
        return self.slam_pay >= self.counting_tricks - 1 - self.effective_book

    @property
    def decided_hands_pay(self) -> bool:
        """Whether every hand with unequal counting tricks pays something."""
        majority = self.counting_tricks // 2 + 1
        if self.race is not None:
            # Otherwise a hand could end with unequal tricks and no winner of the race.
            return 2 * (self.race - 1) <= self.counting_tricks
        return self.pay != "over_book" or self.effective_book < majority

    def array(self, match: Match | int | None = None) -> npt.NDArray[np.void]:
        """Parameters for compiled code: a one-element `RULES` array."""
        return np.array(_rules_array(self, as_match(match)))

    def as_mapping(self) -> JsonObject:
        """Fields that differ from the defaults, as in a YAML file."""
        defaults = {field_.name: field_.default for field_ in fields(self)}
        defaults |= {"stock": self._default_stock, "about": self.about, "name": None}
        values = {name: getattr(self, name) for name in defaults}
        return {name: value for name, value in values.items() if value != defaults[name]}

    def same_game(self, other: Rules) -> bool:
        """Whether two rule sets differ at most in their names."""
        return replace(other, name=self.name) == self

    # -- checks

    def _check_values(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise RulesError(f"name is {self.name!r}: a rule set needs a name in letters")
        if len(self.name) > _LONGEST_NAME or not self.name.isprintable():
            raise RulesError(
                f"name is {short_repr(self.name)}: give one of at most {_LONGEST_NAME} characters "
                "that can be printed"
            )
        if not isinstance(self.about, str) or len(self.about) > _LONGEST_ABOUT:
            raise RulesError(
                f"about is {short_repr(self.about)}: it has to be a text of at most "
                f"{_LONGEST_ABOUT} characters"
            )
        for name, kind in _CHOICES.items():
            value, allowed = getattr(self, name), get_args(kind)
            if value not in allowed:
                raise RulesError(f"{name} is {value!r}: it has to be one of {', '.join(allowed)}")
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is None and name in ("stock", "book", "slam_pay", "race"):
                continue
            if not _is_integer(value):
                raise RulesError(f"{name} is {value!r}: it has to be a whole number")
            if name == "stock" and value < 0:
                raise RulesError(f"stock is {value}: a stock cannot be negative")
            if not least <= value <= most:
                raise RulesError(f"{name} is {value}: it has to be from {least} to {most}")
        for name in ("choice", "exchange"):
            if not isinstance(getattr(self, name), bool):
                raise RulesError(f"{name} is {getattr(self, name)!r}: it has to be true or false")

    def _check_deal(self) -> None:
        deck, dealt = len(self.deck), self.hands_dealt * self.hand
        if dealt > deck:
            raise RulesError(
                f"hand is {self.hand}: {self.hands_dealt} hands of {self.hand} need {dealt} cards "
                f"and the deck of {self.suits} x {self.ranks} has {deck}"
            )
        if self.exchange and self.stock_cards:
            raise RulesError(
                f"stock is {self.stock_cards}, but exchange is true, and then blind hands take "
                "the place of a stock: leave stock out"
            )
        if self.stock_cards % SEATS:
            raise RulesError(
                f"stock is {self.stock_cards}: it has to be even, since both players draw after "
                f"every trick; stock: {self.stock_cards - 1} would set one card aside"
            )
        if dealt + self.stock_cards > deck:
            raise RulesError(
                f"stock is {self.stock_cards}: after {SEATS} hands of {self.hand} only "
                f"{deck - dealt} of {deck} cards are left"
            )

    def _check_faces(self) -> None:
        first_faced = (self.exchange or self.stock_cards > 0) and self.faced == "every"
        for name, value, remedy in (
            ("trumps", "upcard", "none"),
            ("contract", "colour", "high or low"),
        ):
            if getattr(self, name) == value and not first_faced:
                raise RulesError(
                    f"{name} is {value!r}, but with stock {self.stock_cards} and faced "
                    f"{self.faced!r} no first card is turned up: set {name} to {remedy}"
                )
        turned = {"every": 0, "after-first": 1, "never": 26}[self.faced] < self.foreplay_tricks
        if self.faced == "after-first" and not turned:
            raise RulesError(
                f"faced is 'after-first', but with stock {self.stock_cards} no card is left to "
                "turn up after the first trick: set faced to never"
            )
        if self.face_up == 2 and not turned:
            raise RulesError(
                f"face_up is 2, but with stock {self.stock_cards} and faced {self.faced!r} no card "
                "lies face up: set face_up to 1"
            )
        if self.choice and not turned:
            raise RulesError(
                f"choice is true, but with stock {self.stock_cards} and faced {self.faced!r} no "
                "card lies face up to choose: set choice to false"
            )
        if self.choice and self.race == 1 and self.counts == "all":
            raise RulesError(
                "choice is true, but with race 1 the first trick ends the hand before anybody "
                "could choose: set choice to false"
            )

    def _check_scoring(self) -> None:
        if self.pay != "over_book":
            for name in ("book", "slam_pay"):
                if getattr(self, name) is not None:
                    raise RulesError(
                        f"{name} is {getattr(self, name)}: it belongs to pay over_book, and pay "
                        f"is {self.pay!r}"
                    )
        if self.race is not None and self.race > self.counting_tricks:
            raise RulesError(
                f"race is {self.race}: only {self.counting_tricks} tricks count, so nobody "
                "could ever get there"
            )
        if self.slam_pay is not None and self.max_tricks < self.counting_tricks:
            raise RulesError(
                f"slam_pay is {self.slam_pay}: the race to {self.race} ends a hand before anybody "
                f"has all {self.counting_tricks} counting tricks, so leave it out"
            )
        if self.pay == "over_book":
            self._check_book()

    def _check_book(self) -> None:
        book, most = self.effective_book, self.max_tricks
        # With a book of all tricks only a slam can pay.
        if book < most or (book == most and self.slam_pay is not None):
            return
        default = ", half of the counting tricks" if self.book is None else ""
        race = "" if self.race is None else f" in a race to {self.race}"
        slam = "" if self.race else ", or with slam_pay at most all of them"
        raise RulesError(
            f"book is {book}{default}: nobody takes more than {most} counting tricks{race}, so no "
            f"hand would ever pay; it has to be less than {most}{slam}"
        )


def name_beside(rules: Rules, others: Iterable[Rules]) -> str:
    """Name of a rule set, with the parameters in which others of the same name differ from it."""
    twins = [other for other in others if other.name == rules.name]
    differing = [
        (field_.name, getattr(rules, field_.name))
        for field_ in fields(Rules)
        if field_.name != "about"
        and any(getattr(twin, field_.name) != getattr(rules, field_.name) for twin in twins)
    ]
    values = ", ".join(f"{name} {value}" for name, value in differing)
    return f"{rules.name} ({values})" if values else rules.name


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


@cache
def _rules_array(rules: Rules, match: Match | None) -> npt.NDArray[np.void]:
    array = np.zeros(1, RULES)
    array["deck"] = sum(1 << card for card in rules.deck)
    for name in ("suits", "ranks", "hand", "face_up"):
        array[name] = getattr(rules, name)
    array["stock"] = rules.stock_cards
    array["set_aside"] = rules.set_aside
    array["trumps"] = rules.trumps == "upcard"
    array["contract"] = CONTRACTS.index(rules.contract)
    array["counts_all"] = rules.counts == "all"
    array["pay"] = PAYS.index(rules.pay)
    array["book"] = rules.effective_book
    array["slam_pay"] = rules.slam_pay or 0
    array["faced"] = FACED.index(rules.faced)
    array["choice"] = rules.choice
    array["race"] = rules.race or 0
    array["counting"] = rules.counting_tricks
    array["exchange"] = rules.exchange
    if match is not None:
        array["match_target"] = match.target or 0
        array["match_best_of"] = match.best_of or 0
    return array


# -- where rule sets come from


def _load_folder(folder: str) -> dict[str, Rules]:
    rule_sets = [
        rules_from_mapping(read_yaml_mapping(Path(str(path))), source=path.name)
        for path in files(__name__.rsplit(".", 2)[0] + ".configs").joinpath(folder).iterdir()
        if path.name.endswith(".yaml")
    ]
    rule_sets.sort(key=lambda rules: _LIST_ORDER.index(rules.name))
    return {rules.name: rules for rules in rule_sets}


@cache
def named_rules() -> dict[str, Rules]:
    """The named rule sets: a dictionary from name to `Rules`, with `classic` first."""
    return _load_folder("rules")


@cache
def solved_rules() -> dict[str, Rules]:
    """Bundled small decks with a computable equilibrium, smallest first."""
    return _load_folder("solved")


RuleSetName = Literal[
    "classic",
    "margin",
    "all-tricks",
    "all-margin",
    "club-last",
    "club-all",
    "small-last",
    "small-all",
    "quick",
    "colour",
    "no-trump",
    "open-stock",
    "draft",
    "race-7",
    "race-9",
    "humbug",
]
"""The names of the rule sets, which `german-whist rules` explains."""
_LIST_ORDER = (
    *get_args(RuleSetName),
    "2x4-h2",
    "2x5-h3",
    "2x5-h2",
    "3x4-h4",
    "2x6-h3",
    "3x4-h3",
    "4x4-h6",
    "2x8-h6",
    "1x10-h3",
    "1x10-h2",
)


def rules_from_mapping(values: Mapping[str, Any], source: str = "rules") -> Rules:
    """Rule set from the fields of a YAML file; unknown names are refused."""
    names = [field_.name for field_ in fields(Rules)]
    for name in values:
        if name not in names:
            raise RulesError(
                f"{source}: {name!r} is not a parameter of a rule set{suggest(name, names)}"
            )
    try:
        return Rules(**values)
    except RulesError as error:
        raise RulesError(f"{source}: {error}") from None


RulesLike = RuleSetName | str | Path | Rules | Mapping[str, object]
"""A rule set: its name, a `Rules`, a mapping of its fields, or the path of a YAML file."""


def load_rules(rules: RulesLike) -> Rules:
    """The `Rules` of a name such as `"draft"`, of the path of a YAML file, or of a mapping.

    A `Rules` is returned as it is. An unknown name or a bad parameter raises `RulesError`, which
    says what is wrong. `named_rules()` lists the names.
    """
    if isinstance(rules, Rules):
        return checked_name(rules, "rules")
    if isinstance(rules, Mapping):
        return checked_name(rules_from_mapping(rules), "rules")
    if isinstance(rules, str) and (named := _named(rules)) is not None:
        return named
    if isinstance(rules, (str, Path)):
        path = Path(rules)
        if path.suffix in (".yaml", ".yml"):
            return checked_name(rules_from_mapping(read_yaml_mapping(path), str(path)), str(path))
        hint = suggest(
            rules,
            [*named_rules(), *solved_rules()],
            more="others are given by the path of a .yaml file",
        )
        raise RulesError(f"{short_repr(str(rules))} is not a rule set{hint}")
    raise RulesError(
        f"{rules!r} is of type {type(rules).__name__}: rules are given as a name, a Rules value, "
        "a mapping of fields or the path of a .yaml file"
    )


def _named(name: str) -> Rules | None:
    return named_rules().get(name) or solved_rules().get(name)


def checked_name(rules: Rules, source: str) -> Rules:
    """Refuse a custom rule set with the name of a bundled one: reports identify sets by name."""
    named = _named(rules.name)
    if named is not None and named != rules:
        raise RulesError(
            f"{source}: name is {rules.name!r}, which is another rule set's: give it a name of its "
            "own"
        )
    return rules
