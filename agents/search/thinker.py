"""The thinker: a search of depth one in determinizations, guided by three networks.

`thinker:64` samples 64 determinizations, the opponent's hand by a belief network that
reads its play so far. In each it plays every card that the policy network does not rule out (of
equivalent cards only the likeliest), lets that network reply to a lead, and evaluates the
position before the next trick by a value network that sees both hands; all cards meet the same
determinizations. It plays the card with the best mean, plus a small weight for the policy's log
prior. A card that falls clearly behind is dropped on the way.

With one trick left for the stock, few determinizations are possible: all of them are enumerated,
with exact values. After the last trick but one, leaves are solved with open cards. The endgame is
perfect.

`thinker:5ms` has a time per move instead. Further options: `last=TRICKS`, the number of last
tricks for the stock that it searches (before those the policy network plays); `ahead=TRICKS`, the
tricks that the policy plays on before a leaf is evaluated; `prior=WEIGHT`, the weight of the
policy's log prior, in the payoff of a hand; and networks, `policy=PATH`,
`value=PATH`, `belief=PATH`. With `belief=voids`, the default for rules without a belief network,
hands are sampled by the voids shown alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np

from ...common.jit.compiler import warm_up
from ...engine.endgame.game_values import inexact_reason
from ...engine.endgame.index import MAX_CARDS
from ...engine.rules import Match, Rules, RulesLike
from ..base import Array, CannotPlay
from ..checkpoints import find_checkpoint, model_file
from ..checkpoints.bundled import (
    BELIEF_WEIGHTS,
    CHAMPION,
    VALUE_WEIGHTS,
    network_for,
    rules_of_champion,
)
from ..networks.mlp import MLPWeights
from ..networks.policy import NetworkAgent
from ..networks.search_networks import covers_rules
from ..networks.value import read_value_network, view_values
from ..options import Options, Text, parse_options
from .base import (
    PRIOR,
    PRUNE_BY_RACING,
    SearchAgent,
    parse_number_option,
    parse_tricks_option,
)
from .root import thinker_actions
from .simulation import ROUND_SIZE, VOIDS, ThinkerSearch, new_search, search_networks


def can_search(rules: Rules) -> bool:
    """Whether the last tricks of these rules for the stock can be searched."""
    faced = rules.faced == "every" or (rules.faced == "after-first" and rules.foreplay_tricks > 1)
    return faced and not rules.choice and not inexact_reason(rules)


def is_late(views: Array, tricks: int) -> Array:
    """Mask of the views in the last `tricks` tricks for the stock."""
    remaining = views["stock_left"]
    return (remaining > 0) & (remaining <= 2 * tricks)


def act_by_mask(
    mask: Array, act: Callable[..., Array], act_rest: Callable[..., Array], views: Array, rng: Array
) -> Array:
    """Actions of one agent where the mask is true, and of another elsewhere."""
    if not mask.any():
        return act_rest(views, rng)
    if mask.all():
        return act(views, rng)
    actions = np.empty(len(views), np.int64)
    actions[mask] = act(views[mask], rng[mask])
    actions[~mask] = act_rest(views[~mask], rng[~mask])
    return actions


class ThinkerOptions(Options, frozen=True):
    """Depth of the search, and its networks."""

    last: Text = "all"
    ahead: Text = "0"
    prior: Text = str(PRIOR)
    policy: Text = CHAMPION
    value: Text = str(VALUE_WEIGHTS)
    belief: Text = ""
    takes = (
        "it takes last=TRICKS, ahead=TRICKS and prior=WEIGHT, and networks by name, as in "
        f"policy=PATH, value=PATH, belief=PATH, and belief={VOIDS}"
    )


class ThinkerAgent(SearchAgent):
    """Search of depth one with policy, value and belief networks."""

    kernel = staticmethod(thinker_actions)
    kind = "thinker"
    chunk = ROUND_SIZE

    def __init__(
        self,
        rules: RulesLike = "classic",
        samples: object = 64,
        *option_words: str,
        match: Match | None = None,
    ) -> None:
        """`samples` is a number of determinizations or a time per move."""
        super().__init__(rules, samples, match)
        if not can_search(self.rules):
            raise CannotPlay(
                f"the thinker does not play {self.rules.name}: it knows games in which the winner "
                "of a trick takes the upcard, and whose ending is open, short and no race"
            )
        options = parse_options(option_words, ThinkerOptions, "a thinker")
        self.name += "".join(f",{word}" for word in option_words)
        self._last = parse_tricks_option(
            "last", options.last, 1, self.rules, "are searched, the last ones"
        )
        ahead = parse_tricks_option(
            "ahead", options.ahead, 0, self.rules, "the policy plays before a leaf is evaluated"
        )
        prior = parse_number_option(
            "prior",
            options.prior,
            PRIOR,
            "the weight of a card's log prior beside its mean value, in the pay of a hand",
        )
        policy = network_for(self.rules, options.policy)
        # With two tricks left for the stock all leaves are exact.
        self._value_path = Path(options.value)
        value = self._value_path if self._last > 2 else None
        default_belief = str(BELIEF_WEIGHTS) if covers_rules(BELIEF_WEIGHTS, self.rules) else VOIDS
        belief = options.belief or default_belief
        self.networks = search_networks(
            self.rules, policy=policy, value=value, belief=belief, ahead=ahead, prior=prior
        )
        paths = [policy, value, None if belief == VOIDS else belief]
        self.checkpoints = tuple(model_file(find_checkpoint(path)) for path in paths if path)
        searches_all = 2 * self._last >= self.rules.stock_cards
        self._early_agent = None if searches_all else NetworkAgent(self.rules, policy)
        warm_up("thinker", "agents", self._compile, seconds=14)

    @staticmethod
    def plays(rules: Rules) -> bool:
        """Whether the bundled networks play these rules; compiles nothing."""
        covered = all(covers_rules(path, rules) for path in (VALUE_WEIGHTS, BELIEF_WEIGHTS))
        listed = any(map(rules.same_game, rules_of_champion()))
        return can_search(rules) and listed and covered

    def act(self, views: Array, rng: Array) -> Array:
        if self._early_agent is None:
            return super().act(views, rng)
        late = is_late(views, self._last)
        return act_by_mask(late, super().act, self._early_agent.act, views, rng)

    def act_with_values(self, views: Array, rng: Array) -> tuple[Array, Array]:
        if self._early_agent is None:
            return super().act_with_values(views, rng)
        late = is_late(views, self._last)
        actions = np.empty(len(views), np.int64)
        values = np.full((len(views), MAX_CARDS), np.nan, np.float32)
        actions[late], values[late] = super().act_with_values(views[late], rng[late])
        actions[~late] = self._early_agent.act(views[~late], rng[~late])
        return actions, values

    @cached_property
    def _value_network(self) -> MLPWeights:
        return read_value_network(self._value_path, self.rules)

    def value(self, views: Array) -> Array:
        """`(n,)`: the value network's mean payoff over sampled hands of the opponent."""
        streams = np.zeros(len(views), np.uint64)
        return view_values(self.rules, views, self.act(views, streams), self._value_network)

    def _new_search(self, pruning: int = PRUNE_BY_RACING) -> ThinkerSearch:
        return new_search(self.rules_array, self._tablebases[0], self.networks, pruning)

    def _tried_actions(self, search: ThinkerSearch) -> int:
        return int(search.progress["active"][0])

    def _is_decided(self, search: ThinkerSearch) -> bool:
        active = int(search.progress["active"][0])
        last = search.games["drawn"][0] + 2 == self.rules.stock_cards
        return bool(last or active & (active - 1) == 0)
