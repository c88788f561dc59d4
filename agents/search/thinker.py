"""The thinker: a search one card deep in sampled worlds, guided by three networks.

`thinker:64` samples 64 worlds (determinizations), the opponent's hand drawn by a belief network
that reads its play so far. In each it plays every card that the policy network does not rule
out, but of cards that take the same cards only the likeliest, lets that network reply if a card
was led, and evaluates the position before the next trick by a value network, both hands in view;
all cards meet the same worlds. It plays the card with the best mean, to which a little is added
for cards that the policy itself likes. A card that falls clearly behind is dropped on the way.

Where one trick is left for the stock, few worlds are possible: all of them are tried, and what
follows is exact. So is what lies behind the last trick but one, as if the cards were open
then. The endgame is perfect.

`thinker:5ms` thinks for so long a move instead. After that come, by name, the tricks for the stock
that it thinks about, `thinker:64,last=4` (before those the policy network plays alone), how many
tricks more that network plays on before a position is judged, `thinker:64,ahead=1`, and the
networks that are to be used, `thinker:64,policy=PATH,value=PATH,belief=PATH`; with
`beliefs=voids`, as in rules that no network of beliefs was made for, worlds heed nothing but
failures to follow suit.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...common.jit.compiler import warm_up
from ...engine.endgame import Tables
from ...engine.endgame.game_values import inexact_reason
from ...engine.endgame.index import MAX_CARDS
from ...engine.rules import Match, Rules
from ..base import Array, CannotPlay, ViewBatch
from ..checkpoints.bundled import BELIEF_WEIGHTS, CHAMPION, VALUE_WEIGHTS, champion_for, network_for
from ..checkpoints.checkpoint import find_checkpoint, model_file
from ..networks.auxiliary import covers
from ..networks.policy import NetworkAgent
from ..networks.value import check_value_rules
from .base import SearchAgent, tricks_option
from .root import thinker_actions
from .simulation import (
    KEEPS,
    ROUND,
    TRIES_ALL,
    VOIDS,
    ThinkerSearch,
    new_search,
    search_networks,
)


def check_playable(rules: Rules) -> None:
    """Refuse games whose last tricks for the stock it could not think about."""
    faced = rules.faced == "every" or (rules.faced == "after-first" and rules.foreplay_tricks > 1)
    if rules.choice or not faced or inexact_reason(rules):
        raise CannotPlay(
            f"the thinker does not play {rules.name}: it knows games in which the winner of a "
            "trick takes the upcard, and whose ending is open, short and no race"
        )


def is_late(views: Array, tricks: int) -> Array:
    """Which views are of the last tricks for the stock, so many of them."""
    left = views["stock_left"]
    return (left > 0) & (left <= 2 * tricks)


def shared_out(
    some: Array, acts: Callable[..., Array], others: Callable[..., Array], views: Array, rng: Array
) -> Array:
    """Actions by one player for some of the views, and by another for the rest."""
    if not some.any():
        return others(views, rng)
    if some.all():
        return acts(views, rng)
    actions = np.empty(len(views), np.int64)
    actions[some] = acts(views[some], rng[some])
    actions[~some] = others(views[~some], rng[~some])
    return actions


class ThinkerAgent(SearchAgent):
    """The policy network, value and belief networks, and imagined worlds."""

    kind = "thinker"
    chunk = ROUND

    def __init__(
        self,
        rules: Any = "classic",
        samples: object = 64,
        *words: str,
        match: Match | None = None,
    ) -> None:
        """`samples` is worlds or a time a move; `words` are `last=K`, `ahead=K` and networks."""
        super().__init__(rules, samples, match)
        check_playable(self.rules)
        told = self._told(
            words,
            {
                "policy": CHAMPION,
                "value": str(VALUE_WEIGHTS),
                "belief": "",
                "last": "all",
                "ahead": "0",
            },
            "last=TRICKS and ahead=TRICKS, and networks by name, as in policy=PATH, value=PATH, "
            f"belief=PATH, and belief={VOIDS}",
        )
        self._last = tricks_option(
            "last", told["last"], 1, self.rules, "are thought about, the last ones"
        )
        ahead = tricks_option(
            "ahead", told["ahead"], 0, self.rules, "are played on in imagination, the next ones"
        )
        policy = network_for(self.rules, told["policy"])
        # With two tricks left for the stock all leaves are exact.
        worth = Path(told["value"]) if self._last > 2 else None
        usual = str(BELIEF_WEIGHTS) if covers(BELIEF_WEIGHTS, self.rules) else VOIDS
        beliefs = told["belief"] or usual
        self.networks = search_networks(self.rules, policy, worth, beliefs, ahead)
        paths = [policy, worth, None if beliefs == VOIDS else beliefs]
        self.checkpoints = tuple(model_file(find_checkpoint(path)) for path in paths if path)
        everything = 2 * self._last >= self.rules.stock_cards
        self._before = None if everything else NetworkAgent(self.rules, policy)
        warm_up("thinker", "agents", self._compile)

    @staticmethod
    def plays(rules: Rules) -> bool:
        """Whether it plays these rules with the package's networks: nothing is compiled for it."""
        try:
            check_playable(rules)
            check_value_rules(rules)
            champion_for(rules)
        except CannotPlay:
            return False
        return covers(VALUE_WEIGHTS, rules) and covers(BELIEF_WEIGHTS, rules)

    def act(self, views: Array, rng: Array) -> Array:
        """The best card found for each view."""
        if self._before is None:
            return super().act(views, rng)
        late = is_late(views, self._last)
        return shared_out(late, super().act, self._before.act, views, rng)

    def advise(self, views: Array, rng: Array) -> tuple[Array, Array]:
        """The best card found for each view, and what each came to where it thinks."""
        if self._before is None:
            return super().advise(views, rng)
        late = is_late(views, self._last)
        actions = np.empty(len(views), np.int64)
        worths = np.full((len(views), MAX_CARDS), np.nan, np.float32)
        actions[late], worths[late] = super().advise(views[late], rng[late])
        actions[~late] = self._before.act(views[~late], rng[~late])
        return actions, worths

    def _room(self) -> ThinkerSearch:
        return new_search(self.record, self._known[0], self.networks)

    def _thorough_room(self) -> ThinkerSearch:
        return new_search(self.record, self._known[0], self.networks, TRIES_ALL)

    def _advising_room(self) -> ThinkerSearch:
        return new_search(self.record, self._known[0], self.networks, KEEPS)

    def _tried(self, room: ThinkerSearch) -> int:
        return int(room.progress["active"][0])

    def _settled(self, room: ThinkerSearch) -> bool:
        """All is known at the last trick for the stock, and where one card is left."""
        active = int(room.progress["active"][0])
        last = room.games["drawn"][0] + 2 == self.rules.stock_cards
        return bool(last or active & (active - 1) == 0)

    def _search(
        self, tables: Tables, batch: ViewBatch, samples: int, go_on: bool, room: ThinkerSearch
    ) -> None:
        thinker_actions(room._replace(tables=tables), batch, samples, go_on)
