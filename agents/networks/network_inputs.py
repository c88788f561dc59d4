"""Observations and masks of views, as the environments encode them, and actions in both encodings.

>>> from german_whist import Game
>>> from german_whist.agents.networks.network_inputs import network_inputs
>>> views = [Game(seed=seed).view() for seed in range(3)]
>>> observed = network_inputs(views, "classic", suit_order="trump-first")
>>> logits = observed.masks.astype(float)  # of your network, from `observed.observations`
>>> actions = observed.real(logits.argmax(1))
>>> targets = observed.shown(actions)  # of an agent's actions, to learn from
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...common.jit.compiler import jit
from ...engine.batch.config import OBSERVATIONS, options_from
from ...engine.cards import N_ACTIONS
from ...engine.checks import checked_choice
from ...engine.dtypes import VIEW
from ...engine.observation.history import histories, history_rows
from ...engine.observation.spec import encode_view, spec_of, write_mask
from ...engine.observation.suit_order import SUIT_ORDERS, real_action, relabel, relabelled_action
from ...engine.options import NetworkObservation, SuitOrder
from ...engine.play import row
from ...engine.rules import Match, RulesLike, load_rules
from ...engine.view import View, legal_in_view
from ..base import list_views, view_array
from ..checkpoints import Checkpoint


@jit
def _encode_all(
    rules: np.ndarray,
    views: np.ndarray,
    trumps_first: bool,
    observations: np.ndarray,
    orders: np.ndarray,
) -> None:
    first = row(rules, 0)
    for index in range(len(views)):
        view = row(views, index)
        encode_view(first, view, trumps_first, orders[index], observations[index])


@jit
def _mask_all(rules: np.ndarray, views: np.ndarray, orders: np.ndarray, masks: np.ndarray) -> None:
    first = row(rules, 0)
    for index in range(len(views)):
        legal = legal_in_view(first, row(views, index))
        write_mask(masks[index], relabel(legal, orders[index]))


@jit
def _real_all(shown_actions: np.ndarray, orders: np.ndarray, actions: np.ndarray) -> None:
    for index in range(len(shown_actions)):
        actions[index] = real_action(shown_actions[index], orders[index])


@jit
def _shown_all(real_actions: np.ndarray, orders: np.ndarray, actions: np.ndarray) -> None:
    for index in range(len(real_actions)):
        actions[index] = relabelled_action(real_actions[index], orders[index])


@dataclass(frozen=True)
class Observations:
    """Observations and masks of `n` views, as `network_inputs` returns them."""

    observations: npt.NDArray[np.int8]
    """`(n, size of the observation)` zeros and ones, or `(n, rows, 4)` histories."""
    masks: npt.NDArray[np.int8]
    """`(n, actions)`, 1 for each legal action in the encoding."""
    orders: npt.NDArray[np.uint8]
    """`(n, 4)`: the suit at each position of the encoding."""

    def real(self, actions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Real actions for actions in the encoding, one for each view."""
        return self._map_actions(_real_all, actions)

    def shown(self, actions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Actions in the encoding for real actions, such as cards: the inverse of `real`."""
        given = np.asarray(actions)
        outside = given[(given < 0) | (given >= N_ACTIONS)]
        if outside.size:
            raise ValueError(f"{outside[0]} is no action: they run from 0 to {N_ACTIONS - 1}")
        return self._map_actions(_shown_all, given)

    def _map_actions(
        self, kernel: Callable[..., None], actions: npt.ArrayLike
    ) -> npt.NDArray[np.int64]:
        given = np.asarray(actions)
        if given.shape != (len(self.orders),) or given.dtype.kind not in "iu":
            raise ValueError(
                f"actions are {given.dtype} of shape {given.shape}: one whole number for each of "
                f"{len(self.orders)} views is needed"
            )
        mapped = np.empty(len(given), np.int64)
        kernel(given.astype(np.int64), self.orders, mapped)
        return mapped


def match_of(checkpoint: Checkpoint) -> Match | None:
    """The match that a policy was trained in; None if it learned single hands."""
    card, rules = checkpoint.card, checkpoint.rules[0]
    return options_from(rules, reward=card.reward, horizon=card.horizon).match


def network_inputs(
    views: npt.NDArray[np.void] | View | Sequence[View],
    rules: RulesLike | None = None,
    *,
    suit_order: SuitOrder = "raw",
    observation: NetworkObservation = "vector",
    match: Match | int | None = None,
) -> Observations:
    """Encode views as observations and masks, exactly as the environments do with these options.

    ```python
    seen = network_inputs(game.view(), suit_order="trump-first")
    logits = network(seen.observations)  # one row for each view
    card = seen.real(best_actions)[0]  # the action in the real suits
    ```

    - `views`: one `View`, several, or an array of `VIEW` records, as an agent's `act` gets them.
    - `rules`: the rule set. `None` (default): that of the views; for an array, `"classic"`.
    - `suit_order`: the suits in observations and masks. `"raw"` (default): the real suits.
      `"trump-first"`: trumps come first.
    - `observation`: `"vector"` (default): int8 of zeros and ones. `"history"`: a row for each
      event.
    - `match`: the match that the hands belong to; `None` (default): single hands.
    """
    trumps_first = checked_choice("suit_order", suit_order, SUIT_ORDERS) == "trump-first"
    if not isinstance(views, np.ndarray):
        listed = list_views(views)
        if rules is None and listed:
            rules = listed[0].rules
        rules = load_rules("classic" if rules is None else rules)
        views = view_array(listed, rules)
    if views.dtype != VIEW:
        raise ValueError(f"views are {views.dtype}: give VIEW records, as agents get them")
    loaded, count = load_rules("classic" if rules is None else rules), len(views)
    record = loaded.array(match)
    if checked_choice("observation", observation, OBSERVATIONS) == "history":
        observations, orders = histories(record, views, history_rows(loaded), trumps_first)
    else:
        observations = np.zeros((count, spec_of(loaded).size), np.int8)
        orders = np.zeros((count, 4), np.uint8)
        _encode_all(record, views, trumps_first, observations, orders)
    masks = np.zeros((count, loaded.actions), np.int8)
    _mask_all(record, views, orders, masks)
    return Observations(observations, masks, orders)
