"""A first match, for as long as there is no training: two rules of thumb, a thousand deals.

Every deal is played twice with the seats exchanged, so that neither side has
the better cards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.games import Games
from ..engine.state import SEATS

Array = np.ndarray[Any, Any]


def lowest(masks: Array, _: np.random.Generator) -> Array:
    """In every game the legal card with the lowest id."""
    return masks.argmax(axis=1)


def at_random(masks: Array, generator: np.random.Generator) -> Array:
    """In every game any legal card."""
    return (masks * generator.random(masks.shape)).argmax(axis=1)


def wins_at_random(deals: int, seed: int) -> tuple[float, float]:
    """The share of hands that random play wins against the lowest card, and its standard error."""
    generator = np.random.default_rng(seed)
    won = np.zeros(deals)
    for random_seat in range(SEATS):
        games = Games("classic", deals, seed=seed, deal_anew=False)
        step = games.look()
        while not step.over.all():
            playing = np.flatnonzero(~step.over)
            masks, seats = step.masks[playing], step.seats[playing]
            actions = np.where(
                seats == random_seat, at_random(masks, generator), lowest(masks, generator)
            )
            step = games.step(actions, playing)
        won += (step.rewards[:, random_seat] + 1) / 2 / SEATS
    return float(won.mean()), float(won.std(ddof=1) / deals**0.5)


def main() -> None:
    """Play the match and say what it is."""
    deals = 500
    share, error = wins_at_random(deals, seed=1)
    print("There is no training yet. Instead, a match of classic German Whist:")
    print(
        f"random play against the lowest legal card, {deals} deals, seats exchanged: "
        f"random wins {share:.1%} of {SEATS * deals} hands (standard error {error:.1%})"
    )


if __name__ == "__main__":
    main()
