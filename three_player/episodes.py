"""Episodes of the three-player game, which its environments share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.checks import IllegalAction, check_reset_options, checked_seed, fresh_seed
from ..envs.render.modes import Painter, warn_without_render_mode
from ..envs.typed_aec import Observation
from .game import PLAYERS, ThreeGame, ThreeView
from .observation import mask_for_three, observation_for_three
from .render import scene_of_three, text_of_three


class ThreeTable:
    """Deals of a seed in turn, one game at a time."""

    def __init__(self, painter: Painter | None = None) -> None:
        self.painter = painter
        self.game: ThreeGame = ThreeGame()
        self.seed: int | None = None
        self.ready: bool = False
        """Whether a game was dealt: a refused reset leaves nothing to step."""
        self.stopped: bool = False
        """Whether an illegal action ended the game."""

    def start(self, seed: int | None, options: Mapping[str, Any] | None = None) -> None:
        """Deal a seed's first deal, or without a seed the next; `options` are those of a reset."""
        self.ready = self.stopped = False
        options = options or {}
        check_reset_options(options)
        number = 0 if self.seed is None or seed is not None else self.game.number + 1
        if options.get("number") is not None:
            number = checked_seed(options["number"], "number")
        if seed is not None:
            self.seed = checked_seed(seed)
        elif self.seed is None:
            self.seed = fresh_seed()
        self.game.deal(self.seed, number)
        deal, dealer = options.get("deal"), options.get("dealer")
        if deal is not None or dealer is not None:
            cards = self.game.cards_dealt if deal is None else deal
            self.game.deal_cards(cards, 0 if dealer is None else dealer)
        self.ready = True

    @property
    def over(self) -> bool:
        return self.stopped or self.game.over

    def check_dealt(self) -> None:
        if not self.ready:
            raise IllegalAction("nothing has been dealt yet: call reset() first")

    def view(self, seat: int) -> ThreeView:
        """The view of a seat, without legal actions after the end."""
        self.check_dealt()
        view = self.game.view(seat)
        return view._replace(turn=None, legal=0) if self.stopped else view

    def observe(self, seat: int) -> Observation:
        view = self.view(seat)
        return {"observation": observation_for_three(view), "action_mask": mask_for_three(view)}

    def paint(self, seat: int, *, open_hands: bool) -> Any:
        """Render in the painter's mode from a seat; with `open_hands` all cards lie open."""
        if self.painter is None:
            warn_without_render_mode()
            return None
        view, hands = self.view(seat), self.game.hands if open_hands else None
        if self.painter.mode == "ansi":
            return text_of_three(view, hands)
        return self.painter.draw(scene_of_three(view, hands))

    def close(self) -> None:
        if self.painter is not None:
            self.painter.close()

    def result(self, seat: int) -> dict[str, Any]:
        """Result from a seat: its own first, the others clockwise, the dummy."""
        order = [(seat + place) % PLAYERS for place in range(PLAYERS)]
        tricks, pays = self.game.counting_tricks, self.game.pays
        return {
            "tricks": np.array([*(tricks[place] for place in order), tricks[PLAYERS]]),
            "pays": np.array([pays[place] for place in order]),
            "deal": self.game.number,
        }
