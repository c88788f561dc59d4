"""Options shared by batches and environments, validated once.

`Options` selects the game (rules, horizon, match), the reward and the observation.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ParamSpec, TypeVar, get_args

import numpy as np

from ...common.suggestions import suggest
from ...common.typing import Array, JsonObject
from ..checks import checked_choice
from ..dtypes import RULES
from ..endgame.game_values import inexact_reason
from ..observation.history import HISTORY_COLUMNS, history_rows
from ..observation.spec import OBSERVATION_VERSION, spec_of
from ..observation.suit_order import SUIT_ORDERS
from ..options import Horizon, NetworkObservation, ObservationForm, Reward, SuitOrder
from ..rules import Match, Pay, Rules, RulesLike, as_match, load_rules

REWARDS = get_args(Reward)
HORIZONS = ("hand", "foreplay", "match")
AUTO = "auto"
"""Horizon `foreplay` where endgames have exact values, else `hand`."""
OBSERVATIONS = get_args(NetworkObservation)
TEXT = "text"
"""Observation of single environments, for language models; batches encode vectors beside it."""
POINTS, WIN, MARGIN, TRICKS = range(len(REWARDS))
HAND, FOREPLAY, MATCH = range(len(HORIZONS))

_DEFAULT_MATCH = Match(target=25)


_Params = ParamSpec("_Params")
_Return = TypeVar("_Return")


_ALLOWED = {
    "reward": REWARDS,
    "suit_order": SUIT_ORDERS,
    "horizon": get_args(Horizon),
    "observation": get_args(ObservationForm),
}

# Options for compiled code: the rules, the same rules with the payoffs of the reward option and
# with payoff 1 for winning a hand, the seed of the deals, and the codes of the other options.
ENV_CONFIG = np.dtype(
    [
        ("rules", RULES),
        ("reward_rules", RULES),
        ("win_rules", RULES),
        ("seed", "u8"),
        ("reward", "i4"),
        ("horizon", "i4"),
        ("trumps_first", "i4"),
    ]
)


@dataclass(frozen=True)
class Options:
    """Validated options of a batch, made by `options_from`."""

    rules: Rules
    match: Match | None
    reward: Reward
    suit_order: SuitOrder
    horizon: Horizon
    observation: ObservationForm

    def trained_on(self) -> JsonObject:
        """Options that a policy trained on them depends on, as plain values."""
        return {
            "suit_order": self.suit_order,
            "observation_version": OBSERVATION_VERSION,
            "horizon": self.horizon,
            "rules": [self.rules.as_mapping()],
        }

    def config_array(self) -> Array:
        """Options for compiled code: a fresh one-element `ENV_CONFIG` array."""
        config = np.zeros(1, ENV_CONFIG)
        config["rules"] = self.rules_array
        config["win_rules"] = self._rules_paying("win")
        config["reward_rules"] = config["rules"] if self.reward == "points" else config["win_rules"]
        if self.reward in ("margin", "tricks"):
            config["reward_rules"] = self._rules_paying("margin")
        config["reward"] = REWARDS.index(self.reward)
        config["horizon"] = HORIZONS.index(self.horizon)
        config["trumps_first"] = self.suit_order == "trump-first"
        return config

    @cached_property
    def rules_array(self) -> Array:
        """The rules, with the match, for compiled code."""
        return self.rules.array(self.match)

    def _rules_paying(self, pay: Pay) -> Array:
        return replace(self.rules, pay=pay, book=None, slam_pay=None).array(self.match)

    @property
    def encoding(self) -> NetworkObservation:
        """`vector` or `history`: what batches encode."""
        return "vector" if self.observation == TEXT else self.observation

    @property
    def observation_shape(self) -> tuple[int, ...]:
        if self.encoding == "vector":
            return (spec_of(self.rules).size,)
        return (history_rows(self.rules), HISTORY_COLUMNS)

    @cached_property
    def max_loss(self) -> float:
        """Upper bound of the loss in an episode."""
        if self.reward == "win":
            return 1.0
        hand_loss = self.rules.max_payoff if self.reward == "points" else self.rules.counting_tricks
        if self.match is None:
            return float(hand_loss)
        if self.match.best_of is not None:
            return float(hand_loss * (self.match.best_of // 2 + 1))
        assert self.match.target is not None
        if self.reward == "points":
            return float(self.match.target - 1 + hand_loss)
        return float(hand_loss * self.match.target)


def checked_keywords(
    **elsewhere: str,
) -> Callable[[Callable[_Params, _Return]], Callable[_Params, _Return]]:
    """Decorator: refuse keyword arguments that the signature lacks, and suggest another.

    `elsewhere` says of options of other functions where they are.
    """

    def decorator(function: Callable[_Params, _Return]) -> Callable[_Params, _Return]:
        names = [*inspect.signature(function).parameters]

        @functools.wraps(function)
        def checked(*args: _Params.args, **kwargs: _Params.kwargs) -> _Return:
            for name in kwargs:
                if name in elsewhere:
                    raise TypeError(f"there is no option {name!r}: {elsewhere[name]}")
                if name not in names:
                    listed = ", ".join(option for option in names if option != "self")
                    hint = suggest(name, names, listed=False)
                    raise TypeError(f"there is no option {name!r}: there are {listed}{hint}")
            return function(*args, **kwargs)

        return checked

    return decorator


@checked_keywords()
def options_from(
    rules: RulesLike = "classic",
    *,
    reward: Reward = "points",
    suit_order: SuitOrder = "raw",
    horizon: Horizon = "hand",
    observation: ObservationForm = "vector",
    match: Match | int | None = None,
) -> Options:
    loaded = load_rules(rules)
    given = {
        "reward": reward,
        "suit_order": suit_order,
        "horizon": horizon,
        "observation": observation,
    }
    selected: dict[str, Any] = {
        name: checked_choice(name, value, _ALLOWED[name]) for name, value in given.items()
    }
    if selected["horizon"] == AUTO:
        selected["horizon"] = exact_horizon(loaded)
    horizon, match = selected["horizon"], as_match(match)
    if match is not None and horizon != "match":
        raise ValueError(f"match is {match}, which needs horizon 'match' and not {horizon!r}")
    if horizon == "match" and match is None:
        match = _DEFAULT_MATCH
    if horizon == "foreplay" and (reason := _foreplay_problem(loaded)):
        raise ValueError(
            f"horizon is 'foreplay', but the rules {loaded.name} {reason}: use 'hand', or 'auto' "
            "for either, as the rules have it"
        )
    if selected["observation"] == TEXT and selected["suit_order"] != SUIT_ORDERS[0]:
        raise ValueError(
            f"suit_order is {selected['suit_order']!r}, but texts name the real suits: leave it "
            "out with observation 'text'"
        )
    if match is not None:
        _check_bounded(loaded, selected["reward"])
    return Options(loaded, match, **selected)


def exact_horizon(rules: Rules) -> Horizon:
    """`foreplay` where endgames have exact values in tricks, else `hand`."""
    return "hand" if _foreplay_problem(rules) else "foreplay"


def _foreplay_problem(rules: Rules) -> str:
    if rules.foreplay_tricks == 0:
        return "have no stock, so there is no foreplay to end"
    return inexact_reason(rules)


def _check_bounded(rules: Rules, reward: str) -> None:
    # With `margin` a drawn race is no loss; with `tricks` its tricks count.
    counts_unpaid = reward == "tricks" or (reward == "margin" and rules.race is None)
    if counts_unpaid and not rules.decided_hands_pay:
        raise ValueError(
            f"reward is {reward!r}, but in a match of the rules {rules.name} hands can be lost by "
            "tricks and pay nobody, as often as you like: use 'points' or 'win'"
        )
