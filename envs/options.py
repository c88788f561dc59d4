"""The options that every environment shares, checked once, and what follows from them.

`Options` says what is played (rules, horizon, match), what is paid (reward) and
what is shown (layout, observation); the environments differ only in their API.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from gymnasium import spaces

from ..engine.endgame.layout import MOST_CARDS
from ..engine.history import HISTORY_COLUMNS, history_rows
from ..engine.layout import LAYOUTS, OBSERVATION_SIZE
from ..engine.rules import Match, Pay, Rules, load_rules
from ..engine.words import meant

REWARDS = ("points", "win", "margin", "tricks")
HORIZONS = ("hand", "foreplay", "match")
RENDER_MODES = ("human", "ansi", "rgb_array", "svg")
OBSERVATIONS = ("vector", "history")
POINTS, WIN, MARGIN, TRICKS = range(len(REWARDS))
HAND, FOREPLAY, MATCH = range(len(HORIZONS))

_DEFAULT_MATCH = Match(target=25)

# What the compiled environment reads besides the rules.
SETTING = np.dtype(
    [
        ("reward", "i4"),
        ("horizon", "i4"),
        ("trumps_first", "i4"),
        ("history", "i4"),
    ]
)

RulesLike = str | Path | Rules | Mapping[str, Any]

_Taken = ParamSpec("_Taken")
_Made = TypeVar("_Made")

# What the `options` of a reset may hold, and what else those of a vector may.
RESET_OPTIONS = ("deal", "dealer", "number")
VECTOR_RESET_OPTIONS = (*RESET_OPTIONS, "reset_mask")


@dataclass(frozen=True)
class Options:
    """What is played, paid and shown. Made by `options_from`."""

    rules: Rules
    match: Match | None
    reward: str
    layout: str
    horizon: str
    observation: str

    @cached_property
    def setting(self) -> np.ndarray[Any, Any]:
        """The options as compiled code reads them: an array of one `SETTING` record."""
        record = np.zeros(1, SETTING)
        record["reward"] = REWARDS.index(self.reward)
        record["horizon"] = HORIZONS.index(self.horizon)
        record["trumps_first"] = self.layout == "trump-first"
        record["history"] = self.observation == "history"
        return record

    @cached_property
    def rules_record(self) -> np.ndarray[Any, Any]:
        """The rules, with the match, as compiled code reads them."""
        return self.rules.record(self.match)

    @cached_property
    def pay_record(self) -> np.ndarray[Any, Any]:
        """The same rules with the pay that the reward asks for."""
        if self.reward == "points":
            return self.rules_record
        return self.win_record if self.reward == "win" else self._paying("margin")

    @cached_property
    def win_record(self) -> np.ndarray[Any, Any]:
        """The same rules, paying 1 for winning a hand."""
        return self._paying("win")

    def _paying(self, pay: Pay) -> np.ndarray[Any, Any]:
        return replace(self.rules, pay=pay, book=None, slam_pay=None).record(self.match)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of one observation."""
        if self.observation == "vector":
            return (OBSERVATION_SIZE,)
        return (history_rows(self.rules), HISTORY_COLUMNS)

    def observation_box(self) -> spaces.Box:
        """The space of one observation without its mask."""
        most = 1 if self.observation == "vector" else 127
        return spaces.Box(0, most, self.observation_shape, np.int8)

    def dict_space(self) -> spaces.Dict:
        """The space of an observation with its mask."""
        mask = spaces.Box(0, 1, (self.rules.actions,), np.int8)
        return spaces.Dict({"observation": self.observation_box(), "action_mask": mask})

    def action_space(self) -> spaces.Discrete:
        """The space of actions: card ids, and 52 with the hidden choice."""
        return spaces.Discrete(self.rules.actions)

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


def options_from(
    rules: RulesLike = "classic",
    *,
    reward: str = "points",
    layout: str = "raw",
    horizon: str = "hand",
    observation: str = "vector",
    match: Match | int | None = None,
) -> Options:
    """The options behind keyword arguments, each refused with a sentence if it does not fit."""
    loaded = load_rules(rules)
    _one_of("reward", reward, REWARDS)
    _one_of("layout", layout, LAYOUTS)
    _one_of("horizon", horizon, HORIZONS)
    _one_of("observation", observation, OBSERVATIONS)
    if isinstance(match, (int, np.integer)) and not isinstance(match, bool):
        match = Match(target=int(match))
    if match is not None and not isinstance(match, Match):
        raise ValueError(f"match is {match!r}: give a number of points or a Match")
    if match is not None and horizon != "match":
        raise ValueError(f"match is {match}, which needs horizon 'match' and not {horizon!r}")
    if horizon == "match" and match is None:
        match = _DEFAULT_MATCH
    if horizon == "foreplay":
        _check_foreplay(loaded)
    if match is not None:
        _check_bounded(loaded, reward)
    return Options(loaded, match, reward, layout, horizon, observation)


def _check_foreplay(rules: Rules) -> None:
    if rules.foreplay_tricks == 0:
        why = "have no stock, so there is no foreplay to end"
    elif not rules.open_endgame:
        why = "set cards aside, so the worth of an ending can not be known"
    elif rules.hand > MOST_CARDS:
        why = f"have hands of more than {MOST_CARDS} cards, whose endings are not solved"
    elif rules.race is not None:
        why = "are a race, whose ending is not worth what its tricks are"
    else:
        return
    raise ValueError(f"horizon is 'foreplay', but the rules {rules.name} {why}: use 'hand'")


def _check_bounded(rules: Rules, reward: str) -> None:
    """Only what hands pay brings a match nearer to its end, so a loss has to be paid for."""
    # By `margin` a race that nobody wins is no loss; by `tricks` its tricks are.
    counts_unpaid = reward == "tricks" or (reward == "margin" and rules.race is None)
    if counts_unpaid and not rules.decided_hands_pay:
        raise ValueError(
            f"reward is {reward!r}, but in a match of the rules {rules.name} hands can be lost by "
            "tricks and pay nobody, as often as you like: use 'points' or 'win'"
        )


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        hint = meant(value, allowed, listed=False)
        raise ValueError(f"{name} is {value!r}: it has to be one of {', '.join(allowed)}{hint}")


def named_options(function: Callable[_Taken, _Made]) -> Callable[_Taken, _Made]:
    """The same function, which refuses a keyword that it does not have with a sentence."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]

    @functools.wraps(function)
    def checked(*args: _Taken.args, **kwargs: _Taken.kwargs) -> _Made:
        for name in kwargs:
            if name not in known:
                hint = meant(name, known, listed=False)
                raise TypeError(f"there is no option {name!r}: there are {', '.join(known)}{hint}")
        return function(*args, **kwargs)

    return checked


def check_reset_options(
    options: Mapping[str, Any] | None, known: tuple[str, ...] = RESET_OPTIONS
) -> None:
    """Refuse names that the reset does not know."""
    for name in {} if options is None else options:
        if name not in known:
            hint = meant(name, known, listed=False)
            raise ValueError(
                f"reset has no option {name!r}: its options are {', '.join(known)}{hint}"
            )


def checked_render_mode(value: str | None) -> str | None:
    """A render mode, or None for no pictures."""
    if value is not None:
        _one_of("render_mode", value, RENDER_MODES)
    return value


def checked_render_view(value: object, allowed: tuple[object, ...]) -> Any:
    """Whose view pictures show."""
    if isinstance(value, bool) or value not in allowed:
        shown = " or ".join(repr(each) for each in allowed)
        raise ValueError(f"render_view is {value!r}: it has to be {shown}")
    return value


def checked_seat(value: object, allowed: tuple[object, ...] = (0, 1)) -> Any:
    """A seat number, or what else is allowed in its place."""
    if isinstance(value, bool) or value not in allowed:
        shown = " or ".join(repr(each) for each in allowed)
        raise ValueError(f"seat is {value!r}: it has to be {shown}")
    return value


__all__ = [
    "FOREPLAY",
    "HAND",
    "HORIZONS",
    "MATCH",
    "OBSERVATIONS",
    "RENDER_MODES",
    "RESET_OPTIONS",
    "REWARDS",
    "SETTING",
    "TRICKS",
    "VECTOR_RESET_OPTIONS",
    "WIN",
    "Options",
    "RulesLike",
    "check_reset_options",
    "checked_render_mode",
    "checked_render_view",
    "checked_seat",
    "named_options",
    "options_from",
]
