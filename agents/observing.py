"""Views as a network wants them: observations, masks, and the way back to real actions.

>>> from german_whist.agents.observing import observe
>>> seen = observe(views, "classic", layout="trump-first")
>>> actions = seen.real(policy(seen.observations, seen.masks).argmax(1))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..engine.compiled import jit
from ..engine.layout import (
    encode,
    keep_suits,
    layout_number,
    layout_of,
    real_action,
    relabelled,
    trump_first,
    write_mask,
)
from ..engine.play import row
from ..engine.rules import Match, load_rules
from ..engine.state import VIEW
from ..engine.view import View, legal_in_view


@jit
def observe_all(
    rules: np.ndarray, views: np.ndarray, trumps_first: bool, observations: np.ndarray,
    masks: np.ndarray, orders: np.ndarray,
) -> None:  # fmt: skip
    """Write what each view shows, and the order of its suits."""
    first = row(rules, 0)
    for index in range(len(views)):
        view = row(views, index)
        order = orders[index]
        if trumps_first:
            trump_first(first, view, order)
        else:
            keep_suits(order)
        encode(first, view, order, observations[index])
        write_mask(masks[index], relabelled(legal_in_view(first, view), order))


@jit
def _real_all(shown: np.ndarray, orders: np.ndarray, actions: np.ndarray) -> None:
    for index in range(len(shown)):
        actions[index] = real_action(shown[index], orders[index])


@dataclass(frozen=True)
class Observed:
    """What the players of some views are shown."""

    observations: npt.NDArray[np.int8]
    """`(n, size of the layout)` zeros and ones, as the environments give them."""
    masks: npt.NDArray[np.int8]
    """`(n, actions)`, 1 for what is legal as it is shown."""
    orders: npt.NDArray[np.uint8]
    """`(n, 4)`: which suit is shown at each place."""

    def real(self, actions: Any) -> npt.NDArray[np.int64]:
        """The real actions behind those that were chosen as they are shown, one for each view."""
        shown = np.asarray(actions)
        if shown.shape != (len(self.orders),) or shown.dtype.kind not in "iu":
            raise ValueError(
                f"actions are {shown.dtype} of shape {shown.shape}: one whole number for each of "
                f"{len(self.orders)} views is needed"
            )
        found = np.empty(len(shown), np.int64)
        _real_all(shown.astype(np.int64), self.orders, found)
        return found


def observe(
    views: npt.NDArray[np.void] | View,
    rules: Any = "classic",
    *,
    layout: str = "raw",
    match: Match | None = None,
) -> Observed:
    """What the environments would show the players of these views, in this layout.

    `views` are an array of `VIEW` records, as an agent's `act` gets them, or one `View`.
    """
    trumps_first = bool(layout_number(layout))
    if isinstance(views, View):
        rules, views = views.rules, np.array(views.record, VIEW).reshape(-1)
    if views.dtype != VIEW:
        raise ValueError(f"views are {views.dtype}: give VIEW records, as agents get them")
    loaded, count = load_rules(rules), len(views)
    seen = Observed(
        np.zeros((count, layout_of(loaded).size), np.int8),
        np.zeros((count, loaded.actions), np.int8),
        np.zeros((count, 4), np.uint8),
    )
    observe_all(
        loaded.record(match), views, trumps_first, seen.observations, seen.masks, seen.orders
    )
    return seen
