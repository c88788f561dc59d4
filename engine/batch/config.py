"""The options that every batch and environment shares, checked once, and what follows from them.

`Options` says what is played (rules, horizon, match), what is paid (reward) and
what is shown (layout, observation); those who read a batch differ only in their API.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar

import numpy as np

from ...common.suggestions import meant
from ..dtypes import RULES
from ..endgame.game_values import why_not_exact
from ..observation.history import HISTORY_COLUMNS, history_rows
from ..observation.layout import LAYOUT_VERSION, LAYOUTS, layout_of
from ..rules import Match, Pay, Rules, load_rules

if TYPE_CHECKING:
    from typing_extensions import Unpack

REWARDS = ("points", "win", "margin", "tricks")
HORIZONS = ("hand", "foreplay", "match")
AUTO = "auto"
"""In place of a horizon: `foreplay` where endings are exact, else `hand`."""
OBSERVATIONS = ("vector", "history")
TRAINED_ON = "german_whist"
"""The attribute of an observation space that holds `Options.trained_on`."""
POINTS, WIN, MARGIN, TRICKS = range(len(REWARDS))
HAND, FOREPLAY, MATCH = range(len(HORIZONS))

_DEFAULT_MATCH = Match(target=25)

RulesLike = str | Path | Rules | Mapping[str, Any]

_Taken = ParamSpec("_Taken")
_Made = TypeVar("_Made")


class GameOptions(TypedDict, total=False):
    """What is played, paid and shown beside the rules: the keywords of everything that steps games.

    What is left out is the first of its values, and a match to 25 points where a match is played.
    """

    reward: str
    layout: str
    horizon: str
    observation: str
    match: Match | int | None


_VALUES = {
    "reward": REWARDS,
    "layout": LAYOUTS,
    "horizon": (*HORIZONS, AUTO),
    "observation": OBSERVATIONS,
}

# What the compiled functions of a batch read: the rules, the same with the pay that the reward
# asks for, the same paying 1 for winning a hand, the seed of the deals, and what else was chosen.
PLAN = np.dtype(
    [
        ("rules", RULES),
        ("pays", RULES),
        ("wins", RULES),
        ("seed", "u8"),
        ("reward", "i4"),
        ("horizon", "i4"),
        ("trumps_first", "i4"),
        ("history", "i4"),
    ]
)


@dataclass(frozen=True)
class Options:
    """What is played, paid and shown. Made by `options_from`."""

    rules: Rules
    match: Match | None
    reward: str
    layout: str
    horizon: str
    observation: str

    def trained_on(self) -> dict[str, Any]:
        """What has to be known to play a policy that was trained on these, as plain values."""
        return {
            "layout": self.layout,
            "layout_version": LAYOUT_VERSION,
            "horizon": self.horizon,
            "rules": [self.rules.as_mapping()],
        }

    def plan(self) -> np.ndarray[Any, Any]:
        """The options as compiled code reads them: a fresh array of one `PLAN` record."""
        record = np.zeros(1, PLAN)
        record["rules"] = self.rules_record
        record["wins"] = self._paying("win")
        record["pays"] = record["rules"] if self.reward == "points" else record["wins"]
        if self.reward in ("margin", "tricks"):
            record["pays"] = self._paying("margin")
        record["reward"] = REWARDS.index(self.reward)
        record["horizon"] = HORIZONS.index(self.horizon)
        record["trumps_first"] = self.layout == "trump-first"
        record["history"] = self.observation == "history"
        return record

    @cached_property
    def rules_record(self) -> np.ndarray[Any, Any]:
        """The rules, with the match, as compiled code reads them."""
        return self.rules.record(self.match)

    def _paying(self, pay: Pay) -> np.ndarray[Any, Any]:
        return replace(self.rules, pay=pay, book=None, slam_pay=None).record(self.match)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of one observation."""
        if self.observation == "vector":
            return (layout_of(self.rules).size,)
        return (history_rows(self.rules), HISTORY_COLUMNS)

    @cached_property
    def worst(self) -> float:
        """A loss that no episode exceeds, however it is played by the rules."""
        if self.reward == "win":
            return 1.0
        a_hand = self.rules.most_pay if self.reward == "points" else self.rules.counting_tricks
        if self.match is None:
            return float(a_hand)
        if self.match.best_of is not None:
            return float(a_hand * (self.match.best_of // 2 + 1))
        assert self.match.target is not None
        if self.reward == "points":
            return float(self.match.target - 1 + a_hand)
        return float(a_hand * self.match.target)


def named_options(function: Callable[_Taken, _Made]) -> Callable[_Taken, _Made]:
    """The same function, which refuses a keyword that it does not have with a sentence."""
    known: list[str] = []
    for name, each in inspect.signature(function).parameters.items():
        if name != "self":
            known += GameOptions.__annotations__ if each.kind is each.VAR_KEYWORD else [name]

    @functools.wraps(function)
    def checked(*args: _Taken.args, **kwargs: _Taken.kwargs) -> _Made:
        for name in kwargs:
            if name not in known:
                hint = meant(name, known, listed=False)
                raise TypeError(f"there is no option {name!r}: there are {', '.join(known)}{hint}")
        return function(*args, **kwargs)

    return checked


@named_options
def options_from(rules: RulesLike = "classic", **options: Unpack[GameOptions]) -> Options:
    """The options behind keyword arguments, each refused with a sentence if it does not fit."""
    loaded = load_rules(rules)
    chosen: dict[str, Any] = {}
    for name, values in _VALUES.items():
        chosen[name] = one_of(name, options.get(name, values[0]), values)
    if chosen["horizon"] == AUTO:
        chosen["horizon"] = exact_horizon(loaded)
    horizon, match = chosen["horizon"], options.get("match")
    if isinstance(match, (int, np.integer)) and not isinstance(match, bool):
        match = Match(target=int(match))
    if match is not None and not isinstance(match, Match):
        raise ValueError(f"match is {match!r}: give a number of points or a Match")
    if match is not None and horizon != "match":
        raise ValueError(f"match is {match}, which needs horizon 'match' and not {horizon!r}")
    if horizon == "match" and match is None:
        match = _DEFAULT_MATCH
    if horizon == "foreplay" and (why := _no_foreplay(loaded)):
        raise ValueError(
            f"horizon is 'foreplay', but the rules {loaded.name} {why}: use 'hand', or 'auto' for "
            "either, as the rules have it"
        )
    if match is not None:
        _check_bounded(loaded, chosen["reward"])
    return Options(loaded, match, **chosen)


def exact_horizon(rules: Rules) -> str:
    """`foreplay` where an ending is worth what exact play makes of it, else `hand`."""
    return "hand" if _no_foreplay(rules) else "foreplay"


def _no_foreplay(rules: Rules) -> str:
    """Why the foreplay of these rules cannot end in an exact worth; nothing if it can."""
    if rules.foreplay_tricks == 0:
        return "have no stock, so there is no foreplay to end"
    return why_not_exact(rules)


def _check_bounded(rules: Rules, reward: str) -> None:
    """Only what hands pay brings a match nearer to its end, so a loss has to be paid for."""
    # By `margin` a race that nobody wins is no loss; by `tricks` its tricks are.
    counts_unpaid = reward == "tricks" or (reward == "margin" and rules.race is None)
    if counts_unpaid and not rules.decided_hands_pay:
        raise ValueError(
            f"reward is {reward!r}, but in a match of the rules {rules.name} hands can be lost by "
            "tricks and pay nobody, as often as you like: use 'points' or 'win'"
        )


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """A value that has to be one of some words."""
    if value not in allowed:
        hint = meant(value, allowed, listed=False)
        raise ValueError(f"{name} is {value!r}: it has to be one of {', '.join(allowed)}{hint}")
    return value
